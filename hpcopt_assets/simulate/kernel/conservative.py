"""Conservative backfilling: every queued job has a reservation (Mu'alem and Feitelson, TPDS 12(6), 2001).

Source of the sequence within an instant: docs/replay.md, "Conservative".
"""

from __future__ import annotations

from hpcopt_assets.simulate.kernel.changes import extend_outlived, job_start
from hpcopt_assets.simulate.kernel.faults import PROFILE_WRONG, RESERVATION_BROKEN, report
from hpcopt_assets.simulate.kernel.profile import (
    begin_anew,
    change,
    earlier,
    earliest,
    forget_past,
    slot_at,
)
from hpcopt_assets.simulate.kernel.records import HI, LO, NEVER_S, NOBODY, Machine, compiled


@compiled
def reserve(machine: Machine, at: int) -> None:
    """Give the job at a place of the queue the earliest window, moving no other."""
    entry, state = machine.queue[at], machine.state[0]
    this = machine.jobs[entry.job]
    this.reserved_s = earliest(machine, entry.procs, entry.estimate_s)
    if this.reserved_s != NEVER_S:
        change(machine, this.reserved_s, this.reserved_s + entry.estimate_s, -entry.procs)
    state.next_start_s = min(state.next_start_s, this.reserved_s)


@compiled
def reserve_all_anew(machine: Machine) -> None:
    """Place every reservation from nothing, in the queue's order."""
    begin_anew(machine)
    machine.state[0].next_start_s = NEVER_S
    for k in range(machine.queue_span[LO], machine.queue_span[HI]):
        reserve(machine, k)


@compiled
def compress(machine: Machine) -> None:
    """One sweep in the queue's order: lift each reservation out and place it again as early as possible.

    A job whose window `earlier` finds to be where it is is left untouched: placing it again would change
    nothing, whatever has changed since it was placed.
    """
    queue, state = machine.queue, machine.state[0]
    next_start_s = NEVER_S
    for k in range(machine.queue_span[LO], machine.queue_span[HI]):
        entry = queue[k]
        this = machine.jobs[entry.job]
        if this.reserved_s > state.now_s and this.reserved_s != NEVER_S:
            at_s = earlier(machine, entry.procs, entry.estimate_s, this.reserved_s)
            if at_s < this.reserved_s:
                change(machine, this.reserved_s, this.reserved_s + entry.estimate_s, entry.procs)
                change(machine, at_s, at_s + entry.estimate_s, -entry.procs)
                this.reserved_s = at_s
        next_start_s = min(next_start_s, this.reserved_s)
    state.next_start_s = next_start_s


@compiled
def start_reserved(machine: Machine) -> None:
    """Start every job whose reservation has come, in the queue's order."""
    queue, span, state = machine.queue, machine.queue_span, machine.state[0]
    if state.next_start_s > state.now_s:
        return
    next_start_s = NEVER_S
    k = span[LO]
    while k < span[HI]:
        job = queue[k].job
        reserved_s = machine.jobs[job].reserved_s
        if reserved_s < state.now_s:
            report(state, RESERVATION_BROKEN, job, state.now_s, reserved_s)
        if reserved_s <= state.now_s:
            behind = k - span[LO]
            job_start(machine, k)  # what it takes of the profile, it goes on taking
            k = span[LO] + behind
        else:
            next_start_s = min(next_start_s, reserved_s)
            k += 1
    state.next_start_s = next_start_s


@compiled
def give_back(machine: Machine, job: int) -> None:
    """Free what a job that has just completed was still expected to hold."""
    state, expected_end_s = machine.state[0], machine.jobs[job].expected_end_s
    if expected_end_s > state.now_s:
        state.is_early = 1
        if not state.is_new:
            change(machine, state.now_s, expected_end_s, machine.jobs[job].procs)


@compiled
def conserve(machine: Machine, newcomers: int) -> None:
    """One instant after its completions; the last so many jobs of the queue have come at this instant."""
    span, state = machine.queue_span, machine.state[0]
    if extend_outlived(machine) or state.is_new:
        reserve_all_anew(machine)
    else:
        forget_past(machine)
        if state.is_early:
            compress(machine)  # newcomers have no reservation yet that could move
        for k in range(span[HI] - newcomers, span[HI]):
            reserve(machine, k)
    state.is_new = 0
    state.is_early = 0
    if state.is_strict:
        check_profile(machine)
    start_reserved(machine)


@compiled
def check_profile(machine: Machine) -> None:
    """The profile holds what running and reserved jobs leave, and never less than nothing for these."""
    profile, span, state = machine.profile, machine.profile_span, machine.state[0]
    for k in range(span[LO], span[HI]):
        at_s, needed = profile[k].at_s, state.capacity
        for m in range(machine.expected_span[LO], machine.expected_span[HI]):
            if machine.expected[m].key > at_s:
                needed -= machine.expected[m].procs
        for m in range(machine.queue_span[LO], machine.queue_span[HI]):
            entry = machine.queue[m]
            reserved_s = machine.jobs[entry.job].reserved_s
            if reserved_s <= at_s < reserved_s + entry.estimate_s:
                needed -= entry.procs
                if profile[k].free < 0:
                    report(state, PROFILE_WRONG, entry.job, profile[k].free, 0)
        if needed != profile[k].free:
            report(state, PROFILE_WRONG, NOBODY, profile[k].free, needed)
    for m in range(machine.queue_span[LO], machine.queue_span[HI]):
        reserved_s = machine.jobs[machine.queue[m].job].reserved_s
        if reserved_s != NEVER_S and profile[slot_at(profile, span, reserved_s)].at_s > reserved_s:
            report(state, RESERVATION_BROKEN, machine.queue[m].job, state.now_s, reserved_s)
