"""Where two schedules of the same jobs first part: the state they share, who starts, what comes next.

In:  jobs of both schedules side by side, in trace order, and the machine's size.   Out: `Parting`.
Not here: who gains by it (differences.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.order import JOB_KEY
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.events import ENDED, RELEASED, STARTED, events
from hpcopt_assets.measures.requests import expected_end_s
from hpcopt_assets.measures.usage import steps

HANDFUL = 8
# Jobs of the queue and of the machine that are shown; a reader follows no more at one instant.
INSTANTS_AFTER = 5
SIDES = ("first", "second")
PLACES = {ENDED: 0, RELEASED: 1, STARTED: 2}
# What happens first at one instant; a job of no runtime ends after it has started.
WHO = (*JOB_KEY, "user", "procs", "limit_s")


@dataclass(frozen=True)
class Head:
    """The first job of the queue, in order of release, that does not start under both.

    `free_procs` are left once those have started that start under both. By the requested ends of what then
    runs, the job fits at `fits_at_s`, with `spare_procs` left over; both null where it fits at no time.
    """

    job_id: str
    attempt: int
    procs: int
    free_procs: int
    fits_at_s: int | None
    spare_procs: int | None


@dataclass(frozen=True)
class Moment:
    """The machine under one schedule just before the pass: what ends at the instant has ended.

    `free_procs` is negative where the machine has shrunk below what runs. `running` holds the handful that is
    expected to end first, those before that run only here: job_id, attempt, user, procs, limit_s,
    first_estimate_s and second_estimate_s (as in `Parting`), start_s, is_only_here, and expected_end_s: by
    the request, strictly ahead (docs/replay.md), null where that is not known.
    """

    free_procs: int
    running_count: int
    running_procs: int
    only_here_count: int
    running: pl.DataFrame
    head: Head | None


@dataclass(frozen=True)
class Parting:
    """The first instant at which a job starts under one schedule and not under the other.

    The queue is the same under both: jobs released by then that had not started. `queue` holds its handful
    released first and `started` all that start now under either, with `place` (from 1, in order of release),
    job_id, attempt, user, procs, limit_s, release_s, and for each schedule start_s (null where it never
    starts) and estimate_s (what was believed of the job when it started; null where not known).
    `account` tells what happens at this instant and the next few: at_s, event, job_id, attempt, procs,
    is_in_first, is_in_second, and the processors free under each after that instant.
    """

    at_s: int
    same_before_count: int
    capacity_procs: int
    queued_count: int
    queued_procs: int
    queue: pl.DataFrame
    started: pl.DataFrame
    first: Moment
    second: Moment
    account: pl.DataFrame

    @property
    def is_same_machine(self) -> bool:
        """Whether the same jobs run under both; not where some were killed under one alone."""
        return self.first.only_here_count == 0 and self.second.only_here_count == 0


def parting_of(jobs: pl.DataFrame, capacity: Capacity) -> Parting | None:
    """The first divergence; None where all jobs start at the same instants.

    `jobs` ran under at least one schedule and have `WHO`, release_s, and start_s, runtime_s and estimate_s of
    each, named `first_` and `second_`, null where they did not run. Such a job waits there for ever.
    """
    starts = [pl.col(f"{side}_start_s") for side in SIDES]
    at_s = jobs.filter(starts[0].ne_missing(starts[1])).select(pl.min_horizontal(starts).min()).item()
    if at_s is None:
        return None
    waits = pl.all_horizontal(
        pl.col("release_s") <= at_s, *((start >= at_s).fill_null(True) for start in starts)
    )
    queue = jobs.filter(waits).select(
        pl.int_range(1, pl.len() + 1).alias("place"),
        *WHO,
        "release_s",
        *(f"{side}_{name}" for side in SIDES for name in ("start_s", "estimate_s")),
    )
    capacity_procs = int(capacity.at(np.array([at_s]))[0])
    first, second = (_moment(jobs, queue, side, at_s, capacity_procs) for side in SIDES)
    return Parting(
        at_s=at_s,
        same_before_count=jobs.filter(starts[0] < at_s).height,
        capacity_procs=capacity_procs,
        queued_count=queue.height,
        queued_procs=int(queue["procs"].sum()),
        queue=queue.head(HANDFUL),
        started=queue.filter(pl.any_horizontal(start == at_s for start in starts)),
        first=first,
        second=second,
        account=_account(jobs, at_s, capacity),
    )


def _moment(jobs: pl.DataFrame, queue: pl.DataFrame, side: str, at_s: int, capacity_procs: int) -> Moment:
    (other,) = (each for each in SIDES if each != side)
    running = jobs.filter(_runs(side, at_s)).select(
        *WHO,
        *(f"{each}_estimate_s" for each in SIDES),
        start_s=f"{side}_start_s",
        is_only_here=~_runs(other, at_s),
    )
    running = _expected(running, at_s)
    begins = pl.all_horizontal((pl.col(f"{each}_start_s") == at_s).fill_null(False) for each in SIDES)
    # A job of no runtime is gone when the pass that started it is over.
    lasting = jobs.filter(begins & (pl.col(f"{side}_runtime_s") > 0))
    then = pl.concat(
        [running.select(*WHO, "start_s"), lasting.select(*WHO, start_s=pl.lit(at_s, dtype=pl.Int64))]
    )
    used = int(running["procs"].sum())
    return Moment(
        free_procs=capacity_procs - used,
        running_count=running.height,
        running_procs=used,
        only_here_count=int(running["is_only_here"].sum()),
        running=running.sort("is_only_here", "expected_end_s", descending=[True, False]).head(HANDFUL),
        head=_head(queue.filter(~begins), _expected(then, at_s), at_s, capacity_procs),
    )


def _runs(side: str, at_s: int) -> pl.Expr:
    """Whether a job has started before an instant and ends after it; false where it never starts."""
    start = pl.col(f"{side}_start_s")
    return ((start < at_s) & (start + pl.col(f"{side}_runtime_s") > at_s)).fill_null(False)


def _expected(running: pl.DataFrame, at_s: int) -> pl.DataFrame:
    """Running jobs with when they are expected to end, the soonest first; those of unknown requests last."""
    limit_s = running["limit_s"].fill_null(TIME_MAX_S).to_numpy()
    ends = pl.Series(expected_end_s(running["start_s"].to_numpy(), limit_s, at_s))
    known = pl.when(pl.col("limit_s").is_not_null()).then(ends)
    return running.with_columns(expected_end_s=known).sort(
        "expected_end_s", nulls_last=True, maintain_order=True
    )


def _head(waiting: pl.DataFrame, running: pl.DataFrame, at_s: int, capacity_procs: int) -> Head | None:
    """When the first of the waiting fits, all that end at one instant counted together."""
    if waiting.is_empty():
        return None
    job = waiting.row(0, named=True)
    free = capacity_procs - int(running["procs"].sum())
    named = (job["job_id"], job["attempt"], job["procs"], free)
    if free >= job["procs"]:
        return Head(*named, at_s, free - job["procs"])
    fits = (
        running.drop_nulls("expected_end_s")
        .group_by("expected_end_s", maintain_order=True)
        .agg(pl.col("procs").sum())
        .select("expected_end_s", free=free + pl.col("procs").cum_sum())
        .filter(pl.col("free") >= job["procs"])
    )
    if fits.is_empty():
        return Head(*named, None, None)
    fits_at_s, then_free = fits.row(0)
    return Head(*named, fits_at_s, then_free - job["procs"])


def _account(jobs: pl.DataFrame, at_s: int, capacity: Capacity) -> pl.DataFrame:
    """Events from an instant on, each said once with the schedules that have it."""
    until_s = _until(jobs, at_s)
    told, used = [], {}
    for side in SIDES:
        ran = jobs.filter(pl.col(f"{side}_start_s").is_not_null()).select(
            *JOB_KEY, "release_s", "procs", start_s=f"{side}_start_s", runtime_s=f"{side}_runtime_s"
        )
        start_s, runtime_s, procs = (ran[name].to_numpy() for name in ("start_s", "runtime_s", "procs"))
        used[side] = steps(start_s, start_s + runtime_s, procs)
        told.append(
            events(ran).filter(pl.col("at_s").is_between(at_s, until_s)).with_columns(side=pl.lit(side))
        )
    of_one = ["at_s", *JOB_KEY]
    account = (
        pl.concat(told)
        .group_by("at_s", "event", *JOB_KEY, "procs")
        # Who runs under one alone was released under both.
        .agg(
            ((pl.col("side") == side) | (pl.col("event") == RELEASED)).any().alias(f"is_in_{side}")
            for side in SIDES
        )
        .join(jobs.with_row_index("position").select(*JOB_KEY, "position"), on=JOB_KEY)
        .with_columns(
            place=pl.when((pl.col("event") == ENDED) & (pl.col("event") == STARTED).any().over(of_one))
            .then(len(PLACES))
            .otherwise(pl.col("event").replace_strict(PLACES))
        )
        .sort("at_s", "place", "position")
        .drop("place", "position")
    )
    at = account["at_s"].to_numpy()
    return account.with_columns(
        pl.Series(f"free_{side}_procs", capacity.at(at) - used[side].sample(at)) for side in SIDES
    )


def _until(jobs: pl.DataFrame, at_s: int) -> int:
    """The last of the next few instants at which anything happens under either schedule."""
    starts = [pl.col(f"{side}_start_s") for side in SIDES]
    ends = [start + pl.col(f"{side}_runtime_s") for start, side in zip(starts, SIDES, strict=True)]
    instants = pl.concat(
        [jobs.select(at_s=each).to_series() for each in (pl.col("release_s"), *starts, *ends)]
    )
    later = instants.filter(instants >= at_s).unique().sort().head(INSTANTS_AFTER + 1)
    return int(later[-1])
