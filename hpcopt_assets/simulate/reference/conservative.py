"""Conservative backfilling: every queued job holds a reservation, and nobody may delay it.

In:  an `Instant`, one after the other.   Out: the jobs whose reservation has come.
Not here: shortcuts. Every reservation that may move is lifted out and placed again.
Source: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001; what an overrun does to reservations is our own rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from hpcopt_assets.simulate.reference.views import Instant, Queued, expected_end_s


class Window(NamedTuple):
    """Processors taken in [begin, end)."""

    begin_s: int
    end_s: int
    procs: int


def earliest_s(now_s: int, duration_s: int, procs: int, capacity_procs: int, taken: Iterable[Window]) -> int:
    """First instant from now on from which `procs` are free for all of `duration_s`.

    `procs` is at most the capacity. Fewer than none may be free for a while, on a machine that has shrunk.
    """
    change = defaultdict(int, {now_s: capacity_procs})
    for window in taken:
        change[window.begin_s] -= window.procs
        change[window.end_s] += window.procs
    begin_s, free = now_s, 0
    for at_s, until_s in pairwise(sorted(change)):
        free += change[at_s]
        if free < procs:
            begin_s = until_s
        elif until_s - begin_s >= duration_s:
            break
    return begin_s  # beyond the last change nothing is taken


class Conservative:
    """A plan with a memory: the reservations, and until when each running job is expected to run.

    `promised_s` keeps the first reservation that each job was given, which only an overrun or a change of
    the machine may break.
    """

    def __init__(self) -> None:
        self.promised_s: dict[int, int] = {}
        self._reserved: dict[int, Window] = {}
        self._expected_s: dict[int, int] = {}

    def wakes_s(self) -> list[int]:
        """A pass at every reservation's start and at every expected end."""
        return [*(window.begin_s for window in self._reserved.values()), *self._expected_s.values()]

    def starts(self, instant: Instant) -> list[Queued]:
        """Settle what has changed, give this instant's submissions their reservations, start what is due."""
        is_early = self._settle_completions(instant)
        has_grown = self._grow_overdue(instant)
        queue = sorted(instant.queue)
        newcomers = [job for job in queue if job.position in instant.submitted]
        if has_grown or instant.is_resized:
            self._reserved.clear()
            self._place(queue, instant)
        else:
            if is_early:
                self._place([job for job in queue if job not in newcomers], instant)
            self._place(newcomers, instant)
        return self._start_due(queue, instant.now_s)

    def _settle_completions(self, instant: Instant) -> bool:
        """Forget the jobs that ended; whether one of them ended before it was expected to."""
        expected_s = [self._expected_s.pop(position, instant.now_s) for position in instant.ended]
        return any(instant.now_s < end_s for end_s in expected_s)

    def _grow_overdue(self, instant: Instant) -> bool:
        """Extend the expected end of each running job that has reached it; whether there was one.

        A job that was running when the replay began is met here for the first time.
        """
        has_grown = False
        for running in instant.running:
            position = running.job.position
            end_s = self._expected_s.setdefault(position, running.start_s + running.job.hold_s)
            if end_s <= instant.now_s:
                self._expected_s[position] = expected_end_s(running, instant.now_s)
                has_grown = True
        return has_grown

    def _place(self, jobs: Iterable[Queued], instant: Instant) -> None:
        """Place jobs one by one, each as early as it fits beside what runs and all other reservations.

        A job wider than the machine, as that is now, gets none: it waits and is in nobody's way.
        """
        now_s, capacity_procs = instant.now_s, instant.capacity_procs
        held = [
            Window(now_s, self._expected_s[running.job.position], running.job.procs)
            for running in instant.running
        ]
        for job in jobs:
            self._reserved.pop(job.position, None)
            if job.procs > capacity_procs:
                continue
            taken = [*held, *self._reserved.values()]
            begin_s = earliest_s(now_s, job.estimate_s, job.procs, capacity_procs, taken)
            self._reserved[job.position] = Window(begin_s, begin_s + job.estimate_s, job.procs)
            self.promised_s.setdefault(job.position, begin_s)

    def _start_due(self, queue: Iterable[Queued], now_s: int) -> list[Queued]:
        """The jobs reserved for now, which from now on are running."""
        due = [
            job
            for job in queue
            if job.position in self._reserved and self._reserved[job.position].begin_s == now_s
        ]
        for job in due:
            self._expected_s[job.position] = now_s + job.hold_s
            del self._reserved[job.position]
        return due
