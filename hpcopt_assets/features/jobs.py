"""The features of every job, in one pass over arrays.

In:  a `trace_jobs` frame in any row order, the trace's time zone.   Out: `job_features`.
Not here: the arithmetic of histories (history.py) and of the system's state (state.py).
Source: history features after Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007, section 2.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.forecast_tables import JOB_FEATURES, LIKE, SHARES
from hpcopt_assets.features.history import NOBODY, Past
from hpcopt_assets.features.state import queue_state
from hpcopt_assets.features.trace import Trace
from hpcopt_assets.measures.calendar import Zone, hours_and_weekdays, zone_of
from hpcopt_assets.measures.schedule import FloatArray


def job_features(trace_jobs: pl.DataFrame, timezone: str | None) -> pl.DataFrame:
    """What a scheduler knew of each job at its submission, in trace order.

    History holds the jobs that had ended at or before the submission. Without a time zone that is known,
    hours and weekdays are UTC's. What is not known is null.
    """
    trace = Trace.of(trace_jobs)
    ended = {prefix: _ended(trace, prefix) for prefix in LIKE}
    columns = {
        **_request(trace),
        **_calendar(trace, zone_of(timezone)),
        **_shares(trace),
        **{
            name: values for prefix in LIKE for name, values in _typical(trace, ended[prefix], prefix).items()
        },
        **_habits(trace, ended["user"]),
        **queue_state(trace),
    }
    numbers = {
        name: pl.Series(values, dtype=pl.Float64, nan_to_null=True) for name, values in columns.items()
    }
    return JOB_FEATURES.shape(
        trace.jobs.select("trace_id", "job_id", "attempt", "submit_s").with_columns(**numbers)
    )


def _ended(trace: Trace, prefix: str) -> Past:
    return Past.of(trace.group(prefix), trace.end_s, trace.is_completed, trace.submit_s)


def _request(trace: Trace) -> dict[str, FloatArray]:
    def known(name: str) -> FloatArray:
        return trace.jobs[name].cast(pl.Float64).fill_null(np.nan).to_numpy()

    return {
        "procs": trace.procs,
        "limit_s": trace.limit_s,
        "has_request": trace.has_request.astype(np.float64),
        "requested_area": trace.procs * trace.limit_s,
        "memory_bytes": known("requested_memory_bytes"),
        "gpus": known("gpus"),
    }


def _calendar(trace: Trace, zone: Zone) -> dict[str, FloatArray]:
    hours, weekdays = hours_and_weekdays(trace.submit_s, zone)
    return {"hour_of_day": hours.astype(np.float64), "weekday": (weekdays + 1).astype(np.float64)}


def _shares(trace: Trace) -> dict[str, FloatArray]:
    """How common each identity has been among the jobs submitted before; null where it is unknown."""
    order = trace.submission_order
    first = pl.Series(trace.is_first[order].astype(np.int64))
    before = np.maximum((first.cum_sum() - first).to_numpy(), 1)
    shares = {}
    for column in SHARES:
        name = column.name.removesuffix("_share_ratio")
        own = trace.jobs.select(pl.col(name).gather(order)).with_columns(first=first)
        seen = own.select(
            pl.when(pl.col(name).is_not_null()).then((pl.col("first").cum_sum() - pl.col("first")).over(name))
        ).to_series()
        shares[column.name] = np.empty(len(trace))
        shares[column.name][order] = seen.cast(pl.Float64).fill_null(np.nan).to_numpy() / before
    return shares


def _typical(trace: Trace, ended: Past, prefix: str) -> dict[str, FloatArray]:
    """The columns `LIKE[prefix]` of a history."""
    last, previous = ended.last(trace.runtime_s), ended.last(trace.runtime_s, back=1)
    typical = {
        "last": last,
        "previous": previous,
        "last2_mean": (last + previous) / 2,
        "last5_mean": ended.recent_mean(trace.runtime_s),
        "median": ended.median(trace.runtime_s),
        "spread": ended.spread(trace.runtime_s),
    }
    return {
        f"{prefix}_count": ended.count.astype(np.float64),
        **{f"{prefix}_{name}_s": values for name, values in typical.items()},
        **{f"{prefix}_{name}_per_request": values / trace.limit_s for name, values in typical.items()},
    }


def _habits(trace: Trace, ended: Past) -> dict[str, FloatArray]:
    """How far a user's requests exceeded the need, and how long ago the user was last seen."""
    used = np.minimum(trace.runtime_s / trace.limit_s, 1.0)
    now = trace.submit_s.astype(np.float64)
    return {
        "user_used_ratio": ended.mean(used),
        "user_at_limit_ratio": ended.mean((trace.runtime_s >= trace.limit_s).astype(np.float64)),
        "user_since_submission_s": _since_submission(trace),
        "user_since_end_s": now - ended.last(trace.end_s.astype(np.float64)),
    }


def _since_submission(trace: Trace) -> FloatArray:
    """Time since the same user's submission before; among those of one second, by position."""
    order = trace.submission_order[trace.is_first[trace.submission_order]]
    order = order[np.argsort(trace.user[order], kind="stable")]
    user = trace.user[order]
    is_next = (user[1:] == user[:-1]) & (user[1:] != NOBODY)
    since = np.full(len(trace), np.nan)
    since[order[1:][is_next]] = np.diff(trace.submit_s[order])[is_next]
    return since
