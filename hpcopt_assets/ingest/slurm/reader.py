"""Slurm accounting: dumps of `sacct --parsable2` (or `-p`, or CSV) as records.

In:  files of one trace, with a header or a list of fields; monthly dumps may overlap.   Out: `Parsed`.
Not here: lines (lines.py, joins.py, layout.py), rows (rows.py, sizes.py),
     values (values.py, times.py), rows that belong together (whose.py, jobs.py).
Source: sacct(1), https://slurm.schedmd.com/sacct.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from hpcopt_assets.contracts.vocabulary import QualityFlag, RejectCode
from hpcopt_assets.ingest.parsed import RECORD_SCHEMA, LineCounts, Loss, Options, Parsed, Refused, SourceFile
from hpcopt_assets.ingest.slurm.jobs import Joined, join_rows
from hpcopt_assets.ingest.slurm.lines import LineReader
from hpcopt_assets.ingest.slurm.ranges import reason
from hpcopt_assets.ingest.slurm.rows import goes_on, read_rows
from hpcopt_assets.ingest.source import RowBudget, blocks, with_texts

BLOCK_BYTES = 16 * 2**20
# Each distinct value is read once a block, so that larger blocks than other formats' pay.


@dataclass
class Dump:
    """One file as rows, its lost lines, and the lines that go on with a record (`joins.Continued`)."""

    jobs: list[pl.DataFrame]
    steps: list[pl.DataFrame]
    ranges: list[pl.DataFrame]
    lost: list[Loss]
    continued: pl.DataFrame
    counts: LineCounts


def read_sacct(files: tuple[SourceFile, ...], options: Options) -> Parsed:
    """Records of all files together, in whatever order they come; the record that knows a job's end wins.

    Raises `TraceError` for a file that cannot be read at all, that has neither a header nor a list of
    fields, or whose columns do not tell what a job needs.
    """
    budget = RowBudget(options.limits)
    dumps = {file.name: _dump(file, options, budget) for file in sorted(files, key=lambda file: file.name)}
    counts = LineCounts()
    for dump in dumps.values():
        _add(counts, dump.counts)
    if not any(dump.jobs for dump in dumps.values()):
        return Parsed(pl.LazyFrame(schema=RECORD_SCHEMA), _refused(files, dumps, options), counts)
    joined = join_rows(
        *(
            pl.concat([frame for dump in dumps.values() for frame in getattr(dump, kind)])
            for kind in ("jobs", "steps", "ranges")
        )
    )
    _lose(joined, dumps)
    continued = sum(_account(dump) for dump in dumps.values())
    counts.merged += joined.merged + continued
    facts = joined.facts | {"lines_after_the_last_column": continued}
    return Parsed(
        records=joined.records.lazy(),
        refused=_refused(files, dumps, options),
        counts=counts,
        facts={name: count for name, count in facts.items() if count},
    )


def _dump(file: SourceFile, options: Options, budget: RowBudget) -> Dump:
    reader = LineReader(str(file.path), options.fields)
    dump = Dump([], [], [], reader.lost, pl.DataFrame(), reader.counts)
    lost: list[Loss] = []
    for text in _rows_of_text(reader, file, options):
        budget.spend(file.path, text.height)
        rows = read_rows(text, options.timezone or "UTC")
        name = pl.lit(file.name).alias("source_file")
        dump.jobs.append(rows.jobs.with_columns(name))
        dump.steps.append(rows.steps.with_columns(name))
        dump.ranges.append(rows.ranges.with_columns(name))
        lost += rows.lost
    dump.lost += lost
    dump.continued = reader.continued()
    if dump.continued.height:
        is_continued = pl.col("source_line").is_in(dump.continued["record_line"].unique().implode())
        flag = QualityFlag.RECOVERED_FIELDS.value
        dump.jobs = [jobs.with_columns(pl.col(flag) | is_continued) for jobs in dump.jobs]
    return dump


def _rows_of_text(reader: LineReader, file: SourceFile, options: Options) -> Iterator[pl.DataFrame]:
    for block in blocks(file.path, options.limits, BLOCK_BYTES):
        yield from reader.feed(block)
    yield from reader.finish()


def _lose(joined: Joined, dumps: dict[str, Dump]) -> None:
    """Adds the steps and the ranges of no job to the lost lines."""
    for row in joined.lost_steps.iter_rows(named=True):
        why = f"step {row['step']} of job {row['base_id']}, of which no line tells, one needed"
        _lose_row(row, RejectCode.NO_JOB_OF_STEP, why, dumps)
    for row in joined.lost_ranges.iter_rows(named=True):
        why = reason(row["root"], row["range"], row["state"], row["left"])
        _lose_row(row, RejectCode.PENDING_ARRAY_RANGE, why, dumps)


def _lose_row(row: dict[str, Any], code: RejectCode, why: str, dumps: dict[str, Dump]) -> None:
    loss = Loss(row["source_line"], code, why)
    more = [Loss(loss.source_line + k, code, goes_on(loss)) for k in range(1, row["lines_count"])]
    dumps[row["source_file"]].lost += [loss, *more]


def _account(dump: Dump) -> int:
    """How many lines go on with records that are jobs or steps; those of a lost record are lost with it."""
    lost = {loss.source_line: loss for loss in dump.lost}
    is_lost = pl.col("record_line").is_in(list(lost))
    for record, line in dump.continued.filter(is_lost).iter_rows():
        dump.lost.append(Loss(line, lost[record].code, goes_on(lost[record])))
    return dump.continued.filter(~is_lost).height


def _add(total: LineCounts, more: LineCounts) -> None:
    for part in fields(LineCounts):
        setattr(total, part.name, getattr(total, part.name) + getattr(more, part.name))


def _refused(files: tuple[SourceFile, ...], dumps: dict[str, Dump], options: Options) -> list[Refused]:
    return [refused for file in files for refused in with_texts(file, dumps[file.name].lost, options.limits)]
