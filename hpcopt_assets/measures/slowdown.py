"""Measures of single jobs: bounded slowdown, and who was overtaken.

In:  arrays with one entry per job, in trace order.   Out: arrays with one entry per job.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.measures.schedule import BoolArray, FloatArray, IntArray


def bounded_slowdown(wait_s: IntArray, runtime_s: IntArray, tau_s: int) -> FloatArray:
    """max(1, (wait + runtime) / max(runtime, tau)), a ratio per job.

    `tau_s` > 0 keeps very short jobs from dominating. Feitelson, Rudolph, Schwiegelshohn, Sevcik and Wong,
    Theory and practice in parallel job scheduling, JSSPP 1997; Mu'alem and Feitelson (TPDS 2001) take 10 s.
    """
    response = wait_s.astype(np.float64) + runtime_s
    return np.maximum(1.0, response / np.maximum(runtime_s, tau_s))


def is_backfilled(start_s: IntArray) -> BoolArray:
    """Whether each job started strictly before some job ahead of it; `start_s` is in trace order."""
    overtook = np.zeros(start_s.size, dtype=np.bool_)
    overtook[1:] = np.maximum.accumulate(start_s)[:-1] > start_s[1:]
    return overtook
