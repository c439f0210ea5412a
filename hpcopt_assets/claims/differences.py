"""Where do two schedules of the same jobs part, and whom does that help?

In:  two `replay_schedule` frames, the machine's size.
Out: `Difference`: the first divergence with its context, and who gains.
Not here: the state at that instant (parting.py); whether a difference is more than chance (robustness.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hpcopt_assets.claims.parting import SIDES, Parting, parting_of
from hpcopt_assets.contracts.config import MeasuresConfig
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.order import JOB_KEY, in_trace_order
from hpcopt_assets.contracts.vocabulary import LeftOut
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.sizes import band_names, band_of
from hpcopt_assets.measures.slowdown import bounded_slowdown

SHOWN = 10
ABSENT = "absent"
# Stands where a LeftOut would: the other schedule has no row of the job.
SAME = ("submit_s", "release_s", "procs")
# What must not differ between two schedules of one job.
OF_SIDE = ("start_s", "wait_s", "runtime_s", "estimate_s", "left_out")
ONE_USER, FEW_JOBS, UNKNOWN_USER = "user", "few_jobs", "unknown_user"


@dataclass(frozen=True)
class Difference:
    """How two schedules differ. Gains are those of the second: positive where it serves a job better.

    `same_starts_ratio` is the share of the `jobs_count` jobs that ran under both. `only_first` counts jobs
    that ran under the first alone, by why the second left them out (a `LeftOut` word, or `absent`);
    `only_second` likewise; `neither_count` ran under none. `parting` is null where all start alike.

    `helped` and `hurt`: the jobs with the largest gains and losses of wait: job_id, attempt, user, procs,
    release_s, and first_wait_s, second_wait_s, gain_s, first_bsld, second_bsld, gain_bsld, each slowdown with
    the runtime that the job has in that schedule.
    `by_size` (column band, small jobs first) and `by_user` (columns kind, user, users_count; the most helped
    first) sum up the jobs that ran under both: jobs_count, helped_count, hurt_count, mean_gain_s,
    mean_gain_bsld. Users with few jobs are one row of kind `few_jobs`, jobs of unknown users another.
    """

    jobs_count: int
    same_starts_ratio: float
    only_first: dict[str, int]
    only_second: dict[str, int]
    neither_count: int
    parting: Parting | None
    helped: pl.DataFrame
    hurt: pl.DataFrame
    by_size: pl.DataFrame
    by_user: pl.DataFrame


def what_differs(
    first: pl.DataFrame,
    second: pl.DataFrame,
    *,
    capacity: Capacity,
    config: MeasuresConfig,
    procs_bands: Sequence[int],
) -> Difference:
    """Compare two schedules on one machine, whatever the order of their rows.

    `procs_bands`: upper ends (included) of the bands of job size, ascending. `InputError` where no job ran
    under both; where the schedules are not of the same jobs: of two traces, with other releases or sizes; and
    where jobs were there before a window began, for what they held is not known.
    """
    jobs = _side_by_side(first, second)
    ran = {side: pl.col(f"{side}_start_s").is_not_null() for side in SIDES}
    both = jobs.filter(*ran.values())
    if both.is_empty():
        raise _refused("no job that ran under both", "two schedules of one trace")
    gains = _gains(both, config.tau_s)
    return Difference(
        jobs_count=both.height,
        same_starts_ratio=both.filter(pl.col("first_start_s") == pl.col("second_start_s")).height
        / both.height,
        only_first=_reasons(jobs.filter(ran["first"], ~ran["second"]), "second"),
        only_second=_reasons(jobs.filter(~ran["first"], ran["second"]), "first"),
        neither_count=jobs.filter(~ran["first"], ~ran["second"]).height,
        parting=parting_of(jobs.filter(pl.any_horizontal(ran.values())), capacity),
        helped=_largest(gains.filter(pl.col("gain_s") > 0), is_gain=True),
        hurt=_largest(gains.filter(pl.col("gain_s") < 0), is_gain=False),
        by_size=_by_size(gains, procs_bands),
        by_user=_by_user(gains, config.min_jobs_per_user),
    )


def _refused(found: str, needed: str) -> InputError:
    return InputError(
        found=found,
        needed=needed,
        where="the schedules compared",
        next_step="Give two replays of the same trace, with the same arrivals and unit.",
    )


def _side_by_side(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """All jobs of either, in trace order: what is the same, and what each schedule says of them."""
    traces = sorted({*first["trace_id"].unique(), *second["trace_id"].unique()})
    if len(traces) > 1:
        raise _refused(f"schedules of {' and '.join(traces)}", "two schedules of one trace")
    if any((frame["left_out"] == LeftOut.BEFORE_WINDOW.value).any() for frame in (first, second)):
        # They hold processors at times that the schedule does not tell.
        raise _refused("jobs that ran or waited when a window of the record began", "whole schedules")
    told = [
        frame.select(
            *JOB_KEY,
            *(pl.col(name).alias(f"{side}_{name}") for name in (*SAME, "user", "limit_s", *OF_SIDE)),
        )
        for side, frame in zip(SIDES, (first, second), strict=True)
    ]
    jobs = told[0].join(told[1], on=JOB_KEY, how="full", coalesce=True, validate="1:1")
    for name in SAME:
        values = [pl.col(f"{side}_{name}") for side in SIDES]
        other = jobs.filter(values[0] != values[1]).select("job_id", *values).head(1)
        if other.height:
            job_id, *found = other.row(0)
            raise _refused(
                f"job {job_id} with {name} {found[0]} in one and {found[1]} in the other", "the same jobs"
            )
    shared = (*SAME, "user", "limit_s")
    jobs = jobs.select(
        *JOB_KEY,
        *(pl.coalesce(f"{side}_{name}" for side in SIDES).alias(name) for name in shared),
        *(f"{side}_{name}" for side in SIDES for name in OF_SIDE),
    )
    return in_trace_order(jobs)


def _reasons(jobs: pl.DataFrame, side: str) -> dict[str, int]:
    """Why a schedule left jobs out, the commonest first."""
    reasons = jobs[f"{side}_left_out"].fill_null(ABSENT).value_counts(sort=True)
    return dict(reasons.iter_rows())


def _gains(jobs: pl.DataFrame, tau_s: int) -> pl.DataFrame:
    """What each job gains; it has its own runtime in each schedule, for one alone may kill it."""
    slowdowns = {
        f"{side}_bsld": bounded_slowdown(
            jobs[f"{side}_wait_s"].to_numpy(), jobs[f"{side}_runtime_s"].to_numpy(), tau_s
        )
        for side in SIDES
    }
    return jobs.with_columns(pl.Series(name, values) for name, values in slowdowns.items()).select(
        *(*JOB_KEY, "user", "procs", "release_s", "first_wait_s", "second_wait_s"),
        (pl.col("first_wait_s") - pl.col("second_wait_s")).alias("gain_s"),
        *slowdowns,
        (pl.col("first_bsld") - pl.col("second_bsld")).alias("gain_bsld"),
    )


def _largest(gains: pl.DataFrame, *, is_gain: bool) -> pl.DataFrame:
    return gains.sort("gain_s", descending=is_gain, maintain_order=True).head(SHOWN)


def _by_size(gains: pl.DataFrame, procs_bands: Sequence[int]) -> pl.DataFrame:
    names = np.array(band_names(procs_bands))
    place = pl.Series("place", band_of(gains["procs"].to_numpy(), procs_bands))
    summed = _summed(gains.with_columns(place), "place").sort("place")
    return summed.select(
        pl.Series("band", names[summed["place"].to_numpy()].tolist(), pl.String), pl.all().exclude("place")
    )


def _by_user(gains: pl.DataFrame, min_jobs: int) -> pl.DataFrame:
    kind = (
        pl.when(pl.col("user").is_null())
        .then(pl.lit(UNKNOWN_USER))
        .when(pl.len().over("user") < min_jobs)
        .then(pl.lit(FEW_JOBS))
        .otherwise(pl.lit(ONE_USER))
    )
    named = gains.with_columns(kind=kind, one=pl.when(kind == ONE_USER).then("user"))
    summed = _summed(named, "kind", "one", users_count=pl.col("user").drop_nulls().n_unique())
    return summed.sort("mean_gain_s", "one", descending=[True, False], nulls_last=True).rename(
        {"one": "user"}
    )


def _summed(gains: pl.DataFrame, *by: str, **more: pl.Expr) -> pl.DataFrame:
    """Jobs, those helped and hurt, and mean gains of each group."""
    return gains.group_by(by, maintain_order=True).agg(
        **more,
        jobs_count=pl.len().cast(pl.Int64),
        helped_count=(pl.col("gain_s") > 0).sum().cast(pl.Int64),
        hurt_count=(pl.col("gain_s") < 0).sum().cast(pl.Int64),
        mean_gain_s=pl.col("gain_s").mean(),
        mean_gain_bsld=pl.col("gain_bsld").mean(),
    )
