"""PM100: the jobs of Marconi100, from Slurm, as parquet.

In:  parquet files with PM100's columns.   Out: `Parsed`.
Not here: reading in pieces and merging months (log.py); Slurm's words (slurm/values.py).

Sources: Antici et al., PM100, SC-W 2023, https://doi.org/10.5281/zenodo.10127767, and its repository's
documentation/job_features.md: time_limit is in minutes or INFINITE, run_time in seconds, start and end are
"actual or expected"; an older revision says cpus for cores. Memory is that of the whole job in GiB (a node
of 237.5 GiB gives 3,800 to a job of sixteen).
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.columns import BYTES_MAX, PROCS_MAX
from hpcopt_assets.contracts.vocabulary import JobState, RejectCode
from hpcopt_assets.ingest.canonical import UNFINISHED
from hpcopt_assets.ingest.parquet.fields import SPAN_MAX_S, Field, Instant, Number, Text, positive
from hpcopt_assets.ingest.parquet.log import ParquetFormat, read_parquet_log
from hpcopt_assets.ingest.parsed import Machine, Options, Parsed, SourceFile
from hpcopt_assets.ingest.slurm.values import STATES

GIB = 2**30
S_PER_MIN = 60
FIRST_WORD = r"^([A-Za-z_]+)"
# `CANCELLED by 1234` is cancelled.

FIELDS: tuple[Field, ...] = (
    Text("id", ("job_id",), is_needed=True, missing=RejectCode.NO_JOB_ID),
    Instant("submit", ("submit_time",), is_needed=True, missing=RejectCode.NO_SUBMIT_TIME),
    Instant("eligible", ("eligible_time",)),
    Instant("start", ("start_time",), is_needed=True),
    Instant("end", ("end_time",)),
    Number(
        "elapsed",
        ("run_time",),
        SPAN_MAX_S,
        is_needed=True,
        is_whole=False,
        negative=RejectCode.NEGATIVE_RUNTIME,
    ),
    Text("limit", ("time_limit",), is_needed=True),
    Number("requested", ("num_cores_req", "num_cpus_req"), PROCS_MAX),
    Number("allocated", ("num_cores_alloc", "num_cpus_alloc", "num_cpus"), PROCS_MAX, is_needed=True),
    Number("requested_nodes", ("num_nodes_req",), PROCS_MAX),
    Number("allocated_nodes", ("num_nodes_alloc", "num_nodes"), PROCS_MAX),
    Number("requested_gpus", ("num_gpus_req",), PROCS_MAX),
    Number("allocated_gpus", ("num_gpus_alloc",), PROCS_MAX),
    Number("requested_gib", ("mem_req",), BYTES_MAX / GIB, is_whole=False),
    Text("slurm_state", ("job_state",), is_needed=True),
    Text("user", ("user_id",)),
    Text("group", ("group_id",)),
    Text("partition", ("partition",)),
)


def read_pm100(files: tuple[SourceFile, ...], options: Options) -> Parsed:
    """Read PM100 files of one trace. Raises `TraceError` for a damaged file or a missing column.

    Processors are what Slurm calls CPUs there: 128 a node, four for each core. Power is never read.
    """
    return read_parquet_log(files, options, FORMAT)


def _facts(jobs: pl.LazyFrame) -> pl.LazyFrame:
    state = (
        pl.col("slurm_state")
        .str.extract(FIRST_WORD)
        .str.to_uppercase()
        .replace_strict({word: state.value for word, state in STATES.items()}, default=None)
    )
    ran_nowhere = (pl.col("allocated").fill_null(0) == 0) & (pl.col("elapsed").fill_null(0) == 0)
    # Slurm gives a job that was cancelled while it waited the time of that as start and end.
    return jobs.with_columns(
        state=state.fill_null(JobState.UNKNOWN.value), is_state_known=state.is_not_null()
    ).with_columns(
        eligible_s="eligible",
        start_s=pl.when(
            (pl.col("state") != JobState.PENDING.value)
            & ~((pl.col("state") == JobState.CANCELLED.value) & ran_nowhere)
        ).then(pl.col("start")),
        ended_s=pl.when(~pl.col("state").is_in(UNFINISHED)).then(pl.col("end")),
        requested_procs=positive("requested"),
        allocated_procs=positive("allocated"),
        nodes=pl.coalesce(positive("allocated_nodes"), positive("requested_nodes")),
        gpus=pl.coalesce(positive("allocated_gpus"), "requested_gpus", "allocated_gpus"),
        requested_memory_bytes=positive("requested_gib") * GIB,
    )


FORMAT = ParquetFormat(
    FIELDS,
    _facts,
    limit_unit_s=S_PER_MIN,
    zone="UTC",
    trusts_elapsed=True,
    machine=Machine(computer="Marconi100", installation="CINECA"),
)
