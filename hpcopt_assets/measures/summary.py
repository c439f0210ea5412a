"""Every measure of one schedule over one window.

In:  a schedule in trace order, the capacity, the constants.   Out: a mapping from MEASURE_KEYS to numbers.
Not here: what a good value is (configs/, claims/, fidelity/).
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.contracts.config import MeasuresConfig
from hpcopt_assets.contracts.measure_columns import MEASURE_KEYS
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.fairness import jain_index, mean_by_user, share_deviation, total_by_user
from hpcopt_assets.measures.load import SECONDS_PER_HOUR, utilisation
from hpcopt_assets.measures.schedule import FloatArray, Schedule
from hpcopt_assets.measures.slowdown import bounded_slowdown, is_backfilled
from hpcopt_assets.measures.window import is_released_in, span_of

Measures = dict[str, int | float | None]


def measure(schedule: Schedule, *, capacity: Capacity, config: MeasuresConfig, window: Window) -> Measures:
    """MEASURE_KEYS plus window_start_s and window_end_s; what cannot be known is None, never NaN.

    All windows take the same formulas, over the jobs released in them: makespan is their last end minus
    the window's start, throughput their count per hour of it. Only utilisation is clipped to the window,
    and counts every job that runs in it. A job counts as backfilled if it overtook any job of the schedule.
    """
    span = span_of(schedule, window, config)
    released = None if span is None else is_released_in(schedule, window, span)
    if span is None or released is None or not released.any():
        nothing = dict.fromkeys(MEASURE_KEYS)
        return {
            "window_start_s": None if span is None else span.start_s,
            "window_end_s": None if span is None else span.end_s,
            **nothing,
            "jobs_count": 0,
            "left_out_count": schedule.left_out_count,
            "backfilled_count": 0,
        }
    jobs = schedule.where(released)
    bsld = bounded_slowdown(jobs.wait_s, jobs.runtime_s, config.tau_s)
    makespan_s = int(jobs.end_s.max()) - span.start_s
    user_bsld = mean_by_user(bsld, jobs.user, config.min_jobs_per_user)
    user_area = total_by_user(jobs.work, jobs.user)
    return {
        "window_start_s": span.start_s,
        "window_end_s": span.end_s,
        "jobs_count": len(jobs),
        "left_out_count": schedule.left_out_count,
        **_distribution("wait_s", jobs.wait_s.astype(np.float64)),
        **_distribution("bsld", bsld),
        "utilisation_ratio": utilisation(schedule, capacity, span),
        "makespan_s": makespan_s if makespan_s >= 0 else None,
        "throughput_per_hour": len(jobs) * SECONDS_PER_HOUR / makespan_s if makespan_s > 0 else None,
        "starved_ratio": float((jobs.wait_s > config.starved_after_s).mean()),
        "backfilled_count": int(is_backfilled(schedule.start_s)[released].sum()),
        "jain_service": jain_index(user_bsld),
        "worst_user_bsld": float(user_bsld.max()) if user_bsld.size else None,
        "fairness_dev": share_deviation(user_area),
        "jain": jain_index(user_area),
    }


def _distribution(name: str, values: FloatArray) -> Measures:
    """Mean, percentiles (linear interpolation, Hyndman and Fan's type 7) and maximum; `values` not empty."""
    p50, p95, p99 = np.percentile(values, [50, 95, 99])
    return {
        f"mean_{name}": float(values.mean()),
        f"p50_{name}": float(p50),
        f"p95_{name}": float(p95),
        f"p99_{name}": float(p99),
        f"max_{name}": float(values.max()),
    }
