"""The periods that are judged: everything, or a window of it, and each calendar quarter.

In:  trace_jobs, the machine's time zone.   Out: the jobs released in the window, and the quarters.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.measures.calendar import Quarter, quarters, zone_of
from hpcopt_assets.measures.window import Span


def periods_of(
    trace_jobs: pl.DataFrame, timezone: str | None, window: Span | None
) -> tuple[pl.DataFrame, list[Quarter]]:
    """The jobs released in the window, and what lies in it of each quarter in which any of them was."""
    jobs = trace_jobs if window is None else trace_jobs.filter(released_in(window))
    found = quarters(jobs["release_s"].to_numpy(), zone_of(timezone))
    return jobs, found if window is None else [_clipped(quarter, window) for quarter in found]


def released_in(span: Span) -> pl.Expr:
    """Whether a job was released in the span."""
    return pl.col("release_s").is_between(*span, closed="left")


def unseeded(error: EvidenceError) -> str:
    """Why a period cannot be replayed from its observed beginning."""
    return f"cannot begin as observed: {error.found}, {error.needed} needed"


def _clipped(quarter: Quarter, window: Span) -> Quarter:
    """What of a quarter lies in the window."""
    (start_s, end_s), (first_s, last_s) = quarter.span, window
    return Quarter(quarter.name, Span(max(start_s, first_s), min(end_s, last_s)))
