"""Builders of valid `trace_jobs` frames, so that a test says only what it is about.

In:  jobs as short tuples, or a small SWF file of ours.   Out: frames within the contract, in trace order.
Not here: ingest. `read_swf` knows just the clean files under golden/ and must not be used to judge ingest.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import JobState, RequestKind

AS_RUNTIME = -1
# Stands for "the request equals the runtime", which most hand-made cases say.


def job(
    job_id: int | str,
    submit_s: int,
    procs: int | None,
    runtime_s: int | None,
    requested_runtime_s: int | None = AS_RUNTIME,
    *,
    wait_s: int | None = None,
    **columns: Any,
) -> dict[str, Any]:
    """One row of `trace_jobs`. A request of None is missing; other columns may be given by name.

    With `eligible_s` given, it is the release and `wait_s` counts from it. The observed start is known
    only where `wait_s` is.
    """
    request = runtime_s if requested_runtime_s == AS_RUNTIME else requested_runtime_s
    release_s = columns.get("eligible_s")
    release_s = submit_s if release_s is None else release_s
    start_s = None if wait_s is None else release_s + wait_s
    row: dict[str, Any] = dict.fromkeys(TRACE_JOBS.names) | {
        "trace_id": "made",
        "job_id": str(job_id),
        "source_file": "made.swf",
        "submit_s": submit_s,
        "start_s": start_s,
        "end_s": None if start_s is None or runtime_s is None else start_s + runtime_s,
        "wait_s": wait_s,
        "runtime_s": runtime_s,
        "release_s": release_s,
        "hold_s": release_s - submit_s,
        "requested_runtime_s": request,
        "requested_runtime_kind": RequestKind.UNKNOWN if request is None else RequestKind.LIMIT,
        "procs": procs,
        "requested_procs": procs,
        "state": JobState.COMPLETED,
        "attempt": 1,
        "attempt_count": 1,
        "quality_flags": [],
    }
    foreign = sorted(set(columns) - set(row))
    if foreign:
        raise KeyError(f"not columns of trace_jobs: {foreign}")
    return row | columns


def trace(jobs: Iterable[tuple[Any, ...] | dict[str, Any]], trace_id: str = "made") -> pl.DataFrame:
    """A `trace_jobs` frame of rows made by `job`, or of tuples of its positional arguments, in trace order.

    A row without a `source_line` gets its place among `jobs`, from 1.
    """
    rows = [dict(item) if isinstance(item, dict) else job(*item) for item in jobs]
    for line, row in enumerate(rows, start=1):
        row["trace_id"] = trace_id
        row["source_line"] = row["source_line"] or line
    has_numbers = all(row["job_id"].isdecimal() for row in rows)
    rows.sort(
        key=lambda row: (
            row["release_s"],
            row["submit_s"],
            int(row["job_id"]) if has_numbers else 0,
            row["source_file"],
            row["source_line"],
        )
    )
    plain = [
        {name: str(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    ]
    return TRACE_JOBS.shape(pl.DataFrame(plain, schema=TRACE_JOBS.polars_schema()))


def read_swf(path: Path) -> tuple[pl.DataFrame, int]:
    """A clean SWF file of ours as a `trace_jobs` frame, and its MaxProcs. Offsets stay as they are."""

    def known(field: str) -> int | None:
        return None if field == "-1" else int(field)

    jobs, capacity = [], 0
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.startswith(";"):
            if "MaxProcs:" in line:
                capacity = int(line.split(":")[1])
            continue
        field = line.split()
        jobs.append(
            job(
                field[0],
                int(field[1]),
                known(field[7]) or known(field[4]),
                known(field[3]),
                known(field[8]),
                wait_s=known(field[2]),
                user=field[11],
                name=None if field[13] == "-1" else field[13],
                queue=None if field[14] == "-1" else field[14],
                source_line=number,
            )
        )
    return trace(jobs, path.stem), capacity
