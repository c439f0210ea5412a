"""The three changes of state: a job is submitted, starts, completes. Nothing else changes what runs."""

from __future__ import annotations

from hpcopt_assets.simulate.kernel.faults import (
    EARLY_START,
    OVERSUBSCRIBED,
    SECOND_START,
    check_promise,
    report,
)
from hpcopt_assets.simulate.kernel.lines import line_drop, line_find, line_place
from hpcopt_assets.simulate.kernel.orders import key_now
from hpcopt_assets.simulate.kernel.records import HI, LO, NEVER_S, NOT_STARTED_S, Machine, compiled
from hpcopt_assets.simulate.kernel.users import believed_s, learn

OVERRUN_STEPS_S = (60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)
# 1, 5, 15, 30 min, 1, 2, 5, 10, 20, 50, 100 h beyond the requested end (Tsafrir, Etsion and Feitelson,
# TPDS 18(6), 2007); from there on in steps of the last.


@compiled
def job_submit(machine: Machine, job: int) -> None:
    """Queue a job."""
    state, this = machine.state[0], machine.jobs[job]
    estimate_s = believed_s(machine, job) if state.estimates_history else this.estimate_s
    key = key_now(machine, job, estimate_s)
    line_place(machine.queue, machine.queue_span, key, job, this.procs, estimate_s)
    state.smallest = min(state.smallest, this.procs)


@compiled
def job_start(machine: Machine, at: int) -> None:
    """Start the job at a place of the queue."""
    state, job = machine.state[0], machine.queue[at].job
    this = machine.jobs[job]
    if state.now_s < this.release_s:
        report(state, EARLY_START, job, state.now_s, this.release_s)
    if this.start_s != NOT_STARTED_S:
        report(state, SECOND_START, job, state.now_s, this.start_s)
    if state.has_promises:
        check_promise(machine, job, state.now_s)
    line_drop(machine.queue, machine.queue_span, at)
    if state.estimates_history:
        this.estimate_s = believed_s(machine, job)
        this.has_history = machine.users[this.user].mean_s != NEVER_S
    if state.holds_history:
        this.hold_s = believed_s(machine, job)
    run(machine, job, state.now_s)
    if state.free < 0:
        report(state, OVERSUBSCRIBED, job, state.running, state.capacity)


@compiled
def run(machine: Machine, job: int, start_s: int) -> None:
    """Let a job hold its processors from an instant on."""
    state, this = machine.state[0], machine.jobs[job]
    state.free -= this.procs
    state.running += this.procs
    this.start_s = start_s
    this.expected_end_s = start_s + this.hold_s
    line_place(machine.ending, machine.ending_span, start_s + this.runtime_s, job, this.procs, 0)
    line_place(machine.expected, machine.expected_span, this.expected_end_s, job, this.procs, 0)


@compiled
def job_complete(machine: Machine) -> int:
    """End the running job that ends first, and say which it was."""
    state, first = machine.state[0], machine.ending_span[LO]
    job: int = machine.ending[first].job
    this = machine.jobs[job]
    if this.expected_end_s < state.now_s:
        state.has_outlived = 1
    line_drop(machine.ending, machine.ending_span, first)
    at = line_find(machine.expected, machine.expected_span, this.expected_end_s, job)
    line_drop(machine.expected, machine.expected_span, at)
    state.free += this.procs
    state.running -= this.procs
    learn(machine, job)
    return job


@compiled
def extended_end(start_s: int, limit_s: int, now_s: int) -> int:
    """Expected end, strictly beyond now, of a job that has outlived the one it had."""
    beyond = now_s - start_s - limit_s
    if beyond < 0:
        return start_s + limit_s
    for step in OVERRUN_STEPS_S:
        if step > beyond:
            return start_s + limit_s + step
    last = OVERRUN_STEPS_S[-1]
    return start_s + limit_s + last * (beyond // last + 1)


@compiled
def extend_outlived(machine: Machine) -> bool:
    """Move every expected end that is not beyond now, and say whether there was one.

    A function of the job's age, so it may be done late.
    """
    line, span, state = machine.expected, machine.expected_span, machine.state[0]
    has_moved = False
    while span[LO] < span[HI] and line[span[LO]].key <= state.now_s:
        job = line[span[LO]].job
        this = machine.jobs[job]
        line_drop(line, span, span[LO])
        this.expected_end_s = extended_end(this.start_s, this.limit_s, state.now_s)
        line_place(line, span, this.expected_end_s, job, this.procs, 0)
        state.has_outlived = 1
        has_moved = True
    return has_moved
