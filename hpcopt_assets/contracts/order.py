"""The one order of jobs: rows of trace_jobs, and ids within it.

In:  column names of trace_jobs.   Out: what to sort by, and frames in that order.
Not here: the sorting of large tables (ingest/staging.py).
"""

from __future__ import annotations

import numpy as np
import polars as pl

DIGITS = 20
# What the largest 64-bit number has; longer numbers keep their length and compare as text.
KEY_ORDER = ("release_s", "submit_s", "job_order", "job_id", "attempt")
JOB_KEY = ("job_id", "attempt")
# What tells one row of a trace from another.
ROW_ORDER = (*KEY_ORDER, "source_file", "source_line")
# Row order of trace_jobs, `job_order` being the column of that name made by the function below. The id's
# text parts `7` and `007`; the last two only order rows that break the table's key.


def job_order(job_id: pl.Expr) -> pl.Expr:
    """A text for each id whose order by bytes is the natural order of ids.

    Numbers compare as numbers and the text between them as bytes: `9` < `10` < `10_2` < `10_11` < `a`. An
    order of ids, not of lines, so that it does not depend on how a log was cut into files.
    """
    stem = job_id.str.strip_chars_end("0123456789")
    tail = job_id.str.strip_prefix(stem)
    # Most ids are a number, or text and a number; only what stands before the last number is searched.
    widened = stem.str.replace_all(r"[0-9]+", "0" * DIGITS + "$0").str.replace_all(
        rf"0*([0-9]{{{DIGITS},}})", "$1"
    )
    return widened + pl.when(tail == "").then(tail).otherwise(_widened_number(tail))


def _widened_number(digits: pl.Expr) -> pl.Expr:
    return digits.str.strip_chars_start("0").str.zfill(DIGITS)


def in_trace_order(jobs: pl.DataFrame) -> pl.DataFrame:
    """Rows in the contract's order, which does not depend on the order of the rows handed in."""
    number = jobs["job_id"].cast(pl.Int64, strict=False)
    if number.null_count() == 0 and _is_increasing(jobs["release_s"], jobs["submit_s"], number):
        return jobs  # most logs are; numbers order as `job_order` does
    return jobs.with_columns(job_order=job_order(pl.col("job_id"))).sort(KEY_ORDER).drop("job_order")


def _is_increasing(*columns: pl.Series) -> bool:
    """Whether rows are already in strictly increasing lexicographic order."""
    rises = np.zeros(max(len(columns[0]) - 1, 0), dtype=np.bool_)
    for column in reversed(columns):
        step = np.diff(column.to_numpy())
        rises = (step > 0) | ((step == 0) & rises)
    return bool(rises.all())
