"""Records: how the arrays of a replay are laid out, so that what belongs to one job lies together in memory.

In:  nothing.   Out: record types, `Machine`, which gathers the arrays of one replay, and `compiled`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from hpcopt_assets.measures.schedule import IntArray

NOT_STARTED_S = np.iinfo(np.int64).min
NEVER_S = 2**62
# Beyond every instant, and small enough that an instant may be taken from it.
NOBODY = -1
LO, HI = 0, 1
# Places in a line's span.

uncounted: dict[str, Any] = {"_nrt": False}
compiled = njit(**uncounted)
# Without reference counts the loop runs three times as fast. The price: compiled functions may not allocate.
# Only the one that Python calls is cached (loop.py).


def _record(*names: str, reals: tuple[str, ...] = (), small: tuple[str, ...] = ()) -> np.dtype[np.void]:
    fields = ((names, np.int64), (reals, np.float64), (small, np.int32))
    return np.dtype([(name, kind) for some, kind in fields for name in some], align=True)


JOB = _record(
    *("release_s", "runtime_s", "limit_s", "estimate_s", "hold_s", "order_key"),
    *("start_s", "expected_end_s", "reserved_s"),
    small=("procs", "user", "has_history"),
)
# One row per job. Starts, expected ends and reservations change, and estimates (with `has_history`) and holds
# where they come from the user's history; everything else is given. `order_key` orders the queue, or holds
# the bits of a float: what a wait is divided by, under order unicef.
ENTRY = _record("key", "job", "procs", "estimate_s")
# An entry of a line: jobs in ascending (key, job) order, contiguous in [span[LO], span[HI]). Processors and
# estimate are copied into it because a pass reads them for every queued job.
USER = _record(
    *("mean_s", "last_end_s", "last_job", "last_s", "other_end_s", "other_job", "other_s"), reals=("usage",)
)
# What is known of a user's completed jobs: the mean runtime of the last two, NEVER_S until there are two;
# the last one and the one before; processor-seconds, decayed.
SLOT = _record("at_s", "free")
# A piece of the availability profile: so many processors are free from that instant until the next slot's.
STATE = _record(
    *("capacity", "backfill", "backfill_order", "order", "estimates_history", "holds_history"),
    *("has_promises", "is_strict", "half_life_s"),
    *("now_s", "free", "running", "smallest", "base_s", "is_stale"),
    *("promised_to", "promised_s", "has_outlived", "next_start_s", "is_early", "is_new"),
    *("fault", "fault_job", "fault_at_s", "found", "allowed"),
)
# The first nine never change but for the capacity. `smallest`: no queued job needs fewer processors.
# `base_s`: from when on usage decays. `is_stale`: what users are known for has changed since the queue was
# put in order. `promised_*`: the head for which a shadow time was last computed, and that time.
# `has_outlived`: whether a running job has outlived its expected end since. `next_start_s`: the earliest
# reservation. `is_early`: a job has completed before its expected end. `is_new`: every reservation must be
# placed anew.

Record = Any  # a reference to one record of such an array: its fields are read and written by name
Records = Any


class Machine(NamedTuple):
    """All arrays of a replay. `queue` is keyed by order, `ending` by true, `expected` by expected end.

    `users` has a row more than there are users, the last for the unknown one, which is number -1.
    """

    jobs: Records
    state: Records
    users: Records
    queue: Records
    queue_span: IntArray
    ending: Records
    ending_span: IntArray
    expected: Records
    expected_span: IntArray
    profile: Records
    profile_span: IntArray
