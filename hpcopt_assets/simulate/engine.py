"""Engine: the public face of the replay.

In:  a `trace_jobs` frame, a Policy, the machine's processors; or what another loop did.   Out: `Replay`.
Not here: the loop (kernel/) and the choice of jobs (workload.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.adapter import ExternalPolicy
from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.errors import InputError, InvariantError
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE
from hpcopt_assets.contracts.vocabulary import (
    FORECAST,
    Backfill,
    Estimate,
    EstimateSource,
    LeftOut,
    Order,
    Vocabulary,
)
from hpcopt_assets.measures.schedule import BoolArray, FloatArray, IntArray
from hpcopt_assets.simulate.scenario import AS_RECORDED, NOT_GIVEN_S, Scenario
from hpcopt_assets.simulate.scores import f1, unicef_weight
from hpcopt_assets.simulate.workload import Workload, select_workload

if TYPE_CHECKING:
    from hpcopt_assets.simulate.kernel.arrays import Replayed

V = TypeVar("V", bound=Vocabulary)


class Outcome(Protocol):
    """What a loop did with the jobs of a workload: starts (`NOT_GIVEN_S` without one), estimates then."""

    @property
    def start_s(self) -> IntArray: ...

    @property
    def estimate_s(self) -> IntArray: ...

    @property
    def has_history(self) -> BoolArray: ...


@dataclass(frozen=True)
class Replay:
    """A finished replay: the schedule (table `replay_schedule`) and what it rests on, counted."""

    schedule: pl.DataFrame
    left_out: dict[LeftOut, int]
    estimate_sources: dict[EstimateSource, int]


def replay(
    jobs: pl.DataFrame,
    policy: Policy,
    capacity_procs: int,
    scenario: Scenario = AS_RECORDED,
    *,
    estimates: pl.DataFrame | None = None,
    is_strict: bool = False,
) -> Replay:
    """Replay a trace under a policy on a machine of `capacity_procs` processors.

    The schedule has one row per job of the trace, in trace order; a job that takes no part has its reason.
    The order of the rows handed in does not matter. `estimates` (`runtime_estimates`) are needed by policies
    that believe forecasts. `is_strict`: check all of the machine's state at every pass, which takes many
    times as long. A capacity below 1, or a schedule that ends beyond `TIME_MAX_S`, raises `InputError`; one
    that breaks an invariant raises `InvariantError`, which is a fault of this
    program.
    """
    workload = select_workload(jobs, capacity_procs, scenario, estimates if policy.is_forecasting else None)
    return to_replay(workload, policy, run_workload(workload, policy, is_strict=is_strict))


def to_replay(workload: Workload, policy: Policy | ExternalPolicy, replayed: Outcome) -> Replay:
    """The schedule of a workload and its counts; `InputError` where it ends beyond `TIME_MAX_S`."""
    _check_end(workload, policy, replayed.start_s)
    schedule = to_schedule(workload, policy, replayed)
    return Replay(
        schedule,
        _counted(schedule["left_out"], LeftOut),
        _counted(schedule["estimate_source"], EstimateSource),
    )


def _counted(words: pl.Series, vocabulary: type[V]) -> dict[V, int]:
    """How often each word of a vocabulary occurs."""
    return {word: int((words == word.value).sum()) for word in vocabulary}


def to_schedule(workload: Workload, policy: Policy | ExternalPolicy, replayed: Outcome) -> pl.DataFrame:
    """The `replay_schedule` of a workload."""
    start_s, runtime_s = replayed.start_s, workload.replayed_runtime_s(policy.overrun)
    left_out = workload.jobs["left_out"]
    never_started = start_s == NOT_GIVEN_S
    if never_started.any():
        # The machine has shrunk for good: a job is too wide for it, or waits behind one.
        last = workload.capacity_steps[-1][1]
        is_left, is_wide = _spread(workload, never_started), workload.jobs["procs"] > last
        words = (LeftOut.WIDER_THAN_MACHINE.value, LeftOut.NEVER_STARTED.value)
        reason = pl.when(is_wide).then(pl.lit(words[0])).otherwise(pl.lit(words[1]))
        left_out = pl.select(left_out=pl.coalesce(left_out, pl.when(is_left).then(reason))).to_series()
    numbers = {
        "start_s": start_s,
        "end_s": start_s + runtime_s,
        "wait_s": start_s - workload.release_s,
        "runtime_s": runtime_s,
        "limit_s": workload.limit_s,
        "estimate_s": replayed.estimate_s,
    }
    counts = left_out.is_null()
    columns = {name: _spread(workload, values) for name, values in numbers.items()}
    columns["estimate_source"] = _sources(workload, policy, replayed)
    if not counts.all():
        columns = {
            name: values.zip_with(counts, pl.Series([None], dtype=values.dtype))
            for name, values in columns.items()
        }
    frame = pl.concat(
        [
            workload.names.select("trace_id", "job_id", "attempt", "user"),
            workload.jobs.drop("is_replayed", "left_out"),
        ],
        how="horizontal",
    )
    return REPLAY_SCHEDULE.shape(
        frame.with_columns(
            policy=pl.lit(policy.id),
            left_out=left_out,
            **columns,
        ).select(REPLAY_SCHEDULE.names)
    )


def _spread(workload: Workload, values: npt.NDArray[Any]) -> pl.Series:
    """One value for each row of the trace: null where the job is not replayed."""
    series, is_replayed = pl.Series(values), workload.is_replayed
    if is_replayed.all():
        return series
    place = pl.Series(np.cumsum(is_replayed) - 1).zip_with(is_replayed, pl.Series([None], dtype=pl.Int64))
    return series.gather(place)


def _sources(workload: Workload, policy: Policy | ExternalPolicy, replayed: Outcome) -> pl.Series:
    """Where each job's estimate came from."""
    if policy.estimate is Estimate.ACTUAL:
        numbers = np.full(len(workload), EstimateSource.ACTUAL.code, dtype=np.int8)
    else:
        numbers = np.where(
            workload.is_fallback, EstimateSource.FALLBACK.code, EstimateSource.REQUEST.code
        ).astype(np.int8)
        numbers[replayed.has_history] = EstimateSource.HISTORY.code
        if policy.estimate in FORECAST and workload.forecast is not None:
            told = workload.forecast.source
            numbers = np.where(told >= 0, told, numbers)
    words = {source.code: source.value for source in EstimateSource}
    return _spread(workload, numbers).replace_strict(words, return_dtype=pl.String)


