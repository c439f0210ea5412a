"""A heavier tail: long jobs run longer, short ones shorter, and together they ask for as much as before.

In:  trace_jobs, the machine.   Out: trace_jobs.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import FloatArray
from hpcopt_assets.measures.tails import tail_ratio
from hpcopt_assets.stress.columns import in_whole_seconds, with_runtimes
from hpcopt_assets.stress.statistics import Obstacle, counts


def heavy_tail(jobs: pl.DataFrame, factor: float, capacity: Capacity) -> pl.DataFrame:
    """The jobs with p99 over median of their runtimes `factor` times what it is.

    A runtime r above the median m becomes c r (r / m)^g, one below it c r: g stretches the distance between
    p99 and the median on the logarithmic scale, and c gives back the work that this adds. Requests, and
    limits of partitions, follow. Where p99 is the median, or the median is 0, `Obstacle`.
    """
    known = jobs.filter(counts(capacity)).select("runtime_s", pl.col("procs").cast(pl.Float64))
    runtime_s = known["runtime_s"].to_numpy().astype(np.float64)
    tail = tail_ratio(runtime_s)
    if tail is None or tail <= 1.0:
        raise Obstacle(
            "half of the runtimes are 0" if tail is None else "p99 of the runtimes is their median"
        )
    median, power = float(np.median(runtime_s)), math.log(factor) / math.log(tail)

    def stretched(seconds: FloatArray) -> FloatArray:
        return seconds * np.maximum(seconds / median, 1.0) ** power

    procs = known["procs"].to_numpy()
    back = float((procs * runtime_s).sum() / (procs * stretched(runtime_s)).sum())

    def changed(column: str) -> pl.Series:
        """Times of a column, those of a second or more never less than one."""
        seconds = jobs[column].cast(pl.Float64).to_numpy()
        found = np.maximum(in_whole_seconds(np.nan_to_num(back * stretched(seconds))), seconds >= 1)
        return pl.Series(found).zip_with(jobs[column].is_not_null(), pl.Series([None], dtype=pl.Int64))

    return with_runtimes(jobs, changed("runtime_s")).with_columns(
        partition_limit_s=changed("partition_limit_s")
    )
