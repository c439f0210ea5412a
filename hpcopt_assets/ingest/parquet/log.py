"""A log kept as parquet: what the formats of that kind share.

In:  files, and a format: its fields and what they say of a job.   Out: `Parsed`; its records are read lazily.
Not here: what a format's columns mean (pm100.py, fdata.py).

Files are read in pieces, never whole, and several times: once to judge every row and to note the ids, again
where an id is repeated, and again for the records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.unique import Tally
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode, RequestKind
from hpcopt_assets.ingest.canonical import UNFINISHED, flag_list
from hpcopt_assets.ingest.lazily import lazy_records
from hpcopt_assets.ingest.parquet.columns import Columns, find_columns
from hpcopt_assets.ingest.parquet.dumps import Reader, Standing, standings
from hpcopt_assets.ingest.parquet.fields import RAW, SPAN_MAX_S, UNSET_NUMBERS, Check, Field, Instant
from hpcopt_assets.ingest.parsed import (
    LineCounts,
    Machine,
    Options,
    Parsed,
    Refused,
    SourceFile,
)
from hpcopt_assets.ingest.slurm.durations import LIMIT_WORDS
from hpcopt_assets.ingest.source import TEXT_CHARS, RowBudget, check_size

FAILED = "failed_check"
REPEATED_HOUR = "is_hour_repeated"
NO_LIMIT = (2.0**31 - 1, *UNSET_NUMBERS)
# How "no limit" is written as a number, the largest of 31 bits included: 68 years.
CLOCK_SLACK_S = 1
# Clocks and elapsed times are rounded each for itself: one second says nothing.


@dataclass(frozen=True)
class ParquetFormat:
    """What a format's columns are, and what they say.

    Every format has fields called `id`, `submit`, `start`, `end`, `elapsed` and `limit`. `facts` adds columns
    of records, `is_state_known`, and `start_s` and `ended_s` where they are facts, no guesses.
    """

    fields: tuple[Field, ...]
    facts: Callable[[pl.LazyFrame], pl.LazyFrame]
    limit_unit_s: int
    zone: str
    # Of times that name none, where the registry states none.
    trusts_elapsed: bool
    # Whether the stated elapsed time or the time from start to end is how long a job ran, if they differ.
    machine: Machine


def read_parquet_log(files: tuple[SourceFile, ...], options: Options, log: ParquetFormat) -> Parsed:
    """Read all files of a trace. Raises `TraceError` for a damaged file, a missing column, too many rows."""
    zone = options.timezone or log.zone
    for file in files:
        check_size(file.path, options.limits)
    sources = [find_columns(file, log.fields) for file in sorted(files, key=lambda file: file.name)]
    budget = RowBudget(options.limits)
    for source in sources:
        budget.spend(source.file.path, source.rows)
    counts = LineCounts(lines=budget.spent)
    refused: list[Refused] = []
    tally = Tally(counts.lines)
    for source in sources:
        judge = _Judge(source, log, zone)
        for piece in source.pieces():
            judged = judge.judged(piece)
            refused += judge.refusals(judged.filter(pl.col(FAILED).is_not_null()))
            good = judged.filter(pl.col(FAILED).is_null())
            tally.add(good.select("job_id"))
            counts.merged += good.height
    readers = [partial(_records, source, log, zone) for source in sources]
    decided = standings(readers, tally)
    facts = sum((Counter(standing.facts()) for standing in decided), Counter())
    return Parsed(
        records=lazy_records(partial(_kept, readers, decided)),
        refused=refused,
        counts=counts,
        machine=log.machine,
        facts=dict(facts),
    )


class _Judge:
    """What a file's rows say, and which of its checks each row fails first."""

    def __init__(self, source: Columns, log: ParquetFormat, zone: str) -> None:
        self.source, self.log = source, log
        self.checks: list[Check] = []
        reads, repeated = [], [pl.lit(False)]
        for field in log.fields:
            name = source.spelled.get(field.name)
            if name is None:
                reads.append(pl.lit(None, dtype=field.dtype).alias(field.name))
                continue
            raw, dtype = pl.col(RAW + name), source.dtypes[name]
            reads.append(field.read(raw, dtype, zone).alias(field.name))
            self.checks += field.checks(raw, dtype)
            if isinstance(field, Instant):
                repeated.append(field.is_repeated(raw, dtype, zone))
        self.reads = [*reads, pl.any_horizontal(repeated).fill_null(False).alias(REPEATED_HOUR)]
        self.first_failed = _first_failed(self.checks, 0)
        together = _checks_together()
        self.first_failed_together = _first_failed(together, len(self.checks))
        self.checks += together

    def judged(self, piece: pl.DataFrame) -> pl.DataFrame:
        """Raw columns, columns of records, and the number of the first check that the row fails, or null."""
        fields = (
            piece.lazy()
            .with_columns(self.reads)
            .with_columns(self.first_failed.alias(FAILED))
            .with_columns(field.cleaned() for field in self.log.fields)
            .with_columns(job_id="id", submit_s="submit", **_stated_limit(self.log.limit_unit_s))
        )
        return (
            self.log.facts(fields)
            .with_columns(runtime_s=_runtime(trusts_elapsed=self.log.trusts_elapsed))
            .with_columns(end_s=_end())
            .with_columns(pl.coalesce(FAILED, self.first_failed_together).alias(FAILED))
            .collect()
        )

    def refusals(self, bad: pl.DataFrame) -> Iterator[Refused]:
        """Rows that fail a check."""
        for row in bad.iter_rows(named=True):
            check = self.checks[row[FAILED]]
            name = self.source.spelled.get(check.field, check.field)
            told = {column: row[RAW + column] for column in self.source.dtypes}
            yield Refused(
                source_file=self.source.file.name,
                source_line=row["source_line"],
                code=check.code,
                reason=f"{name} is {_shown(told.get(name))}, {check.needed} needed",
                text=", ".join(f"{column}={_shown(value)}" for column, value in told.items())[:TEXT_CHARS],
            )


