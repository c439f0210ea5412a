"""What came of a trace: its rejects as a table, the one row of its report, and counts for people.

In:  `trace_jobs` as it was written, `Parsed`, and the registry's entry.
Out: `trace_rejects`, `ingest_report`, a breakdown.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import polars as pl

from hpcopt_assets.contracts.tables import INGEST_REPORT, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.contracts.vocabulary import CapacitySource, TraceFormat, Unit
from hpcopt_assets.ingest.parsed import Parsed, Refused
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.units import in_unit
from hpcopt_assets.measures.usage import observed_usage

Breakdown = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Read:
    """What was read: which trace, in which format, its files' hash and number, and the jobs left aside."""

    trace_id: str
    kind: TraceFormat
    sha256: str
    files_count: int
    unselected_jobs_count: int


def rejects_of(refused: list[Refused], trace_id: str) -> pl.DataFrame:
    """`trace_rejects`, by file and line."""
    rows = [
        (trace_id, line.source_file, line.source_line, line.code.value, line.reason, line.text)
        for line in sorted(refused)
    ]
    return pl.DataFrame(rows, schema=TRACE_REJECTS.polars_schema(), orient="row")


def report_of(jobs: pl.LazyFrame, parsed: Parsed, entry: TraceEntry, read: Read) -> pl.DataFrame:
    """`ingest_report`: one row on what was read and what came of it."""
    started = pl.col("start_s").is_not_null().sum()
    totals = jobs.select(
        pl.len().alias("jobs_count"),
        started.alias("started_jobs_count"),
        pl.col("release_s").min().alias("first_release_s"),
        pl.col("end_s").max().alias("last_end_s"),
    )
    capacity, source, peak, over_s = _capacity(jobs, entry, parsed.machine.max_procs)
    row = {
        "trace_id": read.trace_id,
        "format": read.kind.value,
        "files_count": read.files_count,
        "sha256": read.sha256,
        "lines_count": parsed.counts.lines,
        "header_lines_count": parsed.counts.header,
        "comment_lines_count": parsed.counts.comment,
        "blank_lines_count": parsed.counts.blank,
        "job_lines_count": parsed.counts.merged,
        "rejects_count": len(parsed.refused),
        "unselected_jobs_count": read.unselected_jobs_count,
        **totals.collect(engine="streaming").row(0, named=True),
        "computer": parsed.machine.computer,
        "installation": parsed.machine.installation,
        "timezone": entry.timezone or parsed.machine.timezone,
        "notes": [*parsed.machine.notes, *_registry_notes(entry)],
        "unix_start_s": parsed.machine.unix_start_s,
        "capacity_procs": capacity,
        "capacity_unit": entry.unit.value,
        "capacity_source": source,
        "capacity_step_at_s": [at_s for at_s, _ in steps_of(entry)],
        "capacity_step_procs": [procs for _, procs in steps_of(entry)],
        "observed_peak_procs": peak,
        "observed_over_capacity_s": over_s,
        "is_synthetic": entry.is_synthetic,
    }
    return pl.DataFrame([row], schema=INGEST_REPORT.polars_schema())


def steps_of(entry: TraceEntry) -> tuple[tuple[int, int], ...]:
    """The registry's dated sizes of the machine, as (instant in seconds, rounded up, size)."""
    return tuple((math.ceil(step.since.timestamp()), step.capacity) for step in entry.capacity_steps)


def _registry_notes(entry: TraceEntry) -> list[str]:
    """What the registry says of a trace that no number of ours shows."""
    excluded = [
        f"Excluded by the registry: jobs of user {left_out.user} submitted from {left_out.since.isoformat()} "
        f"until {left_out.until.isoformat()}"
        for left_out in entry.exclude
    ]
    return [
        *excluded,
        *([f"Licence: {entry.licence}"] if entry.licence else []),
    ]


def _capacity(
    jobs: pl.LazyFrame, entry: TraceEntry, stated: int | None
) -> tuple[int | None, CapacitySource | None, int | None, int | None]:
    """Capacity and its source, the observed peak, and seconds above capacity; None where nothing tells.

    MaxNodes is not taken for a capacity: on machines with several processors a node it is too small. Nor is
    a header's MaxProcs taken for a number of nodes, or for the size of a part of the machine.
    """
    in_use = observed_usage(in_unit(jobs, entry.unit))
    peak = in_use.peak() or None
    speaks_of_all = entry.unit is Unit.PROCS and entry.select is None
    candidates = (
        (entry.capacity_procs, CapacitySource.CONFIG),
        (stated if speaks_of_all else None, CapacitySource.HEADER),
        (peak, CapacitySource.OBSERVED_PEAK),
    )
    capacity, source = next(((size, by) for size, by in candidates if size is not None), (None, None))
    machine = None if capacity is None else Capacity(capacity, steps_of(entry))
    over_s = machine.excess(in_use).seconds_above(0) if machine is not None and peak is not None else None
    return capacity, source, peak, over_s


def breakdown_of(jobs: pl.LazyFrame, rejects: pl.DataFrame, parsed: Parsed) -> Breakdown:
    """Counts for people: rejects by code, nulls by column (where any), flags, states, kinds of request.

    A request that is no time above 0 is none that a replay can believe: it puts another in its place.
    """

    def tally(values: pl.Series) -> dict[str, int]:
        counts = Counter(dict(values.value_counts().iter_rows()))
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def of(name: str) -> pl.Series:
        return jobs.select(name).collect()[name]

    is_zero = pl.col("requested_runtime_s") == 0
    requests = (
        jobs.filter(is_zero | pl.col("requested_runtime_s").is_null())
        .select(why=pl.when(is_zero).then(pl.lit("zero")).otherwise("requested_runtime_kind"))
        .collect()
    )
    nulls = jobs.select(pl.col(TRACE_JOBS.names).null_count()).collect(engine="streaming").row(0, named=True)
    return {
        "rejects_by_code": tally(rejects["code"]),
        "nulls_by_column": {name: count for name, count in nulls.items() if count},
        "flags_by_kind": tally(of("quality_flags").explode().drop_nulls()),
        "jobs_by_state": tally(of("state")),
        "jobs_by_requested_runtime_kind": tally(of("requested_runtime_kind")),
        "requests_that_a_replay_replaces": tally(requests["why"]),
        "other_facts": parsed.facts,
    }
