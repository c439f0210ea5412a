"""The workload model of Lublin and Feitelson, JPDC 63(11), 2003, all job types together.

In:  `LublinModel`, counts, a numpy generator a quantity.   Out: sizes, runtimes and release offsets.
Not here: users and requests, which the model does not have (users.py).

Written anew from the paper and from what the authors' program (m_lublin99.c) does; where the paper leaves a
choice open, we follow the program.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hpcopt_assets.contracts.synthetic_config import LublinModel
from hpcopt_assets.measures.schedule import FloatArray, IntArray

DAY_S = 86_400
BUCKETS_PER_DAY = 48
# The program's half hours. It counts them from 1 and lays the cycle's gamma over 11 .. 58, so that the
# day begins at the quietest time, 05:00; bucket i stands for [i - 0.5, i + 0.5).
FIRST_BUCKET = 11
POINTS_PER_BUCKET = 256
# Midpoints for integrating the gamma's density: relative error below 1e-6.

Rng = np.random.Generator


def draw_sizes(model: LublinModel, jobs: int, procs: int, rng: Rng) -> IntArray:
    """Processors of each job, in [1, procs] (the paper's job sizes).

    Serial, else two-stage uniform in log2, rounded to a power of two or to a whole number. A power of two is
    kept within the machine, which only matters where `procs` is none itself.
    """
    kind = rng.random(jobs)
    high = np.log2(procs)
    low = min(model.size_low, high)
    med = max(low, high - model.size_med_below_high)
    is_below = rng.random(jobs) < model.size_probability
    place = rng.random(jobs)
    log_size = np.where(is_below, low + place * (med - low), med + place * (high - med))
    is_power = kind < model.serial_probability + model.power_of_two_probability
    rounded = np.minimum(np.floor(log_size + 0.5), np.floor(high))
    sizes = np.rint(np.exp2(np.where(is_power, rounded, log_size)))
    return np.where(kind < model.serial_probability, 1, sizes).astype(np.int64)


def draw_runtimes(model: LublinModel, procs: IntArray, rng: Rng) -> IntArray:
    """Runtime (s, at least 1) of each job given its size (the paper's runtimes): ln(runtime) is hyper-gamma.

    The larger the job, the likelier the second, longer gamma. Values above `max_log_runtime` are drawn again,
    the choice of the gamma included.
    """
    first_probability = np.clip(model.runtime_p_slope * procs + model.runtime_p_intercept, 0.0, 1.0)

    def draw(index: IntArray) -> FloatArray:
        is_first = rng.random(index.size) < first_probability[index]
        shape = np.where(is_first, model.runtime_a1, model.runtime_a2)
        scale = np.where(is_first, model.runtime_b1, model.runtime_b2)
        return rng.gamma(shape, scale)

    return np.exp(_draw_up_to(model.max_log_runtime, procs.size, draw)).astype(np.int64)


def cycle_weights(model: LublinModel) -> FloatArray:
    """Arrival intensity in each half hour of the day from midnight; shape (48,), mean 1 (the daily cycle)."""
    bucket = FIRST_BUCKET + np.arange(BUCKETS_PER_DAY)
    within = (np.arange(POINTS_PER_BUCKET) + 0.5) / POINTS_PER_BUCKET - 0.5
    x = bucket[:, None] + within[None, :]
    density = np.exp((model.cycle_a - 1.0) * np.log(x) - x / model.cycle_b).sum(axis=1)
    weights: FloatArray = np.empty(BUCKETS_PER_DAY)
    weights[(bucket - 1) % BUCKETS_PER_DAY] = density
    weights /= weights.mean()
    return weights


def draw_gaps(model: LublinModel, count: int, rng: Rng) -> FloatArray:
    """Gaps (s) between arrivals on a clock without a daily cycle: ln(gap) is gamma.

    Values above `max_log_gap` are drawn again. The program takes natural logarithms.
    """
    shape = model.arrival_a * model.rush_to_all_ratio
    # The ratio makes the gamma, fitted to rush hours, stand for all hours.
    return np.exp(
        _draw_up_to(model.max_log_gap, count, lambda index: rng.gamma(shape, model.arrival_b, index.size))
    )


def arrivals(gaps_s: FloatArray, weights: FloatArray, span_s: float) -> IntArray:
    """Seconds from midnight to each arrival: one more than gaps, not falling, the first 0, the last `span_s`.

    The program lets a gap buy its way through the half hours, each costing its length times its weight. That
    is the same as running the gaps on a clock that goes as fast as the day is busy: here they are summed on
    that clock and read back as time of day. They are scaled on it, so that the last arrival falls on
    `span_s`; scaling seconds instead would move jobs to other hours. Rounded to whole seconds.
    """
    bucket_s = DAY_S / BUCKETS_PER_DAY
    edges_s = np.arange(BUCKETS_PER_DAY + 1) * bucket_s
    busy_edges_s = np.concatenate([[0.0], np.cumsum(weights)]) * bucket_s
    busy_s = np.concatenate([[0.0], np.cumsum(gaps_s)])

    whole_days, rest_s = divmod(span_s, DAY_S)
    busy_span_s = whole_days * DAY_S + np.interp(rest_s, edges_s, busy_edges_s)
    days, rest = np.divmod(busy_s * (busy_span_s / busy_s[-1]), DAY_S)
    at_s: FloatArray = days * DAY_S + np.interp(rest, busy_edges_s, edges_s)
    return np.rint(at_s).astype(np.int64)


def _draw_up_to(limit: float, size: int, draw: Callable[[IntArray], FloatArray]) -> FloatArray:
    """Values of `draw(index)`, drawn again where they exceed `limit`."""
    values = np.empty(size)
    again = np.arange(size)
    while again.size:
        values[again] = draw(again)
        again = again[values[again] > limit]
    return values
