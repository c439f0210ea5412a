"""External: replays a policy that is not ours, on the reference loop.

In:  a `trace_jobs` frame, an `ExternalPolicy`, its code, the machine's processors.   Out: `ExternalReplay`.
Not here: how a policy is asked (adapter.py) and how it is found (orchestration/external.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from hpcopt_assets.contracts.adapter import ExternalPolicy, QueuedJob
from hpcopt_assets.contracts.errors import InvariantError, PolicyError
from hpcopt_assets.contracts.protocols import Decide
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.vocabulary import Verdict
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import BoolArray, IntArray
from hpcopt_assets.simulate.adapter import Adapter, Tell, said
from hpcopt_assets.simulate.engine import Replay, to_replay
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.reference.machine import Machine
from hpcopt_assets.simulate.reference.replays import Unchanging, world_of
from hpcopt_assets.simulate.reference.views import Queued
from hpcopt_assets.simulate.scenario import AS_RECORDED, NOT_GIVEN_S, Scenario
from hpcopt_assets.simulate.workload import Workload, select_workload


@dataclass(frozen=True)
class ExternalReplay:
    """A finished replay, how often the policy was asked, and what came of the reservations it spoke of.

    `promised_count`: jobs that it ever named a start for. `broken_count`: those of them that started later
    than the first instant named.
    """

    replay: Replay
    passes_count: int
    promised_count: int
    broken_count: int


class _Outcome(NamedTuple):
    start_s: IntArray
    estimate_s: IntArray
    has_history: BoolArray


def replay_external(
    jobs: pl.DataFrame,
    policy: ExternalPolicy,
    code: Decide | type[Decide],
    capacity_procs: int,
    scenario: Scenario = AS_RECORDED,
    *,
    tell: Tell = lambda *_: None,
) -> ExternalReplay:
    """Replay a trace under an external policy; the schedule is as that of any other.

    `code` is asked at every pass; a class is instantiated first, so that each replay has a memory of its own.
    `PolicyError` where the code fails, its answer is refused, or it never starts a job that fits.
    """
    workload = select_workload(jobs, capacity_procs, scenario)
    adapter = Adapter(policy, _instance(policy, code), workload, tell)
    known = Unchanging([_known(job) for job in adapter.jobs])
    done = Machine(world_of(workload, policy), known, adapter).run()
    start_s = np.array([job.start_s for job in done], dtype=np.int64)
    _check_all_started(workload, policy, start_s)
    outcome = _Outcome(start_s, workload.limit_s, np.zeros(len(workload), dtype=np.bool_))
    replay = to_replay(workload, policy, outcome)
    is_whole = scenario == Scenario(capacity_steps=scenario.capacity_steps)
    if is_whole and not (start_s == NOT_GIVEN_S).any():
        # The judge knows releases as recorded, and expects a start of every job that ever fits.
        _check_rules(jobs, replay.schedule, policy, Capacity(capacity_procs, scenario.capacity_steps))
    broken = [position for position, at_s in adapter.promised_s.items() if done[position].start_s > at_s]
    return ExternalReplay(replay, adapter.passes_count, len(adapter.promised_s), len(broken))


def _known(job: QueuedJob) -> Queued:
    """A job as the reference machine hands it to plans: believed to run as long as requested."""
    limit_s = job.requested_runtime_s
    return Queued(job.release_s, job.position, job.procs, limit_s, limit_s, limit_s)


def _instance(policy: ExternalPolicy, code: Decide | type[Decide]) -> Decide:
    """The callable that decides: of a class, a new instance."""
    if not isinstance(code, type):
        return code
    try:
        return code()
    except (Exception, SystemExit) as error:
        raise PolicyError(
            said(error),
            "a class that is made without arguments",
            f"policy {policy.id}",
            "The policy itself failed; `hpcopt --debug replay ...` shows where.",
        ) from error


def _check_all_started(workload: Workload, policy: ExternalPolicy, start_s: IntArray) -> None:
    """A job that fits the machine as it is in the end could have started: the policy has forgotten it."""
    last_procs = workload.capacity_steps[-1][1] if workload.capacity_steps else workload.capacity_procs
    forgotten = np.flatnonzero((start_s == NOT_GIVEN_S) & (workload.procs <= last_procs))
    if forgotten.size == 0:
        return
    first, trace_id = int(forgotten[0]), workload.names["trace_id"][0]
    raise PolicyError(
        f"{plural(int(forgotten.size), 'job')} never started; the first is job {workload.job_id[first]} "
        f"(position {first}), released at {workload.release_s[first]} s",
        "a start of every job that fits the machine",
        f"policy {policy.id}, replay of {trace_id}",
        "A policy is asked when jobs end or are released; it asks for other instants with `wake_at_s`.",
    )


def _check_rules(
    jobs: pl.DataFrame,
    schedule: pl.DataFrame,
    policy: ExternalPolicy,
    capacity: Capacity,
) -> None:
    """Judge the finished schedule by the rules for every schedule."""
    report = check_schedule(jobs, schedule, policy, capacity)
    for row in report.filter(verdict=Verdict.FAIL.value).iter_rows(named=True):
        raise InvariantError(
            found=f"job {row['job_id']} at {row['at_s']} s: {row['found']}",
            needed=f"{row['allowed']} ({row['invariant']})",
            where=f"replay of {row['trace_id']} under {policy.id}",
            next_step="The replay is at fault, not the policy: please report it with both and the trace.",
        )
