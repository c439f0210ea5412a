"""Scores by which a queue is ordered, as far as they are known before a replay.

In:  arrays with one entry per job.   Out: float64 arrays. Kernel and reference use the same, so that rounding
     cannot part them.
Source: f1: Carastan-Santos and de Camargo, SC'17, table 3; wfp3 and unicef: Tang, Lan, Desai and Buettner,
     Cluster 2009, section 3.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.measures.schedule import FloatArray, IntArray


def f1(release_s: IntArray, limit_s: IntArray, procs: IntArray) -> FloatArray:
    """Of jobs in order of release; the smallest goes first.

    log10(request) * procs + 870 * log10(seconds since the first release + 1)
    """
    since_first_s = release_s - release_s[:1]
    score: FloatArray = np.log10(limit_s) * procs + 870.0 * np.log10(since_first_s + 1.0)
    return score


def unicef_weight(limit_s: IntArray, procs: IntArray) -> FloatArray:
    """What a wait is divided by: log2(max(2, procs)) * request; the largest quotient goes first."""
    weight: FloatArray = np.log2(np.maximum(procs, 2)) * limit_s
    return weight
