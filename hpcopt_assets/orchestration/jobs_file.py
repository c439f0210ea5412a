"""A `trace_jobs.parquet` on its own: the jobs, and the machine they ran on.

In:  a parquet file that `hpcopt ingest` or the io manager wrote.   Out: `read_jobs`, `machine_of`.
Not here: raw traces (ingest/), and the store's other tables (io.py).
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from hpcopt_assets.contracts.errors import ContractError, InputError
from hpcopt_assets.contracts.frozen import Procs
from hpcopt_assets.contracts.tables import INGEST_REPORT, TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import CapacitySource
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.usage import usage

MAGIC = b"PAR1"
RAW_COLUMNS = {"run_time", "jid"}
# Columns that PM100 and F-DATA have and no table of ours.
REPORT_NAME = "ingest_report.json"
NAMES_SHOWN = 4
FOUND_CHARS = 200
# pandera and polars can say pages about one file.


class Machine(BaseModel):
    """How many processors the machine of a trace has, and where that number was taken from."""

    model_config = ConfigDict(frozen=True)

    capacity_procs: Procs
    capacity_source: CapacitySource

    @classmethod
    def stated(cls, facts: Mapping[str, Any]) -> Machine | None:
        """What an ingest report (or any mapping with these two keys) states; None where it states nothing."""
        try:
            return cls.model_validate(dict(facts))
        except ValidationError:
            return None


def with_machine(jobs_path: Path, machine: Machine | None, target: Path) -> None:
    """Copy a parquet file of `trace_jobs`, row group by row group; the machine goes into its metadata."""
    import pyarrow.parquet as pq

    stated = machine.model_dump(mode="json") if machine else {}
    metadata = {key: str(value) for key, value in stated.items()}
    source = pq.ParquetFile(jobs_path)
    schema = source.schema_arrow.with_metadata({**(source.schema_arrow.metadata or {}), **metadata})
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for group in range(source.num_row_groups):
            writer.write_table(source.read_row_group(group).cast(schema))


def is_trace_jobs(path: Path) -> bool:
    """Whether a file is parquet with the first column of our tables, and not a raw trace in parquet.

    UnicodeEncodeError for a name that is not UTF-8.
    """
    if not is_parquet(path):
        return False
    str(path).encode()  # polars takes no other name, and says so in riddles
    try:
        names = pl.scan_parquet(path, glob=False).collect_schema().names()
    except pl.exceptions.PolarsError:
        return True  # damaged: `read_jobs` says so
    return not names or names[0] == TRACE_JOBS.names[0] or not RAW_COLUMNS & set(names)


def is_parquet(path: Path) -> bool:
    """Whether a regular file begins as parquet does; its name does not matter."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as handle:
            return handle.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_jobs(path: Path) -> pl.DataFrame:
    """The jobs of one trace.

    InputError for a file that is not a whole `trace_jobs` of one trace.
    """
    try:
        frame = pl.read_parquet(path, hive_partitioning=False, glob=False)
        missing = [name for name in TRACE_JOBS.names if name not in frame.columns]
        foreign = [name for name in frame.columns if name not in TRACE_JOBS.names]
        if missing:
            raise _unusable(path, f"a parquet file without {_named(missing)}")
        if foreign:
            raise _unusable(path, f"a parquet file with {_named(foreign)}, which trace_jobs does not have")
        jobs = TRACE_JOBS.shape(frame)
        _check(jobs)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _unusable(path, str(error)) from error
    except ContractError as error:
        raise _unusable(path, error.found) from error
    traces = jobs["trace_id"].n_unique()
    if traces != 1:
        raise _unusable(
            path, "no jobs" if traces == 0 else f"jobs of {traces} traces", "the jobs of one trace"
        )
    return jobs


def _check(jobs: pl.DataFrame) -> None:
    from hpcopt_assets.contracts.schemas import validate

    validate(TRACE_JOBS, jobs)


def _named(columns: list[str]) -> str:
    more = f" and {len(columns) - NAMES_SHOWN} more" if len(columns) > NAMES_SHOWN else ""
    return f"the column{'s' if len(columns) > 1 else ''} {', '.join(columns[:NAMES_SHOWN])}{more}"


def _unusable(path: Path, found: str, needed: str = "a trace_jobs.parquet") -> InputError:
    shown = textwrap.shorten(found, FOUND_CHARS, placeholder=" ...")
    return InputError(shown, needed, str(path), "Make one with `hpcopt ingest`.")


def machine_of(path: Path, jobs: pl.DataFrame, configured: int | None) -> Machine | None:
    """The machine of a trace_jobs file; None where nothing is recorded and no job has both start and end.

    In this order: the file's own metadata, the ingest report beside it, the store's ingest report; then
    `configured` (configs/traces.yaml); then the most processors in use at once. A recorded peak is no
    statement: it yields to the config.
    """
    for facts in _records(path.resolve(), jobs["trace_id"][0]):
        machine = Machine.stated(facts)
        if machine is not None and machine.capacity_source is not CapacitySource.OBSERVED_PEAK:
            return machine
    if configured is not None:
        return Machine(capacity_procs=configured, capacity_source=CapacitySource.CONFIG)
    peak = usage(Schedule.of(jobs)).peak()
    return Machine.stated({"capacity_procs": peak, "capacity_source": CapacitySource.OBSERVED_PEAK})


def _records(path: Path, trace_id: str) -> Iterator[Mapping[str, Any]]:
    """What is written down about the machine, the nearest first; a report on another trace does not count."""
    yield pl.read_parquet_metadata(path)
    folder = path.parent
    for report in (
        path.with_name(REPORT_NAME),
        folder.parent.parent / INGEST_REPORT.name / folder.name / path.name,
    ):
        facts = _report(report)
        if facts.get("trace_id") == trace_id:
            yield facts


def _report(path: Path) -> Mapping[str, Any]:
    """An ingest report, as JSON or as the store keeps it; empty where there is none that can be read."""
    try:
        if is_parquet(path):
            return pl.read_parquet(path, hive_partitioning=False, glob=False).row(0, named=True)
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, pl.exceptions.PolarsError):
        return {}
    return found if isinstance(found, dict) else {}
