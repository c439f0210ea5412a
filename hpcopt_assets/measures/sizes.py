"""Bands of job size: what jobs of about one size are called, and which band a job is in.

In:  upper ends of bands in processors, ascending; sizes.   Out: names and codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hpcopt_assets.measures.schedule import IntArray


def band_name(low: float, high: float) -> str:
    """`1`, `2-8`, `129+`."""
    if high == np.inf:
        return f"{low:.0f}+"
    return f"{low:.0f}" if low == high else f"{low:.0f}-{high:.0f}"


def band_names(upper: Sequence[int]) -> list[str]:
    """Names of the bands with these upper ends (included), and of the last, of what is larger."""
    ends = [0, *upper, np.inf]
    return [band_name(low + 1, high) for low, high in pairwise(ends)]


def band_of(procs: IntArray, upper: Sequence[int]) -> IntArray:
    """The place of each size among the bands, from 0."""
    return np.searchsorted(np.asarray(upper, dtype=np.int64), procs, side="left")
