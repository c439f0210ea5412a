"""The availability profile: how many processors are expected to be free from now on, as a step function.

Slots ascend in time; the last one lasts for ever, and then the whole machine is free. Running jobs occupy it
until their expected ends, queued jobs from their reservations on, for as long as they are estimated to run.
"""

from __future__ import annotations

from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.simulate.kernel.lines import line_drop
from hpcopt_assets.simulate.kernel.records import HI, LO, NEVER_S, Machine, Records, compiled


@compiled
def slot_at(profile: Records, span: IntArray, at_s: int) -> int:
    """The slot that an instant lies in; the first one where it lies before all."""
    lo: int = span[LO]
    hi: int = span[HI]
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if profile[mid].at_s <= at_s:
            lo = mid
        else:
            hi = mid
    return lo


@compiled
def cut(profile: Records, span: IntArray, at_s: int) -> int:
    """The slot that begins at an instant, made from the one it lies in if there is none."""
    k: int = slot_at(profile, span, at_s)
    if profile[k].at_s >= at_s:
        return k
    lo, hi = span[LO], span[HI]
    free = profile[k].free
    if lo > 0 and (hi == profile.size or k - lo < hi - k):
        for m in range(lo, k + 1):
            profile[m - 1] = profile[m]
        span[LO] = lo - 1
    else:
        for m in range(hi, k + 1, -1):
            profile[m] = profile[m - 1]
        span[HI] = hi + 1
        k += 1
    profile[k].at_s = at_s
    profile[k].free = free
    return k


@compiled
def mend(profile: Records, span: IntArray, k: int) -> None:
    """Let a slot go where it has as many free processors as the one before."""
    if span[LO] < k < span[HI] and profile[k].free == profile[k - 1].free:
        line_drop(profile, span, k)


@compiled
def change(machine: Machine, since_s: int, until_s: int, procs: int) -> None:
    """Let so many more processors be free (fewer, if negative) within [since, until)."""
    if since_s >= until_s:
        return
    profile, span = machine.profile, machine.profile_span
    cut(profile, span, since_s)
    last = cut(profile, span, until_s)
    for k in range(slot_at(profile, span, since_s), last):
        profile[k].free += procs
    mend(profile, span, last)
    mend(profile, span, slot_at(profile, span, since_s))
    # Found anew each time: slots move when others come and go.


@compiled
def begin_anew(machine: Machine) -> None:
    """The profile of the running jobs alone; their expected ends lie ahead."""
    profile, span, state = machine.profile, machine.profile_span, machine.state[0]
    k = profile.size // 2
    span[LO] = k
    profile[k].at_s = state.now_s
    profile[k].free = state.free
    line = machine.expected
    for m in range(machine.expected_span[LO], machine.expected_span[HI]):
        if line[m].key > profile[k].at_s:
            k += 1
            profile[k].at_s = line[m].key
            profile[k].free = profile[k - 1].free
        profile[k].free += line[m].procs
    span[HI] = k + 1


@compiled
def forget_past(machine: Machine) -> None:
    """Let the profile begin now."""
    profile, span, now_s = machine.profile, machine.profile_span, machine.state[0].now_s
    k = slot_at(profile, span, now_s)
    span[LO] = k
    if profile[k].at_s < now_s:
        profile[k].at_s = now_s


@compiled
def earliest(machine: Machine, procs: int, estimate_s: int) -> int:
    """The first instant from which so many processors are free for so long; never on too small a machine."""
    profile, hi = machine.profile, machine.profile_span[HI]
    k = machine.profile_span[LO]
    while True:
        while k < hi and profile[k].free < procs:
            k += 1
        if k == hi:
            return NEVER_S
        at_s: int = profile[k].at_s
        until_s = at_s + estimate_s
        k += 1
        while k < hi and profile[k].at_s < until_s and profile[k].free >= procs:
            k += 1
        if k == hi or profile[k].at_s >= until_s:
            return at_s


@compiled
def earlier(machine: Machine, procs: int, estimate_s: int, reserved_s: int) -> int:
    """The first instant at which a job could start if its own reservation were lifted out.

    Within its reservation it always fits. So a window that begins before it fits if there is room up to its
    own end or up to the reservation's start, whichever comes first: slots from the reservation's start on
    need not be looked at, and the profile need not be changed to find out.
    """
    profile, hi = machine.profile, machine.profile_span[HI]
    k = machine.profile_span[LO]
    while True:
        while k < hi and profile[k].free < procs and profile[k].at_s < reserved_s:
            k += 1
        if k == hi or profile[k].at_s >= reserved_s:
            return reserved_s
        at_s: int = profile[k].at_s
        until_s = min(at_s + estimate_s, reserved_s)
        k += 1
        while k < hi and profile[k].at_s < until_s and profile[k].free >= procs:
            k += 1
        if k == hi or profile[k].at_s >= until_s:
            return at_s
