"""Where do two schedules of the same jobs part, and whom does that help?

In:  two `replay_schedule` frames.   Out: `Difference`: the first divergence with its context, and who gains.
Not here: whether a difference is more than chance (robustness.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.order import JOB_KEY
from hpcopt_assets.measures.slowdown import bounded_slowdown

SHOWN = 10


@dataclass(frozen=True)
class Moment:
    """The state of a schedule when the two first part: who starts, waits and runs at that instant."""

    started: tuple[str, ...]
    queued_count: int
    queued_procs: int
    running_count: int
    running_procs: int


@dataclass(frozen=True)
class Difference:
    """How two schedules differ. Gains are waits of the first less waits of the second, in seconds.

    `at_s`, `first` and `second` are None for schedules that are the same. `helped` and `hurt` have columns
    job_id, user, procs, gain_s, gain_bsld; `by_size` and `by_user` sum them up.
    """

    jobs_count: int
    same_starts_ratio: float
    at_s: int | None
    first: Moment | None
    second: Moment | None
    helped: pl.DataFrame
    hurt: pl.DataFrame
    by_size: pl.DataFrame
    by_user: pl.DataFrame


def what_differs(first: pl.DataFrame, second: pl.DataFrame, *, tau_s: int) -> Difference:
    """Compare the jobs that ran under both; `InputError` where there is none."""
    jobs = _paired(first, second)
    if jobs.is_empty():
        raise InputError(
            found="no job that ran under both",
            needed="two schedules of one trace",
            where="the schedules compared",
            next_step="Give two replays of the same trace.",
        )
    parted = jobs.filter(pl.col("start_s") != pl.col("other_start_s"))
    at_s = (
        None
        if parted.is_empty()
        else int(parted.select(pl.min_horizontal(pl.min("start_s"), pl.min("other_start_s"))).item())
    )
    gains = jobs.with_columns(
        gain_s=pl.col("wait_s") - pl.col("other_wait_s"),
        gain_bsld=pl.Series(_slowdown(jobs, "wait_s", tau_s) - _slowdown(jobs, "other_wait_s", tau_s)),
    ).select("job_id", "user", "procs", "gain_s", "gain_bsld")
    return Difference(
        jobs.height,
        1 - parted.height / jobs.height,
        at_s,
        None if at_s is None else _moment(jobs, "start_s", at_s),
        None if at_s is None else _moment(jobs, "other_start_s", at_s),
        gains.filter(pl.col("gain_s") > 0).sort("gain_s", "job_id", descending=[True, False]).head(SHOWN),
        gains.filter(pl.col("gain_s") < 0).sort("gain_s", "job_id").head(SHOWN),
        _summed(gains, pl.col("procs").log(2).floor().cast(pl.Int64).alias("log2_procs")),
        _summed(gains, pl.col("user")),
    )


def _paired(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    ran = pl.col("left_out").is_null()
    other = second.filter(ran).select(*JOB_KEY, other_start_s="start_s", other_wait_s="wait_s")
    return first.filter(ran).join(other, on=JOB_KEY, how="inner", maintain_order="left")


def _slowdown(jobs: pl.DataFrame, wait: str, tau_s: int) -> np.ndarray:
    return bounded_slowdown(jobs[wait].to_numpy(), jobs["runtime_s"].to_numpy(), tau_s)


def _moment(jobs: pl.DataFrame, start: str, at_s: int) -> Moment:
    """Just before anybody starts at an instant; what ends at it has ended."""
    waits = jobs.filter((pl.col("release_s") <= at_s) & (pl.col(start) >= at_s))
    runs = jobs.filter((pl.col(start) < at_s) & (pl.col(start) + pl.col("runtime_s") > at_s))
    return Moment(
        tuple(jobs.filter(pl.col(start) == at_s)["job_id"]),
        waits.height,
        int(waits["procs"].sum()),
        runs.height,
        int(runs["procs"].sum()),
    )


def _summed(gains: pl.DataFrame, by: pl.Expr) -> pl.DataFrame:
    """Jobs, those helped and hurt, and mean gains of each group, the most helped first."""
    return (
        gains.group_by(by)
        .agg(
            jobs_count=pl.len(),
            helped_count=(pl.col("gain_s") > 0).sum(),
            hurt_count=(pl.col("gain_s") < 0).sum(),
            mean_gain_s=pl.col("gain_s").mean(),
            mean_gain_bsld=pl.col("gain_bsld").mean(),
        )
        .sort("mean_gain_s", pl.first(), descending=[True, False], nulls_last=True)
    )
