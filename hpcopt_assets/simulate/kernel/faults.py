"""Faults: what may go wrong in a replay, noted where it is found. The first stands and ends the replay."""

from __future__ import annotations

from hpcopt_assets.simulate.kernel.records import HI, LO, NEVER_S, NOBODY, Machine, Record, compiled

NO_FAULT, CLOCK_BACK, EARLY_START, SECOND_START, OVERSUBSCRIBED, MISCOUNTED, HEAD_DELAYED, STRANDED = range(8)
QUEUED_AND_RUNNING, OUT_OF_ORDER, RESERVATION_BROKEN, PROFILE_WRONG = range(8, 12)
FAULTS = {
    CLOCK_BACK: ("clock set to {found} s", "the clock never runs back behind {allowed} s"),
    EARLY_START: ("started at {found} s", "no start before the release at {allowed} s"),
    SECOND_START: ("started at {found} s", "one start each, and it has started at {allowed} s"),
    OVERSUBSCRIBED: ("{found} processors in use", "0 to {allowed} processors in use"),
    MISCOUNTED: ("free and running processors are {found} together", "their sum is the capacity, {allowed}"),
    HEAD_DELAYED: ("promised or started at {found} s", "the head of the queue was promised {allowed} s"),
    STRANDED: ("{found} starts by the end of the replay", "{allowed} start for each replayed job"),
    QUEUED_AND_RUNNING: ("queued after its start at {found} s", "a job is queued or runs, never both"),
    OUT_OF_ORDER: ("behind a job that it goes before", "the queue in its order"),
    RESERVATION_BROKEN: ("reserved or started at {found} s", "its reservation at {allowed} s"),
    PROFILE_WRONG: (
        "{found} processors free in the profile",
        "{allowed} by the jobs that run or are reserved",
    ),
}
# What can go wrong, and in words: what was found and what was needed.


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
    """None of the processors is lost. More may run than there are only where the machine has shrunk."""
    if state.free > state.capacity:
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


@compiled
def check_queue(machine: Machine) -> None:
    """All of it: jobs that wait have not started, stand in order, and none runs."""
    queue, span, state = machine.queue, machine.queue_span, machine.state[0]
    for k in range(span[LO], span[HI]):
        entry = queue[k]
        start_s = machine.jobs[entry.job].start_s
        if start_s > -NEVER_S:
            report(state, QUEUED_AND_RUNNING, entry.job, start_s, 0)
        if k > span[LO]:
            before = queue[k - 1]
            if before.key > entry.key or (before.key == entry.key and before.job >= entry.job):
                report(state, OUT_OF_ORDER, entry.job, 0, 0)
    held = 0
    for k in range(machine.ending_span[LO], machine.ending_span[HI]):
        held += machine.ending[k].procs
    if held != state.running:
        report(state, MISCOUNTED, NOBODY, state.free + held, state.capacity)
