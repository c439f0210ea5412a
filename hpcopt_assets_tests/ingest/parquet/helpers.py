"""Small PM100 and F-DATA files of our making, and the one call that reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl

from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.ingest.canonical import trace_jobs_of
from hpcopt_assets.ingest.parsed import RECORD_SCHEMA, Options, Parsed, Refused, SourceFile
from hpcopt_assets_tests.ingest.helpers import LIMITS as LIMITS

T0 = 1_600_000_000
# 2020-09-13 12:26:40 UTC
JAPAN = timezone(timedelta(hours=9))
Row = dict[str, Any]
Reader = Callable[[tuple[SourceFile, ...], Options], Parsed]

STAMP = pl.Datetime("us", "UTC")
PM100_SCHEMA = {
    "cores_alloc_layout": pl.String,
    "cores_per_task": pl.Int64,
    "eligible_time": STAMP,
    "end_time": STAMP,
    "group_id": pl.Int64,
    "job_id": pl.Int64,
    "job_state": pl.String,
    "nodes": pl.List(pl.Int64),
    "num_cores_req": pl.Int64,
    "num_cores_alloc": pl.Int64,
    "num_nodes_req": pl.Int64,
    "num_nodes_alloc": pl.Int64,
    "num_tasks": pl.Float64,
    "partition": pl.String,
    "qos": pl.String,
    "run_time": pl.Int64,
    "shared": pl.String,
    "start_time": STAMP,
    "submit_time": STAMP,
    "time_limit": pl.Int64,
    "num_gpus_req": pl.Int64,
    "num_gpus_alloc": pl.Int64,
    "mem_req": pl.Int64,
    "mem_alloc": pl.Int64,
    "user_id": pl.Int64,
    "node_power_consumption": pl.List(pl.Int32),
}
FDATA_SCHEMA = {
    "jid": pl.String,
    "usr": pl.String,
    "jnam": pl.String,
    "cnumr": pl.Int64,
    "cnumat": pl.Int64,
    "nnumr": pl.Int64,
    "adt": pl.String,
    "qdt": pl.String,
    "deldt": pl.String,
    "ec": pl.Int64,
    "elpl": pl.Float64,
    "sdt": pl.String,
    "edt": pl.String,
    "nnuma": pl.Int64,
    "mszl": pl.Float64,
    "mmszu": pl.Float64,
    "usctmut": pl.Float64,
    "embedding": pl.List(pl.Float32),
    "exit state": pl.String,
    "duration": pl.Float64,
}


def utc(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def japan(seconds: int) -> str:
    """As F-DATA writes a time without an offset."""
    return datetime.fromtimestamp(seconds, JAPAN).strftime("%Y-%m-%d %H:%M:%S")


def pm100(job: int = 1, *, submit: int = 0, wait: int = 5, run: int = 100, **columns: Any) -> Row:
    """A row of a job that completed; times count from `T0`."""
    start = T0 + submit + wait
    return {
        "job_id": job,
        "submit_time": utc(T0 + submit),
        "eligible_time": utc(T0 + submit),
        "start_time": utc(start),
        "end_time": utc(start + run),
        "run_time": run,
        "time_limit": 60,
        "job_state": "COMPLETED",
        "num_cores_req": 128,
        "num_cores_alloc": 128,
        "num_nodes_req": 1,
        "num_nodes_alloc": 1,
        "user_id": 310,
        "group_id": 25200,
        "partition": "1",
    } | columns


def fdata(job: int = 1, *, submit: int = 0, wait: int = 5, run: int = 100, **columns: Any) -> Row:
    """A row of a job that completed; times count from `T0`."""
    start = T0 + submit + wait
    return {
        "jid": f"jid_{job}",
        "usr": "usr_3",
        "adt": japan(T0 + submit),
        "qdt": japan(T0 + submit + 1),
        "sdt": japan(start),
        "edt": japan(start + run),
        "duration": float(run),
        "elpl": 3600.0,
        "ec": 0,
        "exit state": "completed",
        "cnumr": 96,
        "cnumat": 96,
        "nnumr": 2,
        "nnuma": 2,
    } | columns


def write(path: Path, rows: Iterable[Row], schema: dict[str, Any], **types: Any) -> Path:
    """A parquet file of rows with the schema's columns, some of other types; None leaves a column out."""
    chosen = {name: dtype for name, dtype in (schema | types).items() if dtype is not None}
    made = [{name: row.get(name) for name in chosen} for row in rows]
    pl.DataFrame(made, schema=chosen, strict=True).write_parquet(path)
    return path


def parse(reader: Reader, *paths: Path, **options: Any) -> Parsed:
    parsed = reader(tuple(SourceFile(path, path.name) for path in paths), Options(LIMITS, **options))
    counts = parsed.counts
    assert counts.lines == counts.header + counts.comment + counts.blank + counts.merged + len(parsed.refused)
    assert dict(parsed.records.collect_schema()) == dict(RECORD_SCHEMA)
    return parsed


def jobs_of(parsed: Parsed) -> pl.DataFrame:
    """`trace_jobs` of a log, within its contract, ordered by id and attempt."""
    jobs = trace_jobs_of(parsed.records, "made", {}).sort("job_id", "attempt").collect()
    validate(TRACE_JOBS, jobs)
    return jobs


def one(reader: Reader, path: Path, **options: Any) -> Row:
    """The only job of a file."""
    return jobs_of(parse(reader, path, **options)).row(0, named=True)


def codes(refused: list[Refused]) -> dict[int, str]:
    """Row -> reject code."""
    return {row.source_line: row.code.value for row in refused}
