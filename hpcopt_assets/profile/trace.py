"""The face of the room: one trace's profile.

In:  trace_jobs, sized in the machine's unit, and what is known of the machine.   Out: trace_profile.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.config import ProfileConfig
from hpcopt_assets.contracts.vocabulary import Unit
from hpcopt_assets.measures.calendar import zone_of
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.profile.arrivals import arrival_rows
from hpcopt_assets.profile.congestion import congestion_rows
from hpcopt_assets.profile.flurries import flurry_rows
from hpcopt_assets.profile.jobs import job_rows
from hpcopt_assets.profile.rows import as_table
from hpcopt_assets.profile.users import user_rows, users_of


def profile_trace(
    jobs: pl.DataFrame,
    *,
    trace_id: str,
    capacity: Capacity | None,
    timezone: str | None,
    config: ProfileConfig,
    unit: Unit = Unit.PROCS,
) -> pl.DataFrame:
    """`trace_profile` of a `trace_jobs` frame; every attempt of a job counts as a job.

    Sizes of `jobs` and `capacity` are in `unit`. Hours, weekdays and weeks are those of `timezone` (an
    IANA name), else of UTC. What cannot be known of the trace is null, with the reason in `note`. Every row
    of `jobs` counts, whatever it looks like: nothing is removed.
    """
    zone = zone_of(timezone)
    users = users_of(jobs)
    rows = [
        *job_rows(jobs, config),
        *arrival_rows(np.sort(jobs["submit_s"].to_numpy()), zone),
        *congestion_rows(Schedule.of(jobs), capacity, zone),
        *user_rows(jobs, users),
        *flurry_rows(jobs, users, config),
    ]
    return as_table(rows, trace_id=trace_id, unit=unit)
