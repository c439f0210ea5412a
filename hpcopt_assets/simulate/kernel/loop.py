"""The event loop: at every instant completions, then submissions, then one scheduling pass.

In:  arrays with one int64 entry per job, in trace order.   Out: starts and the fault that stopped the loop.
Only `job_submit`, `job_start` and `job_complete` change what is queued, running and free, and a policy is
nothing but parameters of `schedule`. The rules are told in docs/replay.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.simulate.kernel.records import Machine, Record, Records

EASY = 1
SHORTEST = 1
# Codes of contracts/vocabulary, as literals: numba's cache looks at this file alone, and would go on using
# codes that have moved in another. A test holds them against the vocabulary.
LO, HI = 0, 1
# Places in a line's span.

NOT_STARTED_S = np.iinfo(np.int64).min
NEVER_S = np.iinfo(np.int64).max
NOBODY = -1

OVERRUN_STEPS_S = (60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)
# 1, 5, 15, 30 min, 1, 2, 5, 10, 20, 50, 100 h beyond the requested end (Tsafrir, Etsion and Feitelson,
# TPDS 18(6), 2007); from there on in steps of the last.

NO_FAULT, CLOCK_BACK, EARLY_START, SECOND_START, OVERSUBSCRIBED, MISCOUNTED, HEAD_DELAYED, STRANDED = range(8)
FAULTS = {
    CLOCK_BACK: ("clock set to {found} s", "the clock never runs back behind {allowed} s"),
    EARLY_START: ("started at {found} s", "no start before the release at {allowed} s"),
    SECOND_START: ("started at {found} s", "one start each, and it has started at {allowed} s"),
    OVERSUBSCRIBED: ("{found} processors in use", "0 to {allowed} processors in use"),
    MISCOUNTED: ("free and running processors are {found} together", "their sum is the capacity, {allowed}"),
    HEAD_DELAYED: ("promised or started at {found} s", "the head of the queue was promised {allowed} s"),
    STRANDED: ("{found} starts by the end of the replay", "{allowed} start for each replayed job"),
}
# What can go wrong, and in words: what was found and what was needed.

uncounted: dict[str, Any] = {"_nrt": False}
compiled = njit(**uncounted)
# Without reference counts the loop runs three times as fast. The price: compiled functions may not allocate.
# Only `run`, the one that Python calls, is cached: a cache names the types of the arguments, and one that
# names a class of ours could not even be opened after that class was renamed.


# --- a sorted line -----------------------------------------------------------------------------------


@compiled
def line_find(line: Records, span: IntArray, key: int, job: int) -> int:
    """First place whose (key, job) is not below the given one."""
    lo: int = span[LO]
    hi: int = span[HI]
    while lo < hi:
        mid = (lo + hi) // 2
        entry = line[mid]
        if entry.key < key or (entry.key == key and entry.job < job):
            lo = mid + 1
        else:
            hi = mid
    return lo


@compiled
def line_place(line: Records, span: IntArray, key: int, job: int, procs: int, estimate_s: int) -> None:
    """Insert, shifting the shorter side if it has room."""
    lo, hi = span[LO], span[HI]
    at = line_find(line, span, key, job)
    if lo > 0 and (hi == line.size or at - lo < hi - at):
        for k in range(lo, at):
            line[k - 1] = line[k]
        at -= 1
        span[LO] = lo - 1
    else:
        for k in range(hi, at, -1):
            line[k] = line[k - 1]
        span[HI] = hi + 1
    entry = line[at]
    entry.key = key
    entry.job = job
    entry.procs = procs
    entry.estimate_s = estimate_s


@compiled
def line_drop(line: Records, span: IntArray, at: int) -> None:
    """Remove the entry at a place, shifting the shorter side."""
    lo, hi = span[LO], span[HI]
    if at - lo < hi - at:
        for k in range(at, lo, -1):
            line[k] = line[k - 1]
        span[LO] = lo + 1
    else:
        for k in range(at, hi - 1):
            line[k] = line[k + 1]
        span[HI] = hi - 1


# --- faults ------------------------------------------------------------------------------------------


@compiled
def report(state: Record, fault: int, job: int, found: int, allowed: int) -> None:
    """Note what is wrong; the first fault stands and ends the loop after this instant."""
    if state.fault == NO_FAULT:
        state.fault = fault
        state.fault_job = job
        state.fault_at_s = state.now_s
        state.found = found
        state.allowed = allowed


@compiled
def check_counts(state: Record) -> None:
    """Processors in use stay within the machine, and none is lost."""
    if state.free < 0 or state.free > state.capacity:
        report(state, OVERSUBSCRIBED, NOBODY, state.capacity - state.free, state.capacity)
    if state.free + state.running != state.capacity:
        report(state, MISCOUNTED, NOBODY, state.free + state.running, state.capacity)


@compiled
def check_promise(machine: Machine, job: int, at_s: int) -> None:
    """A head's shadow time never moves later, unless a running job has outlived its expected end.

    `at_s` is the newly computed shadow time, or now when the job starts.
    """
    state = machine.state[0]
    if state.promised_to != job or at_s <= state.promised_s or state.has_outlived:
        return
    first = machine.expected_span[LO]
    if first < machine.expected_span[HI] and machine.expected[first].key <= state.now_s:
        return  # outlived, and not yet extended because no pass has asked since
    report(state, HEAD_DELAYED, job, at_s, state.promised_s)


# --- the three changes of state ----------------------------------------------------------------------


@compiled
def job_submit(machine: Machine, job: int) -> None:
    """Queue a job."""
    state, this = machine.state[0], machine.jobs[job]
    line_place(machine.queue, machine.queue_span, this.order_key, job, this.procs, this.estimate_s)
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
    state.free -= this.procs
    state.running += this.procs
    this.start_s = state.now_s
    this.expected_end_s = state.now_s + this.hold_s
    line_place(machine.ending, machine.ending_span, this.start_s + this.runtime_s, job, this.procs, 0)
    line_place(machine.expected, machine.expected_span, this.expected_end_s, job, this.procs, 0)


@compiled
def job_complete(machine: Machine) -> None:
    """End the running job that ends first."""
    state, first = machine.state[0], machine.ending_span[LO]
    job = machine.ending[first].job
    this = machine.jobs[job]
    if this.expected_end_s < state.now_s:
        state.has_outlived = 1
    line_drop(machine.ending, machine.ending_span, first)
    at = line_find(machine.expected, machine.expected_span, this.expected_end_s, job)
    line_drop(machine.expected, machine.expected_span, at)
    state.free += this.procs
    state.running -= this.procs


# --- one scheduling pass -----------------------------------------------------------------------------


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
def extend_outlived(machine: Machine) -> None:
    """Move every expected end that is not beyond now. A function of the job's age, so it may be done late."""
    line, span, state = machine.expected, machine.expected_span, machine.state[0]
    while span[LO] < span[HI] and line[span[LO]].key <= state.now_s:
        job = line[span[LO]].job
        this = machine.jobs[job]
        line_drop(line, span, span[LO])
        this.expected_end_s = extended_end(this.start_s, this.limit_s, state.now_s)
        line_place(line, span, this.expected_end_s, job, this.procs, 0)
        state.has_outlived = 1


