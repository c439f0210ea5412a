"""Promises: was any head of the queue delayed by a job that overtook it? Judged on the finished schedule.

In:  arrays of a schedule and what was believed of its jobs.   Out: the instants judged, and which are broken.
Not here: the kernel's own bookkeeping of shadow times, which this check must not trust.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count

import numpy as np

from hpcopt_assets.measures.requests import EXTENSIONS_S, HOURS_100_S
from hpcopt_assets.measures.schedule import BoolArray, IntArray


@dataclass(frozen=True)
class Placed:
    """Jobs of a finished schedule in trace order.

    `hold_s` is what a running job was believed to run for; the queue was ordered by (order_key, position).
    """

    release_s: IntArray
    start_s: IntArray
    end_s: IntArray
    procs: IntArray
    hold_s: IntArray
    limit_s: IntArray
    order_key: IntArray


@dataclass(frozen=True)
class Promises:
    """Instants at which a head waited, ascending: which job it was and what was then expected.

    Of each head, the time from which it stayed head until it started.

    `freed_procs`: processors expected to be free before the head's actual start. `is_excused`: a running
    job outlived its expected end in between, so that nothing was promised.
    """

    at_s: IntArray
    head: IntArray
    freed_procs: IntArray
    is_excused: BoolArray


def judge_promises(placed: Placed, capacity_procs: int) -> Promises:
    """The promise made to each waiting head: when it became head, and just before every later start.

    The shadow time can move later only by a job that starts meanwhile, so it is judged from the jobs running
    before such starts and those that start ahead of the head. Expected ends are those of docs/replay.md.
    Instants at which a job of zero runtime started have several passes and are left out.
    """
    rank = np.empty_like(placed.order_key)
    rank[np.argsort(placed.order_key, kind="stable")] = np.arange(rank.size)
    at_s, head = _instants(placed, rank)
    if at_s.size == 0:
        return Promises(at_s, head, at_s, at_s > at_s)
    start_s = placed.start_s[head]  # ascending, as is `at_s`: the head that waits first starts first
    change = np.zeros(at_s.size + 1, dtype=np.int64)
    outlived = [np.empty(0, dtype=np.int64)]
    for job, since_s, expected_s in _beliefs(placed):
        first = np.searchsorted(at_s, since_s)
        # Of the jobs that start at the very instant, only those ahead of the head hold processors.
        there = np.minimum(first, at_s.size - 1)
        is_tie = (first < at_s.size) & (at_s[there] == placed.start_s[job])
        first += is_tie & (rank[head[there]] < rank[job])
        last = np.minimum(
            np.searchsorted(at_s, np.minimum(expected_s, placed.end_s[job])),
            np.searchsorted(start_s, expected_s, side="right"),
        )
        holds = last > first
        np.add.at(change, first[holds], placed.procs[job[holds]])
        np.add.at(change, last[holds], -placed.procs[job[holds]])
        outlived.append(expected_s[placed.end_s[job] > expected_s])
    held = np.cumsum(change)[:-1]
    overruns_s = np.sort(np.concatenate(outlived))
    is_excused = np.searchsorted(overruns_s, start_s) > np.searchsorted(overruns_s, at_s, side="right")
    return Promises(at_s, head, capacity_procs - held, is_excused)


def _instants(placed: Placed, rank: IntArray) -> tuple[IntArray, IntArray]:
    """Instants to judge, strictly ascending, and the job that is head and waits at each."""
    since_s, head = _heads(placed, rank)
    if head.size == 0:
        return head, head
    # Spans [since_s, start_s) of waiting heads are disjoint and ascend.
    at_s = np.unique(np.concatenate([since_s, placed.start_s]))
    at_s = at_s[~np.isin(at_s, placed.start_s[placed.end_s == placed.start_s])]
    span = np.searchsorted(since_s, at_s, side="right") - 1
    waits = (span >= 0) & (at_s < placed.start_s[head[np.maximum(span, 0)]])
    return at_s[waits], head[span[waits]]


def _heads(placed: Placed, rank: IntArray) -> tuple[IntArray, IntArray]:
    """(since, job) of every job that waited at the head of the queue and stayed there until it started.

    Who starts when released is never seen in the queue.
    """
    waits = np.flatnonzero(placed.start_s > placed.release_s)
    order = np.argsort(rank[waits])
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    release_s, start_s = placed.release_s[waits], placed.start_s[waits]
    # Places in the queue, least first; a job that has started leaves when it comes to the top.
    queue: list[int] = []
    spans: list[tuple[int, int]] = []
    coming, starts = list(zip(release_s.tolist(), place.tolist(), strict=True)), start_s[order].tolist()
    head, since_s, released = None, 0, 0
    for at_s in np.unique(np.concatenate([release_s, start_s])).tolist():
        while released < len(coming) and coming[released][0] <= at_s:
            heapq.heappush(queue, coming[released][1])
            released += 1
        while queue and starts[queue[0]] <= at_s:
            heapq.heappop(queue)
        first = queue[0] if queue else None
        if first != head:
            if head is not None and starts[head] == at_s:
                spans.append((since_s, head))
            head, since_s = first, at_s
    since, heads = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return since, waits[order[heads]]


def _beliefs(placed: Placed) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """(jobs, since, expected end): what is believed from `since` to the expected end or the true one."""
    job = np.flatnonzero(placed.end_s > placed.start_s)
    since_s, expected_s = placed.start_s[job], placed.start_s[job] + placed.hold_s[job]
    for extension_s in chain(EXTENSIONS_S, count(HOURS_100_S, HOURS_100_S)):
        yield job, since_s, expected_s
        lives_on = placed.end_s[job] > expected_s
        if not lives_on.any():
            return
        job, since_s = job[lives_on], expected_s[lives_on]
        expected_s = placed.start_s[job] + placed.limit_s[job] + extension_s