def run_workload(workload: Workload, policy: Policy, *, is_strict: bool = False) -> Replayed:
    """What the kernel makes of a workload under a policy; errors are those of `replay`, but for the end."""
    from hpcopt_assets.simulate.kernel.arrays import replay_arrays

    estimate_s, hold_s = workload.estimate_s(policy), workload.hold_s(policy)
    uses_history = Estimate.USER_HISTORY in (policy.estimate, policy.hold)
    jobs: dict[str, IntArray | FloatArray | int] = {
        "release_s": workload.release_s,
        "runtime_s": workload.replayed_runtime_s(policy.overrun),
        "procs": workload.procs,
        "limit_s": workload.limit_s,
        "estimate_s": estimate_s,
        "hold_s": hold_s,
        "order_key": _static_key(workload, policy),
        "user": workload.user if uses_history or policy.order is Order.FAIRSHARE else 0,
        "start_s": workload.given_start_s,
    }
    replayed = replay_arrays(
        jobs,
        {
            "backfill": policy.backfill.code,
            "backfill_order": policy.backfill_order.code,
            "order": policy.order.code,
            "estimates_history": policy.estimate is Estimate.USER_HISTORY,
            "holds_history": policy.hold is Estimate.USER_HISTORY,
            "half_life_s": policy.half_life_s or 0,
            "base_s": workload.release_s.min(initial=TIME_MAX_S),
            "has_promises": _has_promises(policy, estimate_s, hold_s),
            "is_strict": is_strict,
        },
        capacity_procs=workload.capacity_procs,
        capacity_steps=workload.capacity_steps,
        begin_s=workload.begin_s,
    )
    if replayed.state["fault"]:
        raise _invariant_error(workload, policy, replayed.state)
    return replayed


def _static_key(workload: Workload, policy: Policy) -> IntArray | int:
    """What is known of a job's place in the queue before the replay; the kernel finds out the rest.

    Scores are given by their bits, which ascend as they do.
    """
    known = {
        Order.F1: lambda: f1(workload.release_s, workload.limit_s, workload.procs),
        Order.UNICEF: lambda: unicef_weight(workload.limit_s, workload.procs),
    }
    return known[policy.order]().view(np.int64) if policy.order in known else 0


def _has_promises(policy: Policy, estimate_s: IntArray, hold_s: IntArray) -> bool:
    """Whether a waiting head's shadow time may never move later: EASY by submission, hold <= estimate."""
    if policy.backfill is not Backfill.EASY or policy.order is not Order.SUBMIT:
        return False
    if Estimate.USER_HISTORY in (policy.estimate, policy.hold):
        known = (Estimate.REQUESTED, Estimate.USER_HISTORY)  # never less than the history that is held
        return policy.hold is Estimate.USER_HISTORY and policy.estimate in known
    return bool((hold_s <= estimate_s).all())


def _check_end(workload: Workload, policy: Policy | ExternalPolicy, start_s: IntArray) -> None:
    """Runtimes of thousands of years, each fit for the table, may add up to an instant that is not."""
    end_s = start_s + workload.replayed_runtime_s(policy.overrun)
    if end_s.max(initial=TIME_MAX_S) == TIME_MAX_S:
        return
    last, longest = int(end_s.argmax()), int(workload.runtime_s.argmax())
    raise InputError(
        found=f"job {workload.job_id[last]} would end at {end_s[last]} s",
        needed=f"a schedule that ends by {TIME_MAX_S} s is needed",
        where=f"replay of {workload.names['trace_id'][0]} under {policy.id}",
        next_step=f"Check the runtimes of the log: that of job {workload.job_id[longest]} is "
        f"{workload.runtime_s[longest]} s.",
    )


def _invariant_error(workload: Workload, policy: Policy, state: Any) -> InvariantError:
    """The kernel's fault as a sentence."""
    from hpcopt_assets.simulate.kernel.faults import FAULTS
    from hpcopt_assets.simulate.kernel.records import NOBODY

    found, needed = FAULTS[int(state["fault"])]
    numbers = {"found": int(state["found"]), "allowed": int(state["allowed"])}
    job = int(state["fault_job"])
    who = "no single job" if job == NOBODY else f"job {workload.job_id[job]}"
    trace_id, at_s = workload.names["trace_id"][0], int(state["fault_at_s"])
    return InvariantError(
        found=f"{who}: {found.format(**numbers)}",
        needed=needed.format(**numbers),
        where=f"replay of {trace_id} under {policy.id} at instant {at_s} s",
        next_step="The replay is at fault, not the trace: please report it with the trace and the policy.",
    )
