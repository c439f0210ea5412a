"""Users: what the scheduler has learnt of them from jobs that have completed in this replay.

Source: user_history: Tsafrir, Etsion and Feitelson, TPDS 18(6), 2007, section 4.
"""

from __future__ import annotations

import math

from hpcopt_assets.contracts.vocabulary import Order
from hpcopt_assets.simulate.kernel.records import NEVER_S, NOT_STARTED_S, Machine, compiled

FAIRSHARE = Order.FAIRSHARE.code
REBASE_AFTER = 512.0
# Half-lives after which sums are scaled down; 2^1023 is the largest power that a float holds.


@compiled
def believed_s(machine: Machine, job: int) -> int:
    """The user's mean, at most the job's request; the request where there is no mean."""
    this = machine.jobs[job]
    known_s: int = min(this.limit_s, machine.users[this.user].mean_s)
    return known_s


@compiled
def learn(machine: Machine, job: int) -> None:
    """Take a completed job into its user's history and usage."""
    state, this = machine.state[0], machine.jobs[job]
    if state.order == FAIRSHARE:
        add_usage(machine, job)
    if (state.estimates_history or state.holds_history) and this.user >= 0:
        remember(machine, job)


@compiled
def remember(machine: Machine, job: int) -> None:
    """Keep the two jobs that ended last, by (end, position); a job of no runtime may come out of turn."""
    state, this = machine.state[0], machine.jobs[job]
    user = machine.users[this.user]
    end_s = this.start_s + this.runtime_s
    if end_s > user.last_end_s or (end_s == user.last_end_s and job > user.last_job):
        user.other_end_s, user.other_job, user.other_s = user.last_end_s, user.last_job, user.last_s
        user.last_end_s, user.last_job, user.last_s = end_s, job, this.runtime_s
    elif end_s > user.other_end_s or (end_s == user.other_end_s and job > user.other_job):
        user.other_end_s, user.other_job, user.other_s = end_s, job, this.runtime_s
    else:
        return
    if user.other_end_s != NOT_STARTED_S:
        user.mean_s = max((user.last_s + user.other_s) // 2, 1)
        state.is_stale = 1


@compiled
def add_usage(machine: Machine, job: int) -> None:
    """Add a job's work to its user's, counted in what it was worth at `base_s`: all decay alike."""
    state, this = machine.state[0], machine.jobs[job]
    end_s = this.start_s + this.runtime_s
    halvings = (end_s - state.base_s) / state.half_life_s
    if halvings > REBASE_AFTER:
        whole = math.floor(halvings)
        scale = math.ldexp(1.0, -whole)
        for user in range(machine.users.size):
            machine.users[user].usage *= scale
        state.base_s += whole * state.half_life_s
        halvings = (end_s - state.base_s) / state.half_life_s
    machine.users[this.user].usage += float(this.procs) * float(this.runtime_s) * math.exp2(halvings)
    state.is_stale = 1


@compiled
def forget_nothing_yet(machine: Machine) -> None:
    """Nobody is known at first."""
    for k in range(machine.users.size):
        user = machine.users[k]
        user.mean_s = NEVER_S
        user.last_end_s = NOT_STARTED_S
        user.other_end_s = NOT_STARTED_S
