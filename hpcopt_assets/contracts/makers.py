"""Makers of columns (a kind, with its type, unit and bounds), and the columns that several tables have.

In:  columns.py.   Out: one function a kind; constants.
Not here: the tables (tables.py and the *_tables.py beside it).
"""

from __future__ import annotations

from hpcopt_assets.contracts.columns import BYTES_MAX, COUNT_MAX, PROCS_MAX, TIME_MAX_S, Column, DType


def instant(name: str, means: str, *, nullable: bool = False) -> Column:
    """A point in time."""
    return Column(
        name,
        DType.INT64,
        means,
        unit="s since 1970-01-01 UTC",
        nullable=nullable,
        lo=-TIME_MAX_S,
        hi=TIME_MAX_S,
    )


def seconds(name: str, means: str, *, nullable: bool = False, lo: int = 0) -> Column:
    """A duration."""
    return Column(name, DType.INT64, means, unit="s", nullable=nullable, lo=lo, hi=TIME_MAX_S)


def procs(name: str, means: str, *, nullable: bool = False, lo: int = 1) -> Column:
    """A number of processors."""
    return Column(name, DType.INT64, means, unit="processors", nullable=nullable, lo=lo, hi=PROCS_MAX)


def count(
    name: str, means: str, *, unit: str = "count", nullable: bool = False, lo: int = 0, hi: int = COUNT_MAX
) -> Column:
    """A number of things."""
    return Column(name, DType.INT64, means, unit=unit, nullable=nullable, lo=lo, hi=hi)


def size_bytes(name: str, means: str, *, nullable: bool = True) -> Column:
    """An amount of memory or storage."""
    return Column(name, DType.INT64, means, unit="bytes", nullable=nullable, lo=0, hi=BYTES_MAX)


def real(
    name: str,
    means: str,
    unit: str,
    *,
    nullable: bool = True,
    lo: float | None = 0.0,
    hi: float | None = None,
) -> Column:
    """A number that need not be whole; not negative unless `lo` says so."""
    return Column(name, DType.FLOAT64, means, unit=unit, nullable=nullable, lo=lo, hi=hi)


def text(name: str, means: str, *, nullable: bool = False) -> Column:
    """A string of any content."""
    return Column(name, DType.STRING, means, nullable=nullable)


def word(name: str, means: str, words: tuple[str, ...], *, nullable: bool = False) -> Column:
    """A word of a closed vocabulary."""
    return Column(name, DType.STRING, means, nullable=nullable, words=words)


def flag(name: str, means: str, *, nullable: bool = False) -> Column:
    """True or false."""
    return Column(name, DType.BOOL, means, nullable=nullable)


def array(name: str, means: str, dtype: DType, *, hi: float, unit: str) -> Column:
    """A list of non-negative numbers, as long in every row."""
    return Column(name, dtype, means, unit=unit, lo=0, hi=hi)


# --- columns of several tables ---

TRACE_ID = text("trace_id", "the trace, which is also its partition key")
POLICY = text("policy", "id of a policy in configs/policies.yaml; `observed` is what the log recorded")
PERIOD = text("period", "`whole` trace, or the jobs released in a calendar quarter, like `2003-Q2`")
JOB_ID = text("job_id", "the job's id as the log writes it")
ATTEMPT = count("attempt", "which attempt of the job this row is, from 1", unit="ordinal", lo=1)
SUBMIT_S = instant("submit_s", "when the job was submitted")
RELEASE_S = instant("release_s", "when the job could first be scheduled: eligible where known, else submit")
PROCS = procs("procs", "processors the job occupies: requested where known, else allocated", nullable=True)
USER = text("user", "who submitted the job", nullable=True)
