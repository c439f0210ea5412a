"""Orders that change while jobs wait: every pass puts the queue in order again.

Keys are integers. Scores are floats from 0 on, whose bits ascend as they do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hpcopt_assets.contracts.vocabulary import Order
from hpcopt_assets.simulate.kernel.lines import line_sort
from hpcopt_assets.simulate.kernel.records import HI, LO, Machine, compiled
from hpcopt_assets.simulate.kernel.users import believed_s

SUBMIT, SHORTEST, LONGEST = Order.SUBMIT.code, Order.SHORTEST.code, Order.LONGEST.code
FAIRSHARE, WFP3, UNICEF = Order.FAIRSHARE.code, Order.WFP3.code, Order.UNICEF.code


@compiled
def bits(score: float) -> int:
    """An integer that ascends as scores from 0 on do."""
    whole: Any = np.float64(score).view(np.int64)
    return whole  # type: ignore[no-any-return]


@compiled
def real(whole: int) -> float:
    """The float whose bits these are."""
    score: Any = np.int64(whole).view(np.float64)
    return score  # type: ignore[no-any-return]


@compiled
def key_now(machine: Machine, job: int, estimate_s: int) -> int:
    """The job's key in the queue at this instant; the smallest goes first."""
    state, this = machine.state[0], machine.jobs[job]
    order, key = state.order, 0
    if order == FAIRSHARE:
        key = bits(machine.users[this.user].usage)
    elif order == WFP3:
        ratio = (state.now_s - this.release_s) / this.limit_s
        key = -bits(ratio * ratio * ratio * this.procs)
    elif order == UNICEF:
        key = -bits((state.now_s - this.release_s) / real(this.order_key))
    elif order == SHORTEST:
        key = estimate_s
    elif order == LONGEST:
        key = -estimate_s
    else:
        key = this.order_key
    return key


@compiled
def renew(machine: Machine) -> None:
    """Estimates, keys and order of the queue as they are now."""
    queue, span, state = machine.queue, machine.queue_span, machine.state[0]
    for k in range(span[LO], span[HI]):
        entry = queue[k]
        if state.estimates_history:
            entry.estimate_s = believed_s(machine, entry.job)
        entry.key = key_now(machine, entry.job, entry.estimate_s)
    if state.order != SUBMIT:
        line_sort(queue, span)
    state.is_stale = 0


@compiled
def changes_with_time(order: int) -> bool:
    """Whether the order may change although nobody has completed a job."""
    return order in (WFP3, UNICEF)
