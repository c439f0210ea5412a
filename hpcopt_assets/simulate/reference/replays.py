"""Replays: a workload under a policy; jobs with given priorities under EASY.

In:  a `Workload` and a Policy, or plain sequences.   Out: starts, or `ReplayedJob`s.
Not here: rules; this puts them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hpcopt_assets.contracts.adapter import ExternalPolicy
from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.vocabulary import Backfill, BackfillOrder
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
from hpcopt_assets.simulate.reference.beliefs import Beliefs
from hpcopt_assets.simulate.reference.conservative import Conservative
from hpcopt_assets.simulate.reference.machine import Machine, Plan, ReplayedJob, World
from hpcopt_assets.simulate.reference.passes import PassByPass
from hpcopt_assets.simulate.reference.views import Queued
from hpcopt_assets.simulate.scenario import NOT_GIVEN_S
from hpcopt_assets.simulate.workload import Workload


def replay_starts(workload: Workload, policy: Policy) -> list[int]:
    """Start (s) of every replayed job of a workload under a policy, in trace order.

    `NOT_GIVEN_S` for a job that never starts: capacity steps may leave the machine too small for it.
    """
    return [job.start_s for job in replay_jobs(workload, policy)]


def replay_jobs(workload: Workload, policy: Policy) -> list[ReplayedJob]:
    """What became of every replayed job of a workload under a policy, in trace order."""
    plan = plan_of(policy.backfill, policy.backfill_order)
    return Machine(world_of(workload, policy), Beliefs(workload, policy), plan).run()


def plan_of(backfill: Backfill, backfill_order: BackfillOrder) -> Plan:
    """A new scheduler of that kind."""
    return Conservative() if backfill is Backfill.CONSERVATIVE else PassByPass(backfill, backfill_order)


def world_of(workload: Workload, policy: Policy | ExternalPolicy) -> World:
    """What the machine knows of a workload and no policy does."""
    return World(
        workload.release_s.tolist(),
        workload.replayed_runtime_s(policy.overrun).tolist(),
        workload.given_start_s.tolist(),
        workload.capacity_procs,
        workload.capacity_steps,
        workload.begin_s,
    )


class Unchanging(NamedTuple):
    """Beliefs that stay what they are, whatever completes."""

    jobs: Sequence[Queued]

    def learn(self, position: int, end_s: int, runtime_s: int) -> None:
        """Nothing is learnt."""

    def view(self, position: int, now_s: int) -> Queued:  # noqa: ARG002 -- the same at all times
        """A job as it always looks."""
        return self.jobs[position]


def run(
    jobs: Sequence[Queued],
    release_s: Sequence[int],
    runtime_s: Sequence[int],
    capacity_procs: int,
    backfill: Backfill,
    backfill_order: BackfillOrder,
) -> list[int]:
    """Start (s) of each of `jobs`, which are in ascending order of release and all fit the machine."""
    world = World(release_s, runtime_s, [NOT_GIVEN_S] * len(jobs), capacity_procs)
    machine = Machine(world, Unchanging(jobs), plan_of(backfill, backfill_order))
    return [job.start_s for job in machine.run()]


def priority_starts(
    *,
    release_s: Sequence[int],
    runtime_s: Sequence[int],
    procs: Sequence[int],
    believed_s: Sequence[int],
    priority: Sequence[int],
    capacity_procs: int,
) -> list[int]:
    """Start (s) of each job under EASY with a queue ordered by (priority, position); see `PriorityReplayer`.

    A job may outlive `believed_s`; it then runs on. A job wider than the machine raises `InputError`.
    """
    widest = max(procs, default=0)
    if widest > capacity_procs:
        raise InputError(
            found=f"a job of {widest} processors",
            needed=f"at most {capacity_procs}, the machine's",
            where="replay with priorities",
            next_step="Leave the job out or enlarge the machine.",
        )
    jobs = []
    for position, (rank, width, believed) in enumerate(zip(priority, procs, believed_s, strict=True)):
        limit_s = max(believed, SHORTEST_ESTIMATE_S)
        jobs.append(Queued(rank, position, width, limit_s, limit_s, limit_s))
    return run(jobs, release_s, runtime_s, capacity_procs, Backfill.EASY, BackfillOrder.QUEUE)
