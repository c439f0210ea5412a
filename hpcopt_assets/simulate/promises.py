"""Promises: was any head of the queue delayed by a job that overtook it? Judged on the finished schedule.

In:  arrays of a schedule and what was believed of its jobs.   Out: the instants judged, and which are broken.
Not here: the kernel's own bookkeeping of shadow times, which this check must not trust.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count

import numpy as np

from hpcopt_assets.measures.schedule import BoolArray, IntArray

BEFORE_ALL_S = np.iinfo(np.int64).min
HOURS_100_S = 360_000
EXTENSIONS_S = (0, 60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000)
# Beyond the requested end, of a job that outlives what was believed; from there on every 100 h
# (Tsafrir, Etsion and Feitelson, TPDS 18(6), 2007).


@dataclass(frozen=True)
class Placed:
    """Jobs of a finished schedule in trace order; `hold_s` is what a running job was believed to run for."""

    release_s: IntArray
    start_s: IntArray
    end_s: IntArray
    procs: IntArray
    hold_s: IntArray
    limit_s: IntArray


@dataclass(frozen=True)
class Promises:
    """Instants at which a head waited, ascending: which job it was and what was then expected.

    `freed_procs`: processors expected to be free before the head's actual start. `is_excused`: a running
    job outlived its expected end in between, so that nothing was promised.
    """

    at_s: IntArray
    head: IntArray
    freed_procs: IntArray
    is_excused: BoolArray


def judge_promises(placed: Placed, capacity_procs: int) -> Promises:
    """The promise made to each waiting head: when it became head, and before every start behind it.

    Exact for EASY in submit order with hold <= estimate: the shadow time can move later only by a job that
    starts behind the head, so each is judged just before such starts, from the jobs then running. Expected
    ends are those of docs/replay.md. Instants at which a job of zero runtime started have several passes
    and are left out.
    """
    at_s, head = _instants(placed)
    if at_s.size == 0:
        return Promises(at_s, head, at_s, at_s > at_s)
    start_s = placed.start_s[head]  # ascending, as is `at_s`: the head that waits first starts first
    change = np.zeros(at_s.size + 1, dtype=np.int64)
    outlived = [np.empty(0, dtype=np.int64)]
    for job, since_s, expected_s in _beliefs(placed):
        first = np.searchsorted(at_s, since_s)
        # Of the jobs that start at the very instant, only those ahead of the head hold processors.
        is_tie = (first < at_s.size) & (at_s[np.minimum(first, at_s.size - 1)] == placed.start_s[job])
        first += is_tie & (head[np.minimum(first, at_s.size - 1)] < job)
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


def _instants(placed: Placed) -> tuple[IntArray, IntArray]:
    """Instants to judge, strictly ascending, and the job that is head and waits at each."""
    start_s = placed.start_s
    ahead_s = np.concatenate([[BEFORE_ALL_S], np.maximum.accumulate(start_s)])[: start_s.size]
    head_since_s = np.maximum(placed.release_s, ahead_s)
    head = np.flatnonzero(start_s > head_since_s)
    # Spans [head_since_s, start_s) of waiting heads are disjoint and ascend with the position.
    at_s = np.unique(np.concatenate([head_since_s[head], start_s]))
    at_s = at_s[~np.isin(at_s, start_s[placed.end_s == start_s])]
    if head.size == 0:
        return head, head
    span = np.searchsorted(head_since_s[head], at_s, side="right") - 1
    waits = (span >= 0) & (at_s < start_s[head[np.maximum(span, 0)]])
    return at_s[waits], head[span[waits]]


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
