"""F-DATA: the jobs of Fugaku, one parquet file a month.

In:  parquet files with F-DATA's columns.   Out: `Parsed`.
Not here: reading in pieces and merging months (log.py).

Sources: Antici et al., F-DATA, Scientific Data 12 (2025) 1321, table 2 (deldt: when the user deleted the
job); https://doi.org/10.5281/zenodo.11467483. They leave units and scope open; of Fujitsu's job statistics,
which they pass on, memory limits are in bytes and count for each node, 2^64 - 1 meaning none, and processor
time is in milliseconds.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.columns import BYTES_MAX, PROCS_MAX
from hpcopt_assets.contracts.vocabulary import JobState, RejectCode
from hpcopt_assets.ingest.parquet.fields import SPAN_MAX_S, Field, Instant, Number, Text, positive
from hpcopt_assets.ingest.parquet.log import ParquetFormat, read_parquet_log
from hpcopt_assets.ingest.parsed import Machine, Options, Parsed, SourceFile

MS_PER_S = 1000
NODE_BYTES_MAX = BYTES_MAX // PROCS_MAX
# 256 GiB, eight times what a node has: a limit beyond it limits nothing.
ANY = 2.0**65
COMPLETED, FAILED = "completed", "failed"

FIELDS: tuple[Field, ...] = (
    Text("id", ("jid",), is_needed=True, missing=RejectCode.NO_JOB_ID),
    Instant("submit", ("adt",), is_needed=True, missing=RejectCode.NO_SUBMIT_TIME),
    Instant("start", ("sdt",), is_needed=True),
    Instant("end", ("edt",), is_needed=True),
    Number("elapsed", ("duration", "elp"), SPAN_MAX_S, is_whole=False, negative=RejectCode.NEGATIVE_RUNTIME),
    Text("limit", ("elpl",), is_needed=True),
    Number("requested", ("cnumr",), PROCS_MAX, is_needed=True),
    Number("allocated", ("cnumat",), PROCS_MAX, is_needed=True),
    Number("requested_nodes", ("nnumr",), PROCS_MAX),
    Number("allocated_nodes", ("nnuma",), PROCS_MAX),
    Number("memory_limit", ("mszl",), ANY, is_whole=False),
    Number("used_memory", ("mmszu",), BYTES_MAX, is_whole=False),
    Number("cpu_ms", ("usctmut",), ANY, is_whole=False),
    Text("exit_state", ("exit state", "exit_state")),
    Text("exit_code", ("ec",)),
    Instant("deleted", ("deldt",), is_judged=False),
    Text("user", ("usr",)),
    Text("name", ("jnam",)),
)


def read_fdata(files: tuple[SourceFile, ...], options: Options) -> Parsed:
    """Read F-DATA files of one trace. Raises `TraceError` for a damaged file or a missing column.

    Processors are cores. `qdt` is when a job entered the queue after the scheduling decision, so it is not
    taken for the time of becoming eligible: the wait would be lost.
    """
    return read_parquet_log(files, options, FORMAT)


def _facts(jobs: pl.LazyFrame) -> pl.LazyFrame:
    nodes = pl.coalesce(positive("requested_nodes"), positive("allocated_nodes"))
    limit = pl.col("memory_limit")
    return jobs.with_columns(
        eligible_s=pl.lit(None, dtype=pl.Int64),
        start_s="start",
        ended_s="end",
        state=_state(),
        requested_procs=positive("requested"),
        allocated_procs=positive("allocated"),
        nodes=pl.coalesce(positive("allocated_nodes"), positive("requested_nodes")),
        requested_memory_bytes=pl.when(limit <= NODE_BYTES_MAX).then(limit * nodes),
        used_memory_bytes="used_memory",
        cpu_used_s=pl.col("cpu_ms") / MS_PER_S,
    ).with_columns(is_state_known=pl.col("state") != JobState.UNKNOWN.value)


def _state() -> pl.Expr:
    """The exit state, else the exit code; a job that failed and was deleted by its user was cancelled."""
    said = pl.col("exit_state").str.to_lowercase()
    code = pl.col("exit_code")
    is_completed = (said == COMPLETED) | (said.is_null() & (code == "0"))
    is_failed = (said == FAILED) | (said.is_null() & (code != "0"))
    is_silent = said.is_null() & code.is_null() & pl.col("end").is_null()

    def word(state: JobState) -> pl.Expr:
        return pl.lit(state.value)

    return (
        pl.when(is_completed)
        .then(word(JobState.COMPLETED))
        .when((is_failed | is_silent) & pl.col("deleted").is_not_null())
        .then(word(JobState.CANCELLED))
        .when(is_failed)
        .then(word(JobState.FAILED))
        .when(is_silent & pl.col("start").is_null())
        .then(word(JobState.PENDING))
        .when(is_silent)
        .then(word(JobState.RUNNING))
        .otherwise(word(JobState.UNKNOWN))
    )


FORMAT = ParquetFormat(
    FIELDS,
    _facts,
    limit_unit_s=1,
    zone="Asia/Tokyo",
    trusts_elapsed=False,
    machine=Machine(computer="Fugaku", installation="RIKEN R-CCS", timezone="Asia/Tokyo"),
)
