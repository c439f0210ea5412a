"""Engine: the public face of the replay.

In:  a `trace_jobs` frame, a Policy, the machine's processors.   Out: `Replay`.
Not here: the loop (kernel/) and the choice of jobs (workload.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.errors import InputError, InvariantError
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE
from hpcopt_assets.contracts.vocabulary import Backfill, Estimate, EstimateSource, LeftOut, Order
from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.simulate.workload import Workload, select_workload


@dataclass(frozen=True)
class Replay:
    """A finished replay: the schedule (table `replay_schedule`) and what it rests on, counted."""

    schedule: pl.DataFrame
    left_out: dict[LeftOut, int]
    estimate_sources: dict[EstimateSource, int]


def replay(jobs: pl.DataFrame, policy: Policy, capacity_procs: int) -> Replay:
    """Replay a trace under a policy on a machine of `capacity_procs` processors.

    The schedule has one row per job of the trace, in trace order; a job that takes no part has its reason.
    The order of the rows handed in does not matter. A capacity below 1, or a schedule that ends beyond
    `TIME_MAX_S`, raises `InputError`; a schedule that breaks an invariant raises `InvariantError`, which is a
    fault of this program.
    """
    workload = select_workload(jobs, capacity_procs)
    start_s = _starts(workload, policy)
    _check_end(workload, policy, start_s)
    return Replay(
        to_schedule(workload, policy, start_s),
        workload.left_out,
        workload.estimate_sources(policy.estimate),
    )


def to_schedule(workload: Workload, policy: Policy, start_s: IntArray) -> pl.DataFrame:
    """The `replay_schedule` of a workload whose replayed jobs start at `start_s`, one entry each."""
    runtime_s = workload.replayed_runtime_s(policy.overrun)
    replayed = {
        "start_s": start_s,
        "end_s": start_s + runtime_s,
        "wait_s": start_s - workload.release_s,
        "runtime_s": runtime_s,
        "limit_s": workload.limit_s,
        "estimate_s": workload.believed_s(policy.estimate),
        "is_fallback": workload.is_fallback,
    }
    is_replayed = workload.is_replayed
    place = pl.Series(np.cumsum(is_replayed) - 1).zip_with(
        is_replayed, pl.Series([None], dtype=pl.Int64)
    )  # of a row's job in those arrays
    source = (
        pl.lit(EstimateSource.ACTUAL.value)
        if policy.estimate is Estimate.ACTUAL
        else pl.when("is_fallback")
        .then(pl.lit(EstimateSource.FALLBACK.value))
        .otherwise(pl.lit(EstimateSource.REQUEST.value))
    )
    frame = (
        workload.jobs.select(
            "trace_id", "job_id", "attempt", "submit_s", "release_s", "procs", "left_out", "user"
        )
        .with_columns(pl.Series(name, values).gather(place) for name, values in replayed.items())
        .with_columns(
            policy=pl.lit(policy.id), estimate_source=pl.when(pl.col("left_out").is_null()).then(source)
        )
        .drop("is_fallback")
    )
    return REPLAY_SCHEDULE.shape(frame)


def _starts(workload: Workload, policy: Policy) -> IntArray:
    """Start (s) of every replayed job, from the kernel."""
    from hpcopt_assets.simulate.kernel.arrays import replay_arrays

    estimate_s, hold_s = workload.believed_s(policy.estimate), workload.believed_s(policy.hold)
    order_key = {
        Order.SUBMIT: np.zeros_like(estimate_s),
        Order.SHORTEST: estimate_s,
        Order.LONGEST: -estimate_s,
    }[policy.order]
    is_easy_in_submit_order = policy.backfill is Backfill.EASY and policy.order is Order.SUBMIT
    start_s, state = replay_arrays(
        release_s=workload.release_s,
        runtime_s=workload.replayed_runtime_s(policy.overrun),
        procs=workload.procs,
        limit_s=workload.limit_s,
        estimate_s=estimate_s,
        hold_s=hold_s,
        order_key=order_key,
        capacity_procs=workload.capacity_procs,
        backfill=policy.backfill.code,
        backfill_order=policy.backfill_order.code,
        has_promises=is_easy_in_submit_order and bool((hold_s <= estimate_s).all()),
    )
    if state["fault"]:
        raise _invariant_error(workload, policy, state)
    return start_s


def _check_end(workload: Workload, policy: Policy, start_s: IntArray) -> None:
    """Runtimes of thousands of years, each fit for the table, may add up to an instant that is not."""
    end_s = start_s + workload.replayed_runtime_s(policy.overrun)
    if end_s.max(initial=TIME_MAX_S) == TIME_MAX_S:
        return
    last, longest = int(end_s.argmax()), int(workload.runtime_s.argmax())
    raise InputError(
        found=f"job {workload.job_id[last]} would end at {end_s[last]} s",
        needed=f"a schedule that ends by {TIME_MAX_S} s is needed",
        where=f"replay of {workload.jobs['trace_id'][0]} under {policy.id}",
        next_step=f"Check the runtimes of the log: that of job {workload.job_id[longest]} is "
        f"{workload.runtime_s[longest]} s.",
    )


def _invariant_error(workload: Workload, policy: Policy, state: Any) -> InvariantError:
    """The kernel's fault as a sentence."""
    from hpcopt_assets.simulate.kernel.loop import FAULTS, NOBODY

    found, needed = FAULTS[int(state["fault"])]
    numbers = {"found": int(state["found"]), "allowed": int(state["allowed"])}
    job = int(state["fault_job"])
    who = "no single job" if job == NOBODY else f"job {workload.job_id[job]}"
    trace_id, at_s = workload.jobs["trace_id"][0], int(state["fault_at_s"])
    return InvariantError(
        found=f"{who}: {found.format(**numbers)}",
        needed=needed.format(**numbers),
        where=f"replay of {trace_id} under {policy.id} at instant {at_s} s",
        next_step="The replay is at fault, not the trace: please report it with the trace and the policy.",
    )