def _shown(value: Any) -> str:
    return "missing" if value is None else str(value)[:TEXT_CHARS]


def _first_failed(checks: list[Check], before: int) -> pl.Expr:
    return pl.coalesce(
        pl.lit(None, dtype=pl.Int32),
        *(pl.when(check.fails).then(pl.lit(before + k, dtype=pl.Int32)) for k, check in enumerate(checks)),
    )


def _checks_together() -> list[Check]:
    """What a job's times may not be. Fields are named as every such format names them."""
    start, submit = pl.col("start_s"), pl.col("submit_s")
    return [
        Check("start", start < submit, RejectCode.NEGATIVE_WAIT, "a start not before the submission"),
        Check("end", pl.col("ended_s") < start, RejectCode.NEGATIVE_RUNTIME, "an end not before the start"),
        Check(
            "end", pl.col("end_s") > TIME_MAX_S, RejectCode.OUT_OF_RANGE, f"at most {TIME_MAX_S} s since 1970"
        ),
    ]


def _stated_limit(unit_s: int) -> dict[str, pl.Expr]:
    """The requested runtime (s) and its kind, from a number of units or a word; odd values are flagged."""
    text = pl.col("limit").str.to_lowercase()
    seconds = text.cast(pl.Float64, strict=False) * unit_s
    word = text.replace_strict(LIMIT_WORDS, default=None, return_dtype=pl.String)
    is_limit = seconds.is_between(0, SPAN_MAX_S)
    return {
        "limit_s": pl.when(is_limit).then(seconds),
        "requested_runtime_kind": pl.coalesce(
            word,
            pl.when((seconds / unit_s).is_in(NO_LIMIT)).then(pl.lit(RequestKind.UNLIMITED.value)),
            pl.when(is_limit).then(pl.lit(RequestKind.LIMIT.value)),
            pl.lit(RequestKind.UNKNOWN.value),
        ),
    }


def _held() -> pl.Expr:
    return pl.col("ended_s") - pl.col("start_s")


def _runtime(*, trusts_elapsed: bool) -> pl.Expr:
    """How long the job ran, or so far; null for a job that waits or never started."""
    elapsed = (pl.col("elapsed") + 0.5).floor().cast(pl.Int64)
    known = pl.coalesce(elapsed, _held()) if trusts_elapsed else pl.coalesce(_held(), elapsed)
    never_ran = pl.col("start_s").is_null() & (elapsed.fill_null(0) == 0)
    return pl.when(~never_ran & (pl.col("state") != JobState.PENDING.value)).then(known)


def _end() -> pl.Expr:
    return pl.when(_is_finished()).then(pl.col("start_s") + pl.col("runtime_s"))


def _is_finished() -> pl.Expr:
    return ~pl.col("state").is_in(UNFINISHED)


def _flags(source: Columns) -> dict[QualityFlag, pl.Expr]:
    elapsed, limit = pl.col("elapsed"), pl.col("limit_s")
    has_eligible = "eligible" in source.spelled
    return {
        QualityFlag.FRACTIONAL_TIME: (elapsed != elapsed.floor()) | (limit != limit.floor()),
        QualityFlag.UNKNOWN_STATUS: ~pl.col("is_state_known"),
        QualityFlag.ELIGIBLE_UNKNOWN: pl.col("eligible_s").is_null() & has_eligible,
        QualityFlag.INVALID_LIMIT: pl.col("limit").is_not_null()
        & (pl.col("requested_runtime_kind") == RequestKind.UNKNOWN.value),
        QualityFlag.ELAPSED_DIFFERS: _is_finished() & ((_held() - elapsed).abs() > CLOCK_SLACK_S),
        QualityFlag.AMBIGUOUS_LOCAL_TIME: pl.col(REPEATED_HOUR),
    }


def _records(source: Columns, log: ParquetFormat, zone: str) -> Iterator[pl.DataFrame]:
    """The rows that fail no check, as records without their attempts, piece by piece."""
    judge = _Judge(source, log, zone)
    is_limit = pl.col("requested_runtime_kind") == RequestKind.LIMIT.value
    for piece in source.pieces():
        yield (
            judge.judged(piece)
            .filter(pl.col(FAILED).is_null())
            .with_columns(
                source_file=pl.lit(source.file.name),
                requested_runtime_s=pl.when(is_limit).then((pl.col("limit_s") + 0.5).floor()),
                is_finished=_is_finished(),
                quality_flags=flag_list(_flags(source)),
            )
        )


def _kept(readers: Sequence[Reader], decided: list[Standing]) -> Iterator[pl.DataFrame]:
    """The kept records of all files."""
    for read, standing in zip(readers, decided, strict=True):
        for piece in read():
            yield standing.of(piece)
