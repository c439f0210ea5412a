"""Large inputs of our own making, in the shape of published data sets, for benchmarks and slow tests.

In:  a path and a number of rows.   Out: a file, written in pieces, so that making it needs little memory.
Not here: small hand-made inputs (each test has its own).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from hpcopt_assets.synthetic.swf import write_swf

PIECE_ROWS = 2**20
# pyarrow's (and so pandas') default size of a row group, which the published files have.
EMBEDDING_WIDTH = 16
# The real embedding has 384 numbers; these are enough to be costly if anybody read them.
START_S = 1_617_235_200
# 2021-04-01 00:00 UTC
UNLIMITED_BYTES = float(2**64 - 1)
CORES_PER_NODE = 48


XDMOD = """
    jobid jobidraw cluster partition qos account group gid user uid submit eligible start end elapsed exitcode
    state nnodes ncpus reqcpus reqmem reqtres alloctres timelimit nodelist jobname
"""
XDMOD_FIELDS = tuple(XDMOD.split())
# Fields of the sacct dumps that Open XDMoD asks for; its files have no header.


def _japan(seconds: str) -> pl.Expr:
    """An instant as text in Japan's time with its offset."""
    return (
        pl.from_epoch(seconds, time_unit="s")
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone("Asia/Tokyo")
        .dt.to_string("%Y-%m-%d %H:%M:%S%:z")
    )


def fdata_rows(first: int, rows: int, seed: int) -> pl.DataFrame:
    """Rows `first`, `first + 1`, ... of a made F-DATA file: the columns that are read, and the embedding."""
    rng = np.random.default_rng([seed, first])
    nodes = rng.choice([1, 1, 1, 2, 4, 8, 12, 384], rows)
    made = pl.DataFrame(
        {
            "number": np.arange(first, first + rows),
            "adt_s": START_S + (first + np.sort(rng.uniform(0, rows, rows))).astype(np.int64) * 6,
            "wait_s": rng.exponential(3600.0, rows).astype(np.int64),
            "duration": np.minimum(rng.lognormal(7.0, 2.0, rows).astype(np.int64), 259_200),
            "nnumr": nodes,
            "ec": rng.choice([0, 0, 0, 0, 0, 0, 0, 0, 1, 137], rows),
            "user": np.minimum(rng.zipf(1.5, rows), 3000),
            "elpl": rng.choice([600.0, 3600.0, 86_400.0, 259_200.0], rows),
            "mszl": np.where(rng.random(rows) < 0.995, UNLIMITED_BYTES, 28.0 * 2**30),
            "mmszu": (rng.uniform(1e8, 3e10, rows) * nodes).round(),
        }
    ).with_columns(sdt_s=pl.col("adt_s") + pl.col("wait_s"))
    frame = (
        made.with_columns(edt_s=pl.col("sdt_s") + pl.col("duration"))
        .select(
            jid=pl.format("jid_{}", "number"),
            usr=pl.format("usr_{}", "user"),
            jnam=pl.format("jnam_{}", pl.col("number") % 50_000),
            cnumr=pl.col("nnumr") * CORES_PER_NODE,
            cnumat=pl.col("nnumr") * CORES_PER_NODE,
            nnumr="nnumr",
            adt=_japan("adt_s"),
            qdt=_japan("adt_s"),
            ec="ec",
            elpl="elpl",
            sdt=_japan("sdt_s"),
            edt=_japan("edt_s"),
            nnuma="nnumr",
            mszl="mszl",
            pri=pl.lit(127, dtype=pl.Int64),
            mmszu="mmszu",
            usctmut=(pl.col("duration") * pl.col("nnumr") * CORES_PER_NODE * 900.0).round(),
            duration=pl.col("duration").cast(pl.Float64),
        )
        .with_columns(
            pl.when(pl.col("ec") == 0)
            .then(pl.lit("completed"))
            .otherwise(pl.lit("failed"))
            .alias("exit state")
        )
    )
    width = EMBEDDING_WIDTH
    embedding = rng.random(rows * width, dtype=np.float32).reshape(rows, width)
    return frame.with_columns(pl.Series("embedding", embedding).arr.to_list())


def write_fdata(path: Path, rows: int, *, seed: int = 1, piece_rows: int = PIECE_ROWS) -> None:
    """A made F-DATA file of so many rows, ordered by submission, in row groups of `piece_rows`."""
    writer = None
    for first in range(0, rows, piece_rows):
        piece = fdata_rows(first, min(piece_rows, rows - first), seed).to_arrow(
            compat_level=pl.CompatLevel.oldest()
        )
        if writer is None:
            writer = pq.ParquetWriter(path, piece.schema)
        writer.write_table(piece, row_group_size=piece_rows)
        del piece
        pa.default_memory_pool().release_unused()
    if writer is not None:
        writer.close()


def write_swf_log(path: Path, jobs: int, *, seed: int = 1, piece_rows: int = PIECE_ROWS) -> None:
    """A made SWF log of so many jobs, ordered by submission, all fields known."""
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, jobs, piece_rows):
            rows = min(piece_rows, jobs - first)
            rng = np.random.default_rng([seed, first])
            procs = rng.choice([1, 1, 2, 4, 8, 64], rows)
            runtime = np.minimum(rng.lognormal(7.0, 2.0, rows).astype(np.int64), 259_200)
            columns = {
                "job": np.arange(first + 1, first + rows + 1),
                "submit": (first + np.sort(rng.uniform(0, rows, rows))).astype(np.int64) * 30,
                "wait": rng.exponential(3600.0, rows).astype(np.int64),
                "run": runtime,
                "allocated": procs,
                "cpu": runtime,
                "used_memory": rng.integers(1, 2**20, rows),
                "requested": procs,
                "requested_time": np.full(rows, 259_200),
                "requested_memory": np.full(rows, 2**20),
                "status": rng.choice([0, 1, 1, 1, 5], rows),
                "user": np.minimum(rng.zipf(1.5, rows), 3000),
                "group": rng.integers(1, 50, rows),
                "queue": rng.integers(0, 5, rows),
                "partition": np.ones(rows, dtype=np.int64),
            }
            header = [("MaxProcs", "4096"), ("UnixStartTime", str(START_S))] if first == 0 else []
            file.write(write_swf(header, columns))


def write_lublin(path: Path, jobs: int) -> None:
    """`trace_jobs` of the Lublin and Feitelson model on 256 processors at an offered load of 0.75."""
    from hpcopt_assets.orchestration.configs import load_configs
    from hpcopt_assets.orchestration.project import find_project
    from hpcopt_assets.synthetic.workload import make_workload, trace_jobs_of

    settings = load_configs(find_project().configs).synthetic
    workload = make_workload(
        settings.model,
        settings.users,
        jobs=jobs,
        capacity_procs=256,
        offered_load=0.75,
        unix_start_s=0,
        seed=1,
    )
    trace_jobs_of(workload, "lublin").write_parquet(path)
