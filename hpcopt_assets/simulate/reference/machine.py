"""Machine: what happens at which instant, and in which order. It alone knows how long jobs run.

In:  a `World`, what is known of its jobs, a plan.   Out: what became of every job.
Not here: what a job is believed to run for (beliefs.py), which job starts (passes.py, conservative.py).
"""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple, Protocol

from hpcopt_assets.simulate.reference.views import Instant, Queued, Running
from hpcopt_assets.simulate.scenario import NOT_GIVEN_S


class World(NamedTuple):
    """What happens whatever the policy. One entry per job, in ascending order of release.

    `capacity_steps` are (instant, processors); nothing happens before `begin_s`. A job with a given start
    runs when the replay begins.
    """

    release_s: Sequence[int]
    runtime_s: Sequence[int]
    given_start_s: Sequence[int]
    capacity_procs: int
    capacity_steps: Sequence[tuple[int, int]] = ()
    begin_s: int = NOT_GIVEN_S


class Known(Protocol):
    """What is known of jobs; see `Beliefs`."""

    def learn(self, position: int, end_s: int, runtime_s: int) -> None: ...

    def view(self, position: int, now_s: int) -> Queued: ...


class Plan(Protocol):
    """A scheduler; see `PassByPass` and `Conservative`."""

    def wakes_s(self) -> Sequence[int]: ...

    def starts(self, instant: Instant) -> Sequence[Queued]: ...


class ReplayedJob(NamedTuple):
    """What became of a job: its start, and what it was then estimated to run for.

    A job that never starts, for the machine stays too small, has the start `NOT_GIVEN_S` and the estimate
    of a user without a history.
    """

    start_s: int
    estimate_s: int
    is_from_history: bool


Events = list[tuple[int, int]]
# (instant, number) in ascending order; the number is a job's position, or the machine's processors.


def take_due(events: Events, now_s: int) -> list[int]:
    """Remove the events up to now; their numbers in order."""
    count = bisect(events, now_s, key=itemgetter(0))
    due = [number for _, number in events[:count]]
    del events[:count]
    return due


class Machine:
    """The state of a replay: the queue, what runs, and what is to come."""

    def __init__(self, world: World, known: Known, plan: Plan) -> None:
        self._world, self._known, self._plan = world, known, plan
        self._capacity_procs = world.capacity_procs
        self._queue: list[int] = []
        self._running: dict[int, Running] = {}
        self._ends: Events = []
        self._steps: Events = [(max(at_s, world.begin_s), procs) for at_s, procs in world.capacity_steps]
        self._submissions: Events = []
        self._jobs: list[ReplayedJob] = []
        for position, start_s in enumerate(world.given_start_s):
            job = known.view(position, max(world.release_s[position], world.begin_s))
            self._jobs.append(ReplayedJob(NOT_GIVEN_S, job.estimate_s, is_from_history=False))
            if start_s == NOT_GIVEN_S:
                self._submissions.append((max(world.release_s[position], world.begin_s), position))
            else:
                self._start(job, start_s)

    def run(self) -> list[ReplayedJob]:
        """Play until nothing is to come. A runtime of 0 ends at its start: its instant comes once more."""
        while upcoming_s := self._upcoming_s():
            self._pass(min(upcoming_s))
        return self._jobs

    def _upcoming_s(self) -> list[int]:
        events = (*self._ends[:1], *self._steps[:1], *self._submissions[:1])
        return [*(at_s for at_s, _ in events), *self._plan.wakes_s()]

    def _pass(self, now_s: int) -> None:
        """One instant: completions, changes of the machine, submissions, and one scheduling pass."""
        ended = take_due(self._ends, now_s)
        for position in ended:
            self._complete(position)
        sizes = take_due(self._steps, now_s)
        self._capacity_procs = [self._capacity_procs, *sizes][-1]
        submitted = take_due(self._submissions, now_s)
        self._queue += submitted
        running = list(self._running.values())
        instant = Instant(
            now_s,
            self._capacity_procs,
            self._capacity_procs - sum(each.job.procs for each in running),
            sorted(self._known.view(position, now_s) for position in self._queue),
            running,
            ended,
            submitted,
            bool(sizes),
        )
        for job in self._plan.starts(instant):
            self._queue.remove(job.position)
            self._start(job, now_s)

    def _start(self, job: Queued, start_s: int) -> None:
        self._running[job.position] = Running(job, start_s)
        self._jobs[job.position] = ReplayedJob(start_s, job.estimate_s, job.is_from_history)
        end_s = start_s + self._world.runtime_s[job.position]
        insort(self._ends, (max(end_s, self._world.begin_s), job.position))

    def _complete(self, position: int) -> None:
        start_s, runtime_s = self._running.pop(position).start_s, self._world.runtime_s[position]
        self._known.learn(position, start_s + runtime_s, runtime_s)
