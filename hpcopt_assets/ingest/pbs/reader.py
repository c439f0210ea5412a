"""PBS Professional, OpenPBS and Torque accounting logs: a trace's files as records.

In:  files.   Out: `Parsed`.
lines.py    lines as records, attributes as text   times.py     when a record took place
typed.py    texts as numbers                       attempts.py  which records tell of one start
lives.py    which records tell of one job          states.py    how it ended
values.py   durations, sizes                       records.py   what becomes of it
specs.py    lists of hosts and chunks
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from hpcopt_assets.contracts.vocabulary import JobState, RejectCode
from hpcopt_assets.ingest.parsed import LineCounts, Loss, Options, Parsed, Refused, SourceFile
from hpcopt_assets.ingest.pbs.attempts import attempts_of
from hpcopt_assets.ingest.pbs.lines import SCHEMA, read_lines
from hpcopt_assets.ingest.pbs.records import judged, records_of
from hpcopt_assets.ingest.pbs.specs import tasks_of
from hpcopt_assets.ingest.pbs.typed import typed
from hpcopt_assets.ingest.source import RowBudget, blocks, with_texts

DEFAULT_TIMEZONE = "UTC"
PARENT = r"^\d+\[\]"
SUBJOB_INDEX = r"\[\d+\]"
# `123[].server` is an array as a whole; its tasks, `123[4].server`, are the jobs.
SAID = ("job_id", "kind", "local_s", "text_hash")
# Lines in which these agree say the same.


@dataclass
class _Log:
    """What the lines of all files are. `records` are typed; `source` numbers their file."""

    records: list[pl.DataFrame] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    counts: LineCounts = field(default_factory=LineCounts)


def _read_files(files: tuple[SourceFile, ...], options: Options) -> _Log:
    log = _Log()

    def add(records: pl.DataFrame, source: int) -> None:
        log.records.append(
            typed(records, options.dialect).with_columns(source=pl.lit(source, dtype=pl.Int64))
        )

    budget = RowBudget(options.limits)
    add(pl.DataFrame(schema=SCHEMA), 0)
    for source, file in enumerate(files):
        before = 0
        for block in blocks(file.path, options.limits):
            lines = read_lines(block, before + 1)
            before += lines.count
            budget.spend(file.path, lines.records.height)
            add(lines.records, source)
            log.refused += [Refused(file.name, *line) for line in lines.lost]
            log.counts.comment += lines.comment_count
            log.counts.blank += lines.blank_count
        log.counts.lines += before
    return log


def _orphans(keyed: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Records that became part of no row: (source, source_line, code, reason).

    Records of an attempt that is refused, and those of a job of which no attempt is a row.
    """
    lines = keyed.join(
        found.select("attempt_key", "code", "reason", is_judged=True), on="attempt_key", how="left"
    )
    is_row = pl.col("is_judged").fill_null(False) & pl.col("code").is_null()
    nothing = pl.format(
        "nothing tells when job {} was submitted, a Q, S or E record that does needed", "job_id"
    )
    return lines.filter(pl.col("code").is_not_null() | ~is_row.any().over("job")).select(
        "source",
        "source_line",
        code=pl.coalesce(
            "code",
            pl.col("code").first(ignore_nulls=True).over("job"),
            pl.lit(RejectCode.NO_SUBMIT_TIME.value),
        ),
        reason=pl.coalesce("reason", pl.col("reason").first(ignore_nulls=True).over("job"), nothing),
    )


def _waiting_arrays(parents: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Records of arrays none of whose tasks is a job of the trace: (source, source_line, code, reason)."""
    rows = found.filter(pl.col("code").is_null())
    arrays = rows.select(pl.col("job_id").str.replace(SUBJOB_INDEX, "[]").unique())["job_id"]
    waiting = parents.filter(~pl.col("job_id").is_in(arrays.implode()))
    reasons = {
        job_id: _reason(job_id, indices)
        for job_id, indices in waiting.group_by("job_id")
        .agg(pl.col("array_indices").sort().first(ignore_nulls=True))
        .iter_rows()
    }
    return waiting.select(
        "source",
        "source_line",
        code=pl.lit(RejectCode.PENDING_ARRAY_RANGE.value),
        reason=pl.col("job_id").replace_strict(reasons, return_dtype=pl.String),
    )


def _reason(job_id: str, indices: str | None) -> str:
    count, throttle = (None, None) if indices is None else tasks_of(indices)
    tasks = "an unknown number of tasks" if count is None else f"{count} tasks"
    limit = "" if throttle is None else f", {throttle} at once"
    return f"array {job_id} of {tasks}{limit}: no record of any of them, one needed"


def _refused(lost: pl.DataFrame, files: tuple[SourceFile, ...], options: Options) -> Iterator[Refused]:
    """Lost records with their text, which is read again: few are lost."""
    for source, file in enumerate(files):
        here = lost.filter(pl.col("source") == source).select("source_line", "code", "reason")
        losses = [Loss(line, RejectCode(code), reason) for line, code, reason in here.iter_rows()]
        yield from with_texts(file, losses, options.limits)


def _facts(found: pl.DataFrame, told: pl.DataFrame, parents: pl.DataFrame) -> dict[str, int]:
    rows = found.filter(pl.col("code").is_null())
    facts = {
        "superseded_lines": told.height - told.select(pl.struct(SAID).n_unique()).item(),
        "jobs_with_a_reused_id": rows.filter(pl.col("suffix") != "")["job"].n_unique(),
        "requeued_attempts": (rows["state"] == JobState.REQUEUED.value).sum(),
        "failed_starts": (rows["starts_count"].cast(pl.Int64) - 1).clip(0).sum(),
        "suspended_seconds": rows["suspended_s"].sum(),
        "arrays": parents["job_id"].n_unique(),
        "attempts_on_another_clock": rows["is_other_clock"].sum(),
    }
    return {name: int(count) for name, count in facts.items() if count}


def read_pbs(files: tuple[SourceFile, ...], options: Options) -> Parsed:
    """Records of PBS accounting logs, packed with gzip or not: one for each attempt of a job.

    The order of lines and files does not matter. Local times are read in `options.timezone` (UTC where it is
    None). What cannot be read at all raises `TraceError`.
    """
    files = tuple(sorted(files, key=lambda file: file.name))
    log = _read_files(files, options)
    told = pl.concat(log.records)
    is_parent = pl.col("job_id").str.contains(PARENT)
    parents = told.filter(is_parent)
    keyed, attempts = attempts_of(told.filter(~is_parent), options.timezone or DEFAULT_TIMEZONE)
    found = judged(attempts)
    records = records_of(found, tuple(file.name for file in files))
    lost = pl.concat([_orphans(keyed, found), _waiting_arrays(parents, found)])
    log.refused += _refused(lost, files, options)
    log.counts.merged = told.height - lost.height
    return Parsed(
        records=records.lazy(), refused=log.refused, counts=log.counts, facts=_facts(found, told, parents)
    )
