"""Schedules made by hand: as arrays for measures, as replay_schedule frames for verdicts.

In:  jobs as short tuples, or a trace and the start of each of its jobs.   Out: `Schedule`s, valid frames.
Not here: replaying. `fcfs_starts` is the simplest true schedule, for tests that need one of any size.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
import yaml

from hpcopt_assets.contracts.config import CONFIG_MODELS, MeasuresConfig
from hpcopt_assets.contracts.frozen import Frozen
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE
from hpcopt_assets.contracts.vocabulary import EstimateSource, LeftOut
from hpcopt_assets.measures.schedule import NO_USER, IntArray, Schedule

Model = TypeVar("Model", bound=Frozen)
CONFIGS = Path(__file__).parents[1] / "configs"
MEASURES = MeasuresConfig(
    tau_s=10,
    starved_after_s=172_800,
    steady_skip_ratio=0.05,
    selection_time_ratio=0.6,
    min_jobs_per_user=10,
    queue_sample_s=60,
)


def shipped(model: type[Model]) -> Model:
    """A config as it is shipped."""
    name = next(name for name, known in CONFIG_MODELS.items() if known is model)
    return model.model_validate(yaml.safe_load((CONFIGS / f"{name}.yaml").read_text()))


def schedule(
    jobs: Iterable[tuple[int, int, int, int]], users: Sequence[int] | None = None, left_out: int = 0
) -> Schedule:
    """From (release, start, runtime, procs) in trace order, and a user's code for each (default: unknown)."""
    columns = np.array(list(jobs), dtype=np.int64).reshape(-1, 4).T
    user = np.full(columns.shape[1], NO_USER, dtype=np.int64) if users is None else np.array(users, np.int64)
    return Schedule(*columns, user, left_out)


def replay_of(
    trace_jobs: pl.DataFrame,
    starts: Sequence[int | None],
    policy: str = "easy_backfill",
    source: EstimateSource = EstimateSource.REQUEST,
) -> pl.DataFrame:
    """A valid replay_schedule with these starts, one per row of the trace; None leaves the job out."""
    rows: list[dict[str, Any]] = []
    for job, start_s in zip(trace_jobs.iter_rows(named=True), starts, strict=True):
        known = start_s is not None
        rows.append(
            {name: job[name] for name in ("trace_id", "job_id", "attempt", "submit_s", "release_s")}
            | {name: job[name] for name in ("procs", "user")}
            | {
                "policy": policy,
                "start_s": start_s,
                "end_s": start_s + job["runtime_s"] if known else None,
                "wait_s": start_s - job["release_s"] if known else None,
                "runtime_s": job["runtime_s"] if known else None,
                "limit_s": max(1, job["runtime_s"]) if known else None,
                "estimate_s": max(1, job["runtime_s"]) if known else None,
                "estimate_source": source.value if known else None,
                "left_out": None if known else LeftOut.NEVER_STARTED.value,
            }
        )
    frame = REPLAY_SCHEDULE.shape(pl.DataFrame(rows, schema=REPLAY_SCHEDULE.polars_schema()))
    validate(REPLAY_SCHEDULE, frame)
    return frame


def fcfs_starts(release_s: IntArray, runtime_s: IntArray, procs: IntArray, capacity_procs: int) -> IntArray:
    """First come, first served: each job starts when it fits, not before the job ahead of it."""
    running: list[tuple[int, int]] = []
    free, now = capacity_procs, 0
    starts = []
    for released, runtime, width in zip(release_s.tolist(), runtime_s.tolist(), procs.tolist(), strict=True):
        now = max(now, released) if starts else released
        while running and (running[0][0] <= now or free < width):
            end, freed = heapq.heappop(running)
            free, now = free + freed, max(now, end)
        starts.append(now)
        heapq.heappush(running, (now + runtime, width))
        free -= width
    return np.array(starts, dtype=np.int64)
