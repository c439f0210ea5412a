"""Worse requests: jobs ask for more than they did, some for a little, some for a lot.

In:  trace_jobs, the machine, a seed.   Out: trace_jobs.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.requests import request_over_runtime
from hpcopt_assets.measures.schedule import FloatArray, IntArray
from hpcopt_assets.stress.columns import with_requests
from hpcopt_assets.stress.statistics import Obstacle, counts, has_request

MOST = 64.0
# Of the spread: exp(64) times a second is longer than any request.
HALVINGS = 60


def estimate_noise(
    jobs: pl.DataFrame, factor: float, capacity: Capacity, seed: tuple[int, ...]
) -> pl.DataFrame:
    """The jobs with the median of requested over actual runtime `factor` times what it is.

    A request is multiplied by exp(s |N(0, 1)|), rounded up, and grows no further than the largest request of
    the trace; s is found so that the median comes out. No request becomes smaller: no job is made to outlive
    it. Without requests, or where the largest is too small for that, `Obstacle`.
    """
    asked = jobs.select(has_request()).to_series()
    known = jobs.filter(asked)
    request_s = known["requested_runtime_s"].to_numpy().astype(np.int64)
    counted = known.select(counts(capacity)).to_series().to_numpy()
    if not counted.any():
        raise Obstacle("no job that counts has a requested runtime")
    runtime_s = known["runtime_s"].fill_null(0).to_numpy().astype(np.int64)[counted]
    noise = np.abs(np.random.default_rng(seed).standard_normal(request_s.size))

    def requests(spread: float) -> IntArray:
        return _noisy(request_s, noise, spread)

    def median(spread: float) -> float:
        return float(np.median(request_over_runtime(requests(spread)[counted], runtime_s)))

    wanted = factor * median(0.0)
    if median(MOST) < wanted:
        raise Obstacle(
            f"a median request of {wanted:.3g} times the runtime: were all as large as the largest, "
            f"it would be {median(MOST):.3g}"
        )
    low, high = 0.0, MOST
    for _ in range(HALVINGS if factor > 1 else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if median(middle) < wanted else (low, middle)
    return with_requests(jobs, requests(high if factor > 1 else 0.0), asked)


def _noisy(request_s: IntArray, noise: FloatArray, spread: float) -> IntArray:
    grown = np.minimum(request_s * np.exp(spread * noise), float(request_s.max()))
    return np.maximum(np.ceil(grown).astype(np.int64), request_s)
