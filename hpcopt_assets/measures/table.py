"""The table replay_measures: every measure of the observed and of each replayed schedule.

In:  trace_jobs, replay_schedule by policy.   Out: replay_measures.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from hpcopt_assets.contracts.config import MeasuresConfig
from hpcopt_assets.contracts.tables import REPLAY_MEASURES
from hpcopt_assets.contracts.vocabulary import OBSERVED, Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.summary import measure


def measure_all(
    *,
    trace_id: str,
    trace_jobs: pl.DataFrame,
    schedules: Mapping[str, pl.DataFrame],
    capacity: Capacity,
    config: MeasuresConfig,
) -> pl.DataFrame:
    """One row a window for `observed` and for each policy, in the mapping's order.

    A trace that records no starts has its `observed` rows too: no jobs, and no values.
    """
    rows = []
    for policy, frame in {OBSERVED: trace_jobs, **schedules}.items():
        schedule = Schedule.of(frame)
        for window in Window:
            values = measure(schedule, capacity=capacity, config=config, window=window)
            rows.append({"trace_id": trace_id, "policy": policy, "time_window": window.value, **values})
    return REPLAY_MEASURES.shape(pl.DataFrame(rows, schema=REPLAY_MEASURES.polars_schema()))
