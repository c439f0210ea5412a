"""The event loop: at every instant completions, then submissions, then one scheduling pass.

In:  arrays with one int64 entry per job, in trace order.   Out: starts and the fault that stopped the loop.
Only `job_submit`, `job_start` and `job_complete` change what is queued, running and free, and a policy is
nothing but parameters of `schedule`. The rules are told in docs/replay.md.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from hpcopt_assets.contracts.vocabulary import Backfill, Order
from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.simulate.kernel.changes import job_complete, job_start, job_submit, run
from hpcopt_assets.simulate.kernel.conservative import conserve, give_back
from hpcopt_assets.simulate.kernel.easy import easy_backfill
from hpcopt_assets.simulate.kernel.faults import (
    CLOCK_BACK,
    NO_FAULT,
    STRANDED,
    check_counts,
    check_queue,
    report,
)
from hpcopt_assets.simulate.kernel.orders import changes_with_time, renew
from hpcopt_assets.simulate.kernel.records import (
    HI,
    LO,
    NEVER_S,
    NOBODY,
    NOT_STARTED_S,
    Machine,
    Records,
    compiled,
    uncounted,
)
from hpcopt_assets.simulate.kernel.users import forget_nothing_yet

EASY, CONSERVATIVE = Backfill.EASY.code, Backfill.CONSERVATIVE.code
SUBMIT = Order.SUBMIT.code


@compiled
def schedule(machine: Machine) -> None:
    """Start the head while it fits; then, under EASY, whatever does not delay the next head."""
    queue, span, state = machine.queue, machine.queue_span, machine.state[0]
    is_old = state.is_stale or changes_with_time(state.order)
    if state.order != SUBMIT and is_old and state.free >= state.smallest:
        renew(machine)  # where nothing fits, the order does not matter
    while span[LO] < span[HI] and queue[span[LO]].procs <= state.free:
        job_start(machine, span[LO])
    if state.backfill == EASY:
        easy_backfill(machine)


@compiled
def next_instant(machine: Machine, submitted: int, step: int, steps: Records) -> int:
    """When something happens next: an end, a submission, a step of capacity, a reservation, an overrun."""
    state, jobs, ending, span = machine.state[0], machine.jobs, machine.ending, machine.ending_span
    now_s = ending[span[LO]].key if span[LO] < span[HI] else NEVER_S
    if submitted < jobs.size:
        now_s = min(now_s, jobs[submitted].release_s)
    if step < steps.shape[0] and (now_s != NEVER_S or machine.queue_span[LO] < machine.queue_span[HI]):
        now_s = min(now_s, steps[step, 0])
    if state.backfill == CONSERVATIVE:
        now_s = min(now_s, state.next_start_s)
        first = machine.expected_span[LO]
        if first < machine.expected_span[HI]:
            now_s = min(now_s, machine.expected[first].key)
    return now_s


def compile_loop(version: str) -> Any:
    """The loop. Its cache on disk is looked up by what it closes over: by `version`, that is, too."""

    @njit(cache=True, nogil=True, **uncounted)
    def replay_all(
        jobs: Records,
        states: Records,
        users: Records,
        queue: Records,
        queue_span: IntArray,
        ending: Records,
        span: IntArray,
        expected: Records,
        expected_span: IntArray,
        profile: Records,
        profile_span: IntArray,
        steps: Records,
        begin_s: int,
    ) -> int:
        """Replay all jobs: starts are left in `jobs`, a fault in the one record of `states`.

        `steps` has rows (instant, capacity). Nothing happens before `begin_s`. A job whose start is given
        runs from the beginning.
        """
        machine = Machine(
            *(jobs, states, users, queue, queue_span, ending, span, expected, expected_span),
            *(profile, profile_span),
        )
        state = states[0]
        forget_nothing_yet(machine)
        for job in range(jobs.size):
            if jobs[job].start_s != NOT_STARTED_S:
                run(machine, job, jobs[job].start_s)
        submitted = step = 0
        while state.fault == NO_FAULT:
            while submitted < jobs.size and jobs[submitted].start_s != NOT_STARTED_S:
                submitted += 1
            now_s = next_instant(machine, submitted, step, steps)
            if now_s == NEVER_S:
                break
            now_s = max(now_s, begin_s)
            if now_s < state.now_s:
                report(state, CLOCK_BACK, NOBODY, now_s, state.now_s)
            state.now_s = now_s
            while span[LO] < span[HI] and ending[span[LO]].key <= now_s:
                done = job_complete(machine)
                if state.backfill == CONSERVATIVE:
                    give_back(machine, done)
            while step < steps.shape[0] and steps[step, 0] <= now_s:
                state.free += steps[step, 1] - state.capacity
                state.capacity = steps[step, 1]
                state.is_new = 1
                state.has_outlived = 1
                step += 1
            newcomers = 0
            while submitted < jobs.size and jobs[submitted].release_s <= now_s:
                if jobs[submitted].start_s == NOT_STARTED_S:
                    job_submit(machine, submitted)
                    newcomers += 1
                submitted += 1
            if state.backfill == CONSERVATIVE:
                conserve(machine, newcomers)
            else:
                schedule(machine)
            check_counts(state)
            if state.is_strict:
                check_queue(machine)
            # A job of zero runtime ends at this same instant: the loop comes back to it for another pass.
        for job in range(jobs.size):
            if jobs[job].start_s == NOT_STARTED_S and steps.shape[0] == 0:
                report(state, STRANDED, job, 0, 1)
        return len(version)

    return replay_all
