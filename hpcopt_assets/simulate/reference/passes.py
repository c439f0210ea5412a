"""Passes: what starts without backfilling and under EASY, decided afresh at every pass.

In:  an `Instant`.   Out: the jobs that start, in the order in which they start.
Not here: reservations that last from one pass to the next (conservative.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from hpcopt_assets.contracts.vocabulary import Backfill, BackfillOrder
from hpcopt_assets.simulate.reference.views import Instant, Queued, Running, expected_end_s

NEVER_S = math.inf
# Shadow time of a head wider than the machine, as that is now: whatever fits ends before it.


class PassByPass(NamedTuple):
    """A plan without a memory: `none` and `easy`."""

    backfill: Backfill
    backfill_order: BackfillOrder

    def wakes_s(self) -> list[int]:
        """No pass beside those at completions, submissions and changes of the machine."""
        return []

    def starts(self, instant: Instant) -> list[Queued]:
        """What `decide` says of this instant."""
        return decide(
            instant.now_s,
            instant.free,
            instant.queue,
            instant.running,
            self.backfill,
            self.backfill_order,
        )


def shadow(head: Queued, free: int, running: Sequence[Running], now_s: int) -> tuple[float, int]:
    """Earliest instant with room for the head by expected ends, and the processors then left over."""
    releases = sorted((expected_end_s(each, now_s), each.job.procs) for each in running)
    for instant_s, released in groupby(releases, key=itemgetter(0)):
        free += sum(procs for _, procs in released)
        if free >= head.procs:
            return instant_s, free - head.procs
    return NEVER_S, 0


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
