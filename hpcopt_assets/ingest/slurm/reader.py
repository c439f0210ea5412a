"""Slurm accounting: dumps of `sacct --parsable2` (or `-p`, or CSV) as records.

In:  files of one trace, with a header or a list of fields; monthly dumps may overlap.   Out: `Parsed`.
Not here: lines (lines.py, joins.py, layout.py), rows (rows.py, sizes.py),
     values (values.py, times.py), rows that belong together (jobs.py).
Source: sacct(1), https://slurm.schedmd.com/sacct.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import polars as pl

from hpcopt_assets.contracts.vocabulary import RejectCode
from hpcopt_assets.ingest.parsed import RECORD_SCHEMA, LineCounts, Loss, Options, Parsed, Refused, SourceFile
from hpcopt_assets.ingest.slurm.jobs import join_rows
from hpcopt_assets.ingest.slurm.lines import LineReader
from hpcopt_assets.ingest.slurm.rows import read_rows
from hpcopt_assets.ingest.source import RowBudget, blocks, with_texts

BLOCK_BYTES = 16 * 2**20
# Each distinct value is read once a block, so that larger blocks than other formats' pay.


def read_sacct(files: tuple[SourceFile, ...], options: Options) -> Parsed:
    """Records of all files together, in whatever order they come; the record that knows a job's end wins.

    Raises `TraceError` for a file that cannot be read at all, that has neither a header nor a list of
    fields, or whose columns do not tell what a job needs.
    """
    jobs: list[pl.DataFrame] = []
    steps: list[pl.DataFrame] = []
    lost: dict[str, list[Loss]] = {}
    counts = LineCounts()
    budget = RowBudget(options.limits)
    cancelled_tasks: dict[str, int] = {}
    for file in sorted(files, key=lambda file: file.name):
        reader = LineReader(str(file.path), options.fields)
        here = lost.setdefault(file.name, [])
        for text in _rows_of_text(reader, file, options):
            budget.spend(file.path, text.height)
            rows = read_rows(text, options.timezone or "UTC")
            name = pl.lit(file.name).alias("source_file")
            jobs.append(rows.jobs.with_columns(name))
            steps.append(rows.steps.with_columns(name))
            here += rows.lost
            cancelled_tasks |= rows.cancelled_tasks
        here += reader.lost
        _add(counts, reader.counts)
    if not jobs:
        return Parsed(pl.LazyFrame(schema=RECORD_SCHEMA), _refused(files, lost, options), counts)
    joined = join_rows(pl.concat(jobs), pl.concat(steps))
    for row in joined.lost_steps.iter_rows(named=True):
        reason = f"step {row['step']} of job {row['base_id']}, of which no line tells, one needed"
        lost[row["source_file"]] += [
            Loss(row["source_line"] + more, RejectCode.NO_JOB_OF_STEP, reason)
            for more in range(row["lines_count"])
        ]
    counts.merged += joined.merged
    facts = joined.facts | {"cancelled_array_tasks": sum(cancelled_tasks.values())}
    return Parsed(
        records=joined.records.lazy(),
        refused=_refused(files, lost, options),
        counts=counts,
        facts={name: count for name, count in facts.items() if count},
    )


def _rows_of_text(reader: LineReader, file: SourceFile, options: Options) -> Iterator[pl.DataFrame]:
    for block in blocks(file.path, options.limits, BLOCK_BYTES):
        yield from reader.feed(block)
    yield from reader.finish()


def _add(total: LineCounts, more: LineCounts) -> None:
    for part in fields(LineCounts):
        setattr(total, part.name, getattr(total, part.name) + getattr(more, part.name))


def _refused(files: tuple[SourceFile, ...], lost: dict[str, list[Loss]], options: Options) -> list[Refused]:
    return [
        refused for file in files for refused in with_texts(file, lost.get(file.name, []), options.limits)
    ]
