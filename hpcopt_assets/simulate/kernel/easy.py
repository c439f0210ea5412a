"""EASY backfilling: the head of the queue has a reservation, nobody else (Lifka, JSSPP 1995)."""

from __future__ import annotations

from hpcopt_assets.contracts.vocabulary import BackfillOrder
from hpcopt_assets.simulate.kernel.changes import extend_outlived, job_start
from hpcopt_assets.simulate.kernel.faults import check_promise
from hpcopt_assets.simulate.kernel.orders import renew
from hpcopt_assets.simulate.kernel.records import HI, LO, NEVER_S, NOBODY, Machine, compiled

SHORTEST_FIRST = BackfillOrder.SHORTEST.code


@compiled
def shadow(machine: Machine, need: int) -> tuple[int, int]:
    """Earliest expected instant with `need` processors free, and the processors beyond `need` free then.

    Never, and none, where the machine is too small for it at present.
    """
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
    if state.is_stale:
        renew(machine)  # in order of submission, where only estimates change: not before they are asked for
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
                if state.backfill_order != SHORTEST_FIRST:
                    break
        if chosen == NOBODY:
            break
        if queue[chosen].estimate_s > window_s:
            extra -= queue[chosen].procs
        if state.backfill_order != SHORTEST_FIRST:
            behind = chosen - span[LO]
        job_start(machine, chosen)
    state.smallest = smallest
