"""Arrays: lay out the records of a replay, run the loop, hand back what changed.

In:  int64 arrays with one entry per job, in trace order.   Out: starts, and the final state with its fault.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hpcopt_assets.contracts.vocabulary import Backfill
from hpcopt_assets.measures.schedule import BoolArray, IntArray
from hpcopt_assets.simulate.kernel.loop import compile_loop
from hpcopt_assets.simulate.kernel.records import (
    ENTRY,
    JOB,
    NEVER_S,
    NOBODY,
    NOT_STARTED_S,
    SLOT,
    STATE,
    USER,
    Record,
)


class Replayed(NamedTuple):
    """What a replay leaves: starts (s; `NOT_STARTED_S` without one), estimates in force then, and its state.

    `has_history`: the estimate is the user's mean. The state has `fault`, `fault_job`, `found`, `allowed`.
    """

    start_s: IntArray
    estimate_s: IntArray
    has_history: BoolArray
    state: Record


@cache
def _loop() -> Any:
    """The compiled loop, looked up by the source of this folder and the words whose codes it holds."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    words = Path(__file__).parents[2] / "contracts" / "vocabulary.py"
    return compile_loop(hashlib.sha256(b"".join(path.read_bytes() for path in (*sources, words))).hexdigest())


def replay_arrays(
    jobs: Mapping[str, Any],
    policy: Mapping[str, int],
    *,
    capacity_procs: int,
    capacity_steps: tuple[tuple[int, int], ...],
    begin_s: int,
) -> Replayed:
    """Replay jobs under a policy.

    `jobs` has arrays under names of `JOB`, with one entry per job by ascending release, or one value for all;
    `start_s` is given for jobs that run from the beginning. `policy` has codes under names of `STATE`.
    """
    count = len(jobs["release_s"])
    records = np.zeros(count, JOB)
    records["start_s"] = NOT_STARTED_S
    records["reserved_s"] = NEVER_S
    for name, values in jobs.items():
        records[name] = values
    state = np.zeros(1, STATE)
    for name, value in {
        "capacity": capacity_procs,
        "now_s": NOT_STARTED_S,
        "free": capacity_procs,
        "smallest": capacity_procs,
        "promised_to": NOBODY,
        "next_start_s": NEVER_S,
        "is_new": 1,
        **policy,
    }.items():
        state[name] = value
    users = np.zeros(int(records["user"].max(initial=0)) + 2, USER)
    lines = [(np.empty(count + 1, ENTRY), np.zeros(2, np.int64)) for _ in range(3)]
    slots = 4 * count + 8 if policy["backfill"] == Backfill.CONSERVATIVE.code else 1
    # Two for each reservation and one for each running job, with as much room on either side.
    profile = (np.empty(slots, SLOT), np.zeros(2, np.int64))
    steps = np.array(capacity_steps, dtype=np.int64).reshape(-1, 2)
    _loop()(records, state, users, *lines[0], *lines[1], *lines[2], *profile, steps, begin_s)
    learns = policy.get("estimates_history")
    estimate_s = records["estimate_s"].copy() if learns else np.broadcast_to(jobs["estimate_s"], count)
    return Replayed(records["start_s"].copy(), estimate_s, records["has_history"] != 0, state[0])
