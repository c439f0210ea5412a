"""Workload: which jobs of a trace are replayed, and what stands in for a missing request.

In:  a `trace_jobs` frame in any row order, and the machine's processors.   Out: `Workload`.
Not here: anything that depends on a schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from hpcopt_assets.contracts.adapter import ExternalPolicy
from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.errors import EvidenceError, InputError
from hpcopt_assets.contracts.order import in_trace_order
from hpcopt_assets.contracts.vocabulary import FORECAST, Estimate, JobState, LeftOut, Overrun
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S, limits
from hpcopt_assets.measures.schedule import NO_USER, BoolArray, IntArray
from hpcopt_assets.simulate.forecast import Forecast, forecast_of
from hpcopt_assets.simulate.scenario import (
    AS_RECORDED,
    NOT_GIVEN_S,
    Scenario,
    apply_scenario,
    check_scenario,
)

NEEDED = (
    *("trace_id", "job_id", "attempt", "submit_s", "release_s", "start_s"),
    *("runtime_s", "procs", "state", "requested_runtime_s", "requested_runtime_kind"),
    *("partition_limit_s", "queue", "partition", "user", "allocated_procs"),
)
_OPTIONAL = ("group",)
# For external policies; a frame that lacks it is none the worse.
_NAMES = ("trace_id", "job_id", "attempt", "user", "group", "queue", "partition")
_KNOWN = ("submit_s", "release_s", "start_s", "runtime_s", "procs", "allocated_procs")
# Apart, for polars copies all columns of a frame that was read in chunks as soon as one is added.


@dataclass(frozen=True)
class Workload:
    """What a replay needs of a trace. Arrays are int64 with one entry per replayed job, in trace order.

    `names` and `jobs` hold every job of the trace in trace order: who it is; when it came, with `is_replayed`
    and `left_out` (a `LeftOut` word, null for those that count). `limit_s` is the requested runtime or its
    fallback; `given_start_s` is the recorded start of a job that runs when the window begins, else
    `NOT_GIVEN_S`. `capacity_steps` are (instant, processors) from which on the machine has another size;
    nothing happens before `begin_s`. `place`: where the arrays are in another order, each job's place among
    the replayed ones of `names`. Times are in seconds.
    """

    names: pl.DataFrame
    jobs: pl.DataFrame
    capacity_procs: int
    release_s: IntArray
    runtime_s: IntArray
    procs: IntArray
    limit_s: IntArray
    is_fallback: BoolArray
    given_start_s: IntArray
    capacity_steps: tuple[tuple[int, int], ...] = ()
    begin_s: int = NOT_GIVEN_S
    forecast: Forecast | None = None
    place: IntArray | None = None

    def __len__(self) -> int:
        return int(self.release_s.size)

    @property
    def is_replayed(self) -> pl.Series:
        """For every row of `jobs`, whether the job is replayed: has a place in the arrays."""
        return self.jobs["is_replayed"]

    @property
    def job_id(self) -> pl.Series:
        """Ids of the replayed jobs."""
        ids = self.names["job_id"].filter(self.is_replayed)
        return ids if self.place is None else ids.gather(self.place)

    @cached_property
    def user(self) -> IntArray:
        """Users numbered from 0 in the order of their names, -1 where unknown."""
        users = self.names["user"].filter(self.is_replayed)
        codes = (users.rank("dense").cast(pl.Int64) - 1).fill_null(NO_USER)
        return np.ascontiguousarray(codes.to_numpy(), dtype=np.int64)

    def check_running_set(self) -> None:
        """Raise `EvidenceError` where the jobs that run when the window begins exceed the machine."""
        held = int(self.procs[self.given_start_s != NOT_GIVEN_S].sum())
        there = [procs for at_s, procs in self.capacity_steps if at_s <= self.begin_s]
        capacity = there[-1] if there else self.capacity_procs
        if held > capacity:
            raise EvidenceError(
                found=f"{held} processors held by jobs that run at {self.begin_s} s",
                needed=f"at most {capacity}, the machine's",
                where="the window's start",
                next_step="Begin the window elsewhere, or correct the capacity.",
            )

    @property
    def left_out(self) -> dict[LeftOut, int]:
        """How many jobs are left out, for every reason."""
        counts = dict(self.jobs["left_out"].drop_nulls().value_counts().iter_rows())
        return {reason: counts.get(reason.value, 0) for reason in LeftOut}

    def replayed_runtime_s(self, overrun: Overrun) -> IntArray:
        """How long each job runs: under `kill` no longer than its request, which a fallback is not.

        A job that runs when the window begins runs until its recorded end.
        """
        if overrun is Overrun.KILL:
            is_spared = self.is_fallback | (self.given_start_s != NOT_GIVEN_S)
            return np.where(is_spared, self.runtime_s, np.minimum(self.runtime_s, self.limit_s))
        return self.runtime_s

    def estimate_s(self, policy: Policy | ExternalPolicy) -> IntArray:
        """What a job is believed to run for when it is ordered and tried; its limit where that changes."""
        return self.believed_s(policy.estimate, policy.guard_k or 0.0)

    def hold_s(self, policy: Policy | ExternalPolicy) -> IntArray:
        """What a running job is believed to run for; its limit where that changes."""
        return self.believed_s(policy.hold)

    def believed_s(self, estimate: Estimate, guard_k: float = 0.0) -> IntArray:
        """What each job is believed to run for: at least 1 s, at most its limit.

        A quantile without forecasts raises `InputError`.
        """
        if estimate is Estimate.ACTUAL:
            return np.clip(self.runtime_s, SHORTEST_ESTIMATE_S, self.limit_s)
        if estimate in FORECAST:
            return self._forecast().believed_s(estimate, guard_k, self.limit_s)
        return self.limit_s

    def _forecast(self) -> Forecast:
        if self.forecast is None:
            raise InputError(
                found="no forecasts",
                needed="runtime_estimates of the trace, for a policy that believes them",
                where="replay",
                next_step="Give them (--estimates; `hpcopt forecast` makes them), or take another policy.",
            )
        return self.forecast


def select_workload(
    jobs: pl.DataFrame,
    capacity_procs: int,
    scenario: Scenario = AS_RECORDED,
    estimates: pl.DataFrame | None = None,
) -> Workload:
    """The replayable jobs of a trace, whatever the order of its rows; `estimates` are `runtime_estimates`.

    A job is replayed if its runtime and processors are known and it fits the machine when that is largest; a
    start is not needed. A capacity below 1 or a scenario that makes no sense raises `InputError`; jobs that
    run when the window begins and together exceed the machine raise `EvidenceError`.
    """
    check_scenario(scenario, capacity_procs)
    largest = max([capacity_procs, *(procs for _, procs in scenario.capacity_steps)])
    ordered = in_trace_order(jobs.select(*NEEDED, *(name for name in _OPTIONAL if name in jobs.columns)))
    known = ordered.select(_KNOWN).with_columns(
        *limits(ordered), ordered.select(_left_out(largest).alias("left_out")).to_series()
    )
    known = known.with_columns(given_start_s=pl.lit(NOT_GIVEN_S), is_replayed=pl.col("left_out").is_null())
    if scenario != AS_RECORDED:
        known = apply_scenario(known, scenario)
    kept = known if known["is_replayed"].all() else known.filter("is_replayed")

    def column(name: str) -> IntArray:
        return np.ascontiguousarray(kept[name].to_numpy(), dtype=np.int64)

    names = ordered.select(name for name in _NAMES if name in ordered.columns)
    workload = Workload(
        names,
        known.select("submit_s", "release_s", "procs", "left_out", "is_replayed"),
        capacity_procs,
        column("release_s"),
        column("runtime_s"),
        column("procs"),
        column("limit_s"),
        kept["is_fallback"].to_numpy(),
        column("given_start_s"),
        scenario.capacity_steps,
        NOT_GIVEN_S if scenario.since_s is None else scenario.since_s,
        None
        if estimates is None
        else forecast_of(names.with_columns(ordered["submit_s"]), known["is_replayed"], estimates),
    )
    workload.check_running_set()
    return workload


def _left_out(capacity_procs: int) -> pl.Expr:
    """The first reason that holds, in the vocabulary's order.

    A pending job never started, nor did a cancelled one without start and runtime. The runtime of a job
    still running is not known, whatever the log has counted so far.
    """
    state, runtime = pl.col("state"), pl.col("runtime_s")
    never_ran = (state == JobState.CANCELLED.value) & runtime.is_null() & pl.col("start_s").is_null()
    conditions = {
        LeftOut.NEVER_STARTED: (state == JobState.PENDING.value) | never_ran,
        LeftOut.UNKNOWN_RUNTIME: runtime.is_null() | (state == JobState.RUNNING.value),
        LeftOut.UNKNOWN_PROCS: pl.col("procs").is_null(),
        LeftOut.WIDER_THAN_MACHINE: pl.col("procs") > capacity_procs,
    }
    # By number first: words for the millions of jobs that have no reason would take ten times the memory.
    number = pl.coalesce(
        *(pl.when(holds).then(pl.lit(reason.code, dtype=pl.Int8)) for reason, holds in conditions.items())
    )
    words = {reason.code: reason.value for reason in conditions}
    return number.replace_strict(words, default=None, return_dtype=pl.String)
