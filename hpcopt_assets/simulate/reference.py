"""Reference: the replay a second time, slow and in plain Python, to be read as the specification.

In:  a `Workload` and a Policy, or plain sequences.   Out: the start of every job.
Not here: anything of the kernel. They share which jobs are replayed and what their requests are
(workload.py), nothing of how they are scheduled; tests hold one against the other.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import count, groupby
from operator import itemgetter
from typing import NamedTuple

from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.vocabulary import Backfill, BackfillOrder, Order
from hpcopt_assets.simulate.workload import SHORTEST_ESTIMATE_S, Workload

MINUTE_S, HOUR_S = 60, 3600
EXTENSIONS_S = (
    *(minutes * MINUTE_S for minutes in (1, 5, 15, 30)),
    *(hours * HOUR_S for hours in (1, 2, 5, 10, 20, 50)),
)
# How far beyond the requested end an overdue job is believed to end, one after the other; then every 100 h.
LAST_EXTENSION_S = 100 * HOUR_S


# --- what a policy can see: no runtime -----------------------------------------------------------------


class Queued(NamedTuple):
    """A released job as a scheduler knows it. The queue is ordered by (order_key, position)."""

    order_key: int
    position: int
    procs: int
    estimate_s: int
    hold_s: int
    limit_s: int


class Running(NamedTuple):
    """A started job as a scheduler knows it."""

    job: Queued
    start_s: int


# --- what a policy decides -----------------------------------------------------------------------------


def expected_end_s(running: Running, now_s: int) -> int:
    """When a running job is believed to end: the first of these that is strictly beyond now."""
    job, start_s = running
    requested_end_s = start_s + job.limit_s
    believed = [start_s + job.hold_s, requested_end_s, *(requested_end_s + step for step in EXTENSIONS_S)]
    for end_s in believed:
        if end_s > now_s:
            return end_s
    return next(
        end_s for end_s in count(requested_end_s + LAST_EXTENSION_S, LAST_EXTENSION_S) if end_s > now_s
    )


def shadow(head: Queued, free: int, running: Sequence[Running], now_s: int) -> tuple[int, int]:
    """Earliest instant with room for the head by expected ends, and the processors then left over."""
    releases = sorted((expected_end_s(each, now_s), each.job.procs) for each in running)
    for instant_s, released in groupby(releases, key=itemgetter(0)):
        free += sum(procs for _, procs in released)
        if free >= head.procs:
            return instant_s, free - head.procs
    raise AssertionError(f"job at position {head.position} is wider than the machine")


def decide(
    now_s: int,
    free: int,
    queue: Sequence[Queued],
    running: Sequence[Running],
    backfill: Backfill,
    backfill_order: BackfillOrder,
) -> list[Queued]:
    """One scheduling pass: the queued jobs to start now, in the order in which they start."""
    waiting, starting = sorted(queue), []
    while waiting and waiting[0].procs <= free:
        head = waiting.pop(0)
        starting.append(head)
        free -= head.procs
    if not waiting or backfill is Backfill.NONE:
        return starting

    head, *tail = waiting
    shadow_s, extra = shadow(head, free, [*running, *(Running(job, now_s) for job in starting)], now_s)
    if backfill_order is BackfillOrder.SHORTEST:
        tail.sort(key=lambda job: job.estimate_s)  # stable: ties keep the queue's order
    for job in tail:
        if job.procs > free:
            continue
        if now_s + job.estimate_s > shadow_s:
            if job.procs > extra:
                continue
            extra -= job.procs
        starting.append(job)
        free -= job.procs
    return starting


# --- the machine, which alone knows how long jobs run --------------------------------------------------


def run(
    jobs: Sequence[Queued],
    release_s: Sequence[int],
    runtime_s: Sequence[int],
    capacity_procs: int,
    backfill: Backfill,
    backfill_order: BackfillOrder,
) -> list[int]:
    """Start (s) of each of `jobs`, which are in ascending order of release and all fit the machine."""
    start_s = [0] * len(jobs)
    queue: list[Queued] = []
    running: dict[int, Running] = {}
    ends: list[tuple[int, int]] = []
    free, submitted = capacity_procs, 0
    while ends or submitted < len(jobs):
        now_s = min([end_s for end_s, _ in ends[:1]] + list(release_s[submitted : submitted + 1]))
        while ends and ends[0][0] == now_s:
            _, position = heapq.heappop(ends)
            free += running.pop(position).job.procs
        while submitted < len(jobs) and release_s[submitted] == now_s:
            queue.append(jobs[submitted])
            submitted += 1
        for job in decide(now_s, free, queue, list(running.values()), backfill, backfill_order):
            queue.remove(job)
            running[job.position] = Running(job, now_s)
            start_s[job.position] = now_s
            free -= job.procs
            # A runtime of 0 ends at this same instant, and brings the loop back to it for another pass.
            heapq.heappush(ends, (now_s + runtime_s[job.position], job.position))
    return start_s


def replay_starts(workload: Workload, policy: Policy) -> list[int]:
    """Start (s) of every replayed job of a workload under a policy, in trace order."""
    estimate_s = workload.believed_s(policy.estimate).tolist()
    hold_s = workload.believed_s(policy.hold).tolist()
    release_s, limit_s = workload.release_s.tolist(), workload.limit_s.tolist()
    order_key = {
        Order.SUBMIT: release_s,
        Order.SHORTEST: estimate_s,
        Order.LONGEST: [-estimate for estimate in estimate_s],
    }[policy.order]
    jobs = [
        Queued(*job)
        for job in zip(
            order_key, range(len(workload)), workload.procs.tolist(), estimate_s, hold_s, limit_s, strict=True
        )
    ]
    runtime_s = workload.replayed_runtime_s(policy.overrun).tolist()
    return run(jobs, release_s, runtime_s, workload.capacity_procs, policy.backfill, policy.backfill_order)


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