@compiled
def shadow(machine: Machine, need: int) -> tuple[int, int]:
    """Earliest expected instant with `need` processors free, and the processors beyond `need` free then."""
    line, hi, free = machine.expected, machine.expected_span[HI], machine.state[0].free
    for k in range(machine.expected_span[LO], hi):
        free += line[k].procs
        # Everything released at that same instant counts.
        if free >= need and (k + 1 == hi or line[k + 1].key > line[k].key):
            return line[k].key, free - need
    return NEVER_S, 0


@compiled
def easy_backfill(machine: Machine) -> None:
    """Start jobs behind the head that do not delay it (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001).

    What cannot start now cannot start later in the same pass, since free and extra processors only shrink.
    So it is enough to look, again and again, for the first of those that still can.
    """
    queue, span, state = machine.queue, machine.queue_span, machine.state[0]
    if span[HI] - span[LO] < 2 or state.free < state.smallest:
        return
    head = queue[span[LO]].job
    extend_outlived(machine)
    shadow_s, extra = shadow(machine, queue[span[LO]].procs)
    if state.has_promises:
        check_promise(machine, head, shadow_s)
    state.promised_to = head
    state.promised_s = shadow_s
    state.has_outlived = 0

    window_s, smallest = shadow_s - state.now_s, queue[span[LO]].procs
    behind = 1  # how far behind the head to begin
    while True:
        chosen = NOBODY
        for k in range(span[LO] + behind, span[HI]):
            entry = queue[k]
            smallest = min(smallest, entry.procs)
            if entry.procs > state.free or (entry.estimate_s > window_s and entry.procs > extra):
                continue
            if chosen == NOBODY or entry.estimate_s < queue[chosen].estimate_s:
                chosen = k
                if state.backfill_order != SHORTEST:
                    break
        if chosen == NOBODY:
            break
        if queue[chosen].estimate_s > window_s:
            extra -= queue[chosen].procs
        if state.backfill_order != SHORTEST:
            behind = chosen - span[LO]
        job_start(machine, chosen)
    state.smallest = smallest


@compiled
def schedule(machine: Machine) -> None:
    """Start the head while it fits; then, under EASY, whatever does not delay the next head."""
    queue, span, state = machine.queue, machine.queue_span, machine.state[0]
    while span[LO] < span[HI] and queue[span[LO]].procs <= state.free:
        job_start(machine, span[LO])
    if state.backfill == EASY:
        easy_backfill(machine)


# --- the loop ----------------------------------------------------------------------------------------


@njit(cache=True, **uncounted)
def run(
    jobs: Records,
    states: Records,
    queue: Records,
    queue_span: IntArray,
    ending: Records,
    span: IntArray,
    expected: Records,
    expected_span: IntArray,
) -> None:
    """Replay all jobs: starts are left in `jobs`, a fault in the one record of `states`."""
    machine = Machine(jobs, states, queue, queue_span, ending, span, expected, expected_span)
    state = states[0]
    submitted = 0
    while state.fault == NO_FAULT:
        now_s = ending[span[LO]].key if span[LO] < span[HI] else NEVER_S
        if submitted < jobs.size:
            now_s = min(now_s, jobs[submitted].release_s)
        if now_s == NEVER_S:
            break
        if now_s < state.now_s:
            report(state, CLOCK_BACK, NOBODY, now_s, state.now_s)
        state.now_s = now_s
        while span[LO] < span[HI] and ending[span[LO]].key <= now_s:
            job_complete(machine)
        while submitted < jobs.size and jobs[submitted].release_s <= now_s:
            job_submit(machine, submitted)
            submitted += 1
        schedule(machine)
        check_counts(state)
        # A job of zero runtime ends at this same instant: the loop then comes back to it for another pass.
    for job in range(jobs.size):
        if jobs[job].start_s == NOT_STARTED_S:
            report(state, STRANDED, job, 0, 1)
