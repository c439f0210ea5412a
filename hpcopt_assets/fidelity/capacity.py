"""Whether the observed schedule could have happened on the machine it is replayed on.

In:  trace_jobs, the capacity.   Out: one judgement a period, the same for every policy: it is about the
     record.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.sentences import in_figures, in_utc, plural
from hpcopt_assets.contracts.verdicts import Judgement
from hpcopt_assets.contracts.vocabulary import CapacitySource, Verdict
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.load import SECONDS_PER_HOUR
from hpcopt_assets.measures.schedule import Schedule, has_run
from hpcopt_assets.measures.usage import Steps, usage
from hpcopt_assets.measures.window import Span

JOBS_SHOWN = 5
UNIT = "processors"
SECONDS_PER_DAY = 86400


def judge_capacity(
    trace_jobs: pl.DataFrame, capacity: Capacity, source: CapacitySource, span: Span | None = None
) -> Judgement:
    """FAIL where the record uses more processors than there are, with when, by how much and by which jobs.

    Within a span, if one is given, by all jobs that ran in it. NOT_ASSESSED where nothing was recorded, or
    where the capacity was itself taken from the record's peak.
    """
    has_starts = trace_jobs.filter(has_run())
    ran = has_starts if span is None else has_starts.filter(_runs_in(span))
    first_release_s = int(has_starts["release_s"].min() or 0)  # type: ignore[arg-type]
    record = Schedule.of(ran)
    used = _usage(record, span)
    peak, capacity_procs = used.peak(), capacity.largest

    def judged(verdict: Verdict, reason: str) -> Judgement:
        return Judgement(verdict, float(peak), float(capacity_procs), UNIT, ran.height, reason)

    if ran.height == 0:
        lacking = "the trace records no starts" if has_starts.height == 0 else "no job ran in this period"
        return Judgement(Verdict.NOT_ASSESSED, None, float(capacity_procs), UNIT, 0, lacking)
    if source is CapacitySource.OBSERVED_PEAK:
        return judged(
            Verdict.NOT_ASSESSED,
            f"the capacity, {capacity_procs:,}, is itself the record's peak: nothing shown",
        )
    excess = capacity.excess(used)
    if excess.peak() <= 0:
        return judged(
            Verdict.PASS, f"the record uses at most {peak:,} of {plural(capacity_procs, 'processor')}"
        )
    first_s = int(excess.at_s[(excess.values > 0).argmax()])
    peak_s = int(excess.at_s[excess.values.argmax()])
    there = int(capacity.at(np.array([peak_s]))[0])
    hours = excess.seconds_above(0) / SECONDS_PER_HOUR
    return judged(
        Verdict.FAIL,
        f"the record cannot have happened on {plural(there, 'processor')}: "
        f"{_share(there + excess.peak(), there)} in use at {_instant(peak_s, first_release_s)} "
        f"by {_ids(_running(ran, peak_s))}; "
        "first above at "
        f"{_instant(first_s, first_release_s)}, {in_figures(hours)} h above in all"
        f"{_without_wide(ran, record, capacity_procs, span)}",
    )


def _runs_in(span: Span) -> pl.Expr:
    """Whether a job ran in the span; one of no runtime ran when it started."""
    start, end = pl.col("start_s"), pl.col("start_s") + pl.col("runtime_s")
    return (start < span.end_s) & ((end > span.start_s) | (start >= span.start_s))


def _usage(record: Schedule, span: Span | None) -> Steps:
    used = usage(record)
    return used if span is None else used.within(*span)


def _without_wide(ran: pl.DataFrame, record: Schedule, capacity_procs: int, span: Span | None) -> str:
    is_wide = record.procs > capacity_procs
    wide = ran.filter(pl.Series(is_wide))
    if wide.height == 0:
        return ""
    rest = _usage(record.where(~is_wide), span).peak()
    return f"; wider than the machine: {_ids(wide)}, without which the peak is {_share(rest, capacity_procs)}"


def _running(ran: pl.DataFrame, at_s: int) -> pl.DataFrame:
    return ran.filter((pl.col("start_s") <= at_s) & (at_s < pl.col("start_s") + pl.col("runtime_s")))


def _ids(jobs: pl.DataFrame) -> str:
    more = jobs.height - JOBS_SHOWN
    word = "job" if jobs.height == 1 else "jobs"
    return f"{word} {', '.join(jobs['job_id'].head(JOBS_SHOWN))}" + (
        f" and {more:,} more" if more > 0 else ""
    )


def _share(procs: int, capacity_procs: int) -> str:
    share = f" ({100 * procs / capacity_procs:.1f} %)" if capacity_procs else ""
    return f"{procs:,}{share}"


def _instant(at_s: int, first_release_s: int) -> str:
    day = (at_s - first_release_s) / SECONDS_PER_DAY
    return f"{in_utc(at_s)} (day {day:.2f} of the trace)"
