"""Arrays: lay out the records of a replay, run the loop, hand back what changed.

In:  int64 arrays with one entry per job, in trace order.   Out: starts, and the final state with its fault.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.simulate.kernel.loop import NOBODY, NOT_STARTED_S, run
from hpcopt_assets.simulate.kernel.records import ENTRY, JOB, STATE, Record


def replay_arrays(
    *,
    release_s: IntArray,
    runtime_s: IntArray,
    procs: IntArray,
    limit_s: IntArray,
    estimate_s: IntArray,
    hold_s: IntArray,
    order_key: IntArray,
    capacity_procs: int,
    backfill: int,
    backfill_order: int,
    has_promises: bool,
) -> tuple[IntArray, Record]:
    """Start (s) of every job, and the final state with its `fault`, `fault_job`, `found` and `allowed`.

    Arrays have one entry per job by ascending release; every job fits the machine. The queue is ordered
    by (order_key, position). `has_promises`: stop if the head's shadow time ever moves later.
    """
    count = release_s.size
    jobs = np.empty(count, JOB)
    columns = {
        "release_s": release_s,
        "runtime_s": runtime_s,
        "procs": procs,
        "limit_s": limit_s,
        "estimate_s": estimate_s,
        "hold_s": hold_s,
        "order_key": order_key,
        "start_s": NOT_STARTED_S,
        "expected_end_s": NOT_STARTED_S,
    }
    for name in JOB.names or ():
        jobs[name] = columns[name]
    state = np.zeros(1, STATE)
    for name, value in {
        "capacity": capacity_procs,
        "backfill": backfill,
        "backfill_order": backfill_order,
        "has_promises": has_promises,
        "now_s": NOT_STARTED_S,
        "free": capacity_procs,
        "smallest": capacity_procs,
        "promised_to": NOBODY,
    }.items():
        state[name] = value
    lines = [(np.empty(count + 1, ENTRY), np.zeros(2, np.int64)) for _ in range(3)]
    run(jobs, state, *lines[0], *lines[1], *lines[2])
    return jobs["start_s"].copy(), state[0]
