"""Where two schedules part, found by looking at every job at every instant: what parting.py must find.

In:  jobs as plain tuples.   Out: plain values; nothing here is shared with hpcopt_assets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

NEVER = 2**60


class Placed(NamedTuple):
    """A job under one schedule; `start_s` is `NEVER` where it does not run there."""

    release_s: int
    procs: int
    limit_s: int
    start_s: int
    runtime_s: int

    @property
    def end_s(self) -> int:
        return self.start_s + self.runtime_s


Schedule = Mapping[str, Placed]


def started_at(schedule: Schedule, at_s: int) -> set[str]:
    return {name for name, job in schedule.items() if job.start_s == at_s}


def parted_at(first: Schedule, second: Schedule) -> int | None:
    """The first instant at which other jobs start."""
    instants = sorted({job.start_s for each in (first, second) for job in each.values()} - {NEVER})
    return next((at for at in instants if started_at(first, at) != started_at(second, at)), None)


def queued(schedule: Schedule, at_s: int) -> set[str]:
    return {name for name, job in schedule.items() if job.release_s <= at_s <= job.start_s}


def running(schedule: Schedule, at_s: int) -> set[str]:
    return {name for name, job in schedule.items() if job.start_s < at_s < job.end_s}


def free_procs(schedule: Schedule, at_s: int, capacity_procs: int) -> int:
    """Before the pass."""
    return capacity_procs - sum(schedule[name].procs for name in running(schedule, at_s))


def left_procs(schedule: Schedule, at_s: int, capacity_procs: int) -> int:
    """After the passes."""
    return capacity_procs - sum(job.procs for job in schedule.values() if job.start_s <= at_s < job.end_s)


def happens(schedule: Schedule, at_s: int) -> set[tuple[str, str]]:
    """(event, job) at an instant."""
    kinds = {"ended": "end_s", "released": "release_s", "started": "start_s"}
    return {
        (event, name)
        for name, job in schedule.items()
        for event, instant in kinds.items()
        if getattr(job, instant) == at_s
    }
