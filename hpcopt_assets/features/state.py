"""State of the recorded system when a job is submitted: who waits, who runs.

In:  arrays of a trace, one entry a job.   Out: the columns QUEUE_STATE of job_features.
Not here: what any other schedule would have looked like; a model for replays must not read these.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.features.history import NOBODY, Past
from hpcopt_assets.features.trace import Trace
from hpcopt_assets.measures.schedule import BoolArray, FloatArray, IntArray


def queue_state(trace: Trace) -> dict[str, FloatArray]:
    """Jobs and processors that waited and ran just before each submission, as recorded.

    What begins at the instant of the submission follows from it and is not counted; what ends at that instant
    has ended. A job without a known start is not counted: when it left the queue is not known.
    """
    everybody = np.zeros(len(trace), dtype=np.int64)
    running = _running(trace, everybody)
    released_s = np.minimum(trace.release_s, trace.start_s)  # a clock may say that a job started too early
    released = _before(everybody, released_s, trace.has_start, trace.submit_s)
    started = _before(everybody, trace.start_s, trace.has_start, trace.submit_s)
    procs = np.nan_to_num(trace.procs)
    own_started, own_ended = _running(trace, trace.user)
    own_count = (own_started.count - own_ended.count).astype(np.float64)
    since = (trace.start_s - trace.submit_s.min(initial=0)).astype(np.float64)
    now = (trace.submit_s - trace.submit_s.min(initial=0)).astype(np.float64)
    begun = own_started.total(since) - own_ended.total(since)
    elapsed = now - begun / np.where(own_count > 0, own_count, np.nan)
    nobodys = trace.user == NOBODY
    return {
        "user_running_count": np.where(nobodys, np.nan, own_count),
        "user_running_elapsed_s": np.maximum(elapsed, 0.0),
        "queued_count": (released.count - started.count).astype(np.float64),
        "queued_procs": released.total(procs) - started.total(procs),
        "running_count": (running[0].count - running[1].count).astype(np.float64),
        "running_procs": running[0].total(procs) - running[1].total(procs),
    }


def _running(trace: Trace, group: IntArray) -> tuple[Past, Past]:
    """Jobs that had started before each submission, and those of them that had ended by it."""
    # A job of no runtime is given one second: it is not to end before it counts as started. One whose end the
    # log does not tell is taken to run until its limit, not for ever.
    told_s = np.where(trace.has_end, trace.end_s, trace.start_s + trace.limit_s.astype(np.int64))
    end_s = np.maximum(told_s, trace.start_s + 1)
    return (
        _before(group, trace.start_s, trace.has_start, trace.submit_s),
        Past.of(group, end_s, trace.has_start, trace.submit_s),
    )


def _before(group: IntArray, event_s: IntArray, has_event: BoolArray, now_s: IntArray) -> Past:
    """Events strictly before an instant; times are whole seconds."""
    return Past.of(group, event_s, has_event, now_s - 1)
