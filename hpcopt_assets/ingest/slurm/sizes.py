"""What an sacct row says of a job's size: processors, nodes, GPUs, memory, the requested runtime.

In:  rows of text, and which of the jobs started.   Out: typed columns and what is remarkable about them.
Not here: times and states (rows.py), which steps are of a job (jobs.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from hpcopt_assets.contracts.columns import BYTES_MAX, PROCS_MAX
from hpcopt_assets.contracts.vocabulary import QualityFlag, RequestKind
from hpcopt_assets.ingest.slurm.durations import limits, limits_in_minutes
from hpcopt_assets.ingest.slurm.lookup import looked_up
from hpcopt_assets.ingest.slurm.values import (
    LEAKED,
    NO_NODES,
    PER_CPU_FLAGS_BYTES,
    Memory,
    memory,
    nodes_count,
    requested_memory,
    tres,
)

COUNTS = ("reqcpus", "ncpus", "alloccpus", "nnodes", "allocnodes")
TRES_SCHEMA = {
    "cpus": pl.Int64,
    "nodes": pl.Int64,
    "memory_bytes": pl.Int64,
    "gpus": pl.Int64,
    "is_sum_off": pl.Boolean,
    "is_malformed": pl.Boolean,
}
MEMORY_SCHEMA = {"size_bytes": pl.Float64, "per": pl.String, "is_malformed": pl.Boolean}
NODE_BYTES_MAX = 2**46
# 64 TiB: the largest machines that are one node have as much.


def _memory_columns(text: pl.Series, read: Callable[[str], Memory | None]) -> pl.DataFrame:
    """`MEMORY_SCHEMA` of a column of amounts of memory."""

    def read_or_tell(value: str) -> tuple[Any, ...]:
        found = read(value)
        return (None, None, True) if found is None else (*found, False)

    return looked_up(text, read_or_tell, MEMORY_SCHEMA)


def used_memory(text: pl.Series) -> pl.DataFrame:
    """`MEMORY_SCHEMA` of the column MaxRSS."""
    return _memory_columns(text, lambda value: memory(value, ""))


def count(name: str) -> pl.Expr:
    """A count of processors, nodes or tasks; null where it is 0 or none that can be."""
    value = pl.col(name).cast(pl.Int64, strict=False)
    return pl.when(value.is_between(1, PROCS_MAX)).then(value)


def _is_no_count(name: str) -> pl.Expr:
    value = pl.col(name).cast(pl.Int64, strict=False)
    return pl.col(name).is_not_null() & ~value.is_between(0, PROCS_MAX).fill_null(False)


def _request(text: pl.DataFrame) -> pl.DataFrame:
    """The requested runtime: Timelimit, and where that is no limit, TimelimitRaw."""
    raw = limits_in_minutes(text["timelimitraw"]).rename({"kind": "raw_kind", "seconds": "raw_seconds"})
    both = limits(text["timelimit"]).hstack(raw)
    unknown = RequestKind.UNKNOWN.value
    is_told = (pl.col("kind") != unknown).fill_null(False)
    is_raw = ~is_told & pl.col("raw_kind").is_not_null()
    both = both.select(
        kind=pl.when(is_raw).then("raw_kind").otherwise("kind"),
        seconds=pl.when(is_raw).then("raw_seconds").otherwise("seconds"),
    )
    return both.select(
        pl.col("seconds").alias("requested_runtime_s"),
        pl.col("kind").fill_null(unknown).alias("requested_runtime_kind"),
        (pl.col("kind") == unknown).fill_null(False).alias(QualityFlag.INVALID_LIMIT.value),
    )


def _node_list(text: pl.Series) -> pl.DataFrame:
    def read(value: str) -> tuple[Any, ...]:
        if value.casefold() in NO_NODES:
            return None, False
        found = nodes_count(value)
        return found, found is None

    return looked_up(text, read, {"listed_nodes": pl.Int64, "is_no_list": pl.Boolean})


def sizes(text: pl.DataFrame, has_started: pl.Series) -> pl.DataFrame:
    """Sizes of jobs from rows that have all used columns; a count of 0 is unknown.

    `gpus` is null where no GPU is named: 0 there if the cluster tracks GPUs at all (`names_tres`).
    """
    is_counted = pl.any_horizontal(pl.col("nnodes", "allocnodes").is_not_null())
    frame = pl.concat(
        [
            text.select(*COUNTS, "reqtres", "alloctres"),
            has_started.alias("has_started").to_frame(),
            _prefixed(looked_up(text["reqtres"], tres, TRES_SCHEMA), "req"),
            _prefixed(looked_up(text["alloctres"], tres, TRES_SCHEMA), "alloc"),
            _memory_columns(text["reqmem"], requested_memory),
            _node_list(text.select(pl.when(~is_counted).then("nodelist")).to_series()),
        ],
        how="horizontal",
    )
    started = pl.col("has_started")
    given = pl.coalesce(count("alloccpus"), count("ncpus"), _positive("alloc_cpus"))
    asked = pl.coalesce(count("reqcpus"), _positive("req_cpus"), pl.when(~started).then(given))
    by_allocation = pl.col("alloctres").is_not_null() & (started | pl.col("reqtres").is_null())
    # GPUs as given where a job started, as asked for where it did not.

    def of_gpus(name: str) -> pl.Expr:
        return pl.when(by_allocation).then(f"alloc_{name}").otherwise(f"req_{name}")

    frame = frame.with_columns(
        requested_procs=asked,
        allocated_procs=pl.when(started).then(given),
        nodes=pl.coalesce(
            count("nnodes"),
            count("allocnodes"),
            _positive("alloc_nodes"),
            _positive("listed_nodes"),
            _positive("req_nodes"),
        ),
        gpus=of_gpus("gpus"),
        names_tres=pl.col("alloctres").is_not_null() | pl.col("reqtres").is_not_null(),
        names_gpus=pl.col("alloc_gpus").is_not_null() | pl.col("req_gpus").is_not_null(),
    )
    asked_bytes = _asked_bytes()
    is_too_much = (asked_bytes > BYTES_MAX).fill_null(False)
    asked_bytes = pl.when((asked_bytes > 0) & ~is_too_much).then(asked_bytes.round()).cast(pl.Int64)
    # A request of 0 is for all the memory there is.
    is_malformed = [_is_no_count(name) for name in COUNTS]
    is_malformed += [
        pl.col(name) for name in ("req_is_malformed", "alloc_is_malformed", "is_malformed", "is_no_list")
    ]
    return frame.select(
        "requested_procs",
        "allocated_procs",
        "nodes",
        "gpus",
        "names_tres",
        "names_gpus",
        pl.coalesce(asked_bytes, _positive("req_memory_bytes"), _positive("alloc_memory_bytes")).alias(
            "requested_memory_bytes"
        ),
        of_gpus("is_sum_off").fill_null(False).alias(QualityFlag.TYPED_GPUS_DIFFER.value),
        (pl.any_horizontal(is_malformed).fill_null(False) | is_too_much).alias(
            QualityFlag.MALFORMED_VALUE.value
        ),
    ).hstack(_request(text))


def _asked_bytes() -> pl.Expr:
    """ReqMem of the whole job."""
    size, per = pl.col("size_bytes"), pl.col("per")
    nodes = pl.coalesce(_positive("req_nodes"), "nodes")
    cpus = pl.coalesce("requested_procs", "allocated_procs")
    flag = PER_CPU_FLAGS_BYTES[-1]
    return (
        pl.when(per == "n")
        .then(size * nodes)
        .when(per == "c")
        .then(size * cpus)
        .when((per == LEAKED) & (size < 2 * flag) & ~(size <= nodes * NODE_BYTES_MAX).fill_null(False))
        .then((size - flag) * cpus)
        .otherwise(size)
    )


def _prefixed(frame: pl.DataFrame, prefix: str) -> pl.DataFrame:
    return frame.rename({name: f"{prefix}_{name}" for name in frame.columns})


def _positive(name: str) -> pl.Expr:
    return pl.when(pl.col(name) > 0).then(pl.col(name))
