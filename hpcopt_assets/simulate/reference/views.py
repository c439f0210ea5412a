"""Views: what a policy can see of a job and of an instant, and when it believes a running job to end.

In:  what the log asked for, and what has happened.   Out: `Queued`, `Running`, `Instant`.
Not here: a runtime. Only the machine knows how long jobs run (machine.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

MINUTE_S, HOUR_S = 60, 3600
EXTENSIONS_S = (
    *(minutes * MINUTE_S for minutes in (1, 5, 15, 30)),
    *(hours * HOUR_S for hours in (1, 2, 5, 10, 20, 50)),
)
# How far beyond the requested end an overdue job is believed to end, one after the other; then every 100 h.
LAST_EXTENSION_S = 100 * HOUR_S


class Queued(NamedTuple):
    """A released job as a scheduler knows it at a pass. The queue is ordered by (order_key, position)."""

    order_key: float
    position: int
    procs: int
    estimate_s: int
    hold_s: int
    limit_s: int
    is_from_history: bool = False
    # Whether `estimate_s` is drawn from the user's completed jobs.


class Running(NamedTuple):
    """A started job as a scheduler knew it when it started: what it believes of it stays."""

    job: Queued
    start_s: int


class Instant(NamedTuple):
    """What a scheduler sees at a pass: the queue in its order, and what has just happened.

    `ended` and `submitted` are the positions of the jobs that did so at this instant; the latter are in the
    queue. `free` is below zero where the machine has shrunk below what runs.
    """

    now_s: int
    capacity_procs: int
    free: int
    queue: Sequence[Queued]
    running: Sequence[Running]
    ended: Sequence[int]
    submitted: Sequence[int]
    is_resized: bool


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
