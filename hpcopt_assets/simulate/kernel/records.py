"""Records: how the arrays of a replay are laid out, so that what belongs to one job lies together in memory.

In:  nothing.   Out: record types, and `Machine`, which gathers the arrays of one replay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hpcopt_assets.measures.schedule import IntArray


def _int64_record(*names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names])


JOB = _int64_record(
    *("release_s", "runtime_s", "procs", "limit_s", "estimate_s", "hold_s", "order_key"),
    *("start_s", "expected_end_s"),
)
# One row per job; the last two change, everything else is given.
ENTRY = _int64_record("key", "job", "procs", "estimate_s")
# An entry of a line: jobs in ascending (key, job) order, contiguous in [span[LO], span[HI]). Processors and
# estimate are copied into it because a pass reads them for every queued job.
STATE = _int64_record(
    *("capacity", "backfill", "backfill_order", "has_promises"),
    *("now_s", "free", "running", "smallest"),
    *("promised_to", "promised_s", "has_outlived"),
    *("fault", "fault_job", "fault_at_s", "found", "allowed"),
)
# The first four never change. `smallest`: no queued job needs fewer processors. `promised_*`: the head for
# which a shadow time was last computed, and that time; `has_outlived`: whether a running job has outlived
# its expected end since.

Record = Any  # a reference to one record of such an array: its fields are read and written by name
Records = Any


class Machine(NamedTuple):
    """All arrays of a replay. `queue` is keyed by order, `ending` by true, `expected` by expected end."""

    jobs: Records
    state: Records
    queue: Records
    queue_span: IntArray
    ending: Records
    ending_span: IntArray
    expected: Records
    expected_span: IntArray
