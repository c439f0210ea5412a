"""A heavier tail: long jobs run longer, short ones shorter, and together they ask for as much as before.

In:  trace_jobs, the machine, forecasts.   Out: the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.requests import request_over_runtime
from hpcopt_assets.measures.schedule import FloatArray, IntArray
from hpcopt_assets.measures.tails import tail_ratio
from hpcopt_assets.stress.columns import FORECAST_TIMES, in_whole_seconds, with_runtimes
from hpcopt_assets.stress.statistics import Obstacle, counts, has_request

HARDLY = "p99 of the runtimes is hardly more than their median"


@dataclass(frozen=True)
class Stretch:
    """Seconds r above the median m become c r (r / m)^g, those below it c r.

    The same for every time, whatever job it belongs to: a request says no more of a runtime than it did. It
    never turns an order round, so that a quantile of runtimes becomes that quantile of stretched ones.
    """

    median_s: float
    power: float
    scale: float

    @classmethod
    def of(cls, jobs: pl.DataFrame, factor: float, capacity: Capacity) -> Stretch:
        """With p99 over median of the runtimes `factor` times what it is, and as much work altogether.

        g stretches the distance between p99 and the median on the logarithmic scale, and c gives back the
        work that this adds. Where p99 is the median, or the median is 0, `Obstacle`.
        """
        known = jobs.filter(counts(capacity)).select("runtime_s", pl.col("procs").cast(pl.Float64))
        runtime_s = known["runtime_s"].to_numpy().astype(np.float64)
        tail = tail_ratio(runtime_s)
        if tail is None or tail <= 1.0:
            raise Obstacle(
                "half of the runtimes are 0" if tail is None else "p99 of the runtimes is their median"
            )
        unscaled = cls(float(np.median(runtime_s)), math.log(factor) / math.log(tail), 1.0)
        procs = known["procs"].to_numpy()
        work = float((procs * runtime_s).sum()), float((procs * unscaled(runtime_s)).sum())
        if not math.isfinite(work[1]):
            raise Obstacle(HARDLY)
        return replace(unscaled, scale=work[0] / work[1])

    def __call__(self, seconds: FloatArray) -> FloatArray:
        """Stretched; 0 for a time that is not known (NaN), infinity beyond what numbers hold."""
        with np.errstate(over="ignore"):  # of a tail of hardly more than 1
            stretched = seconds * np.maximum(seconds / self.median_s, 1.0) ** self.power
        return np.nan_to_num(self.scale * stretched, posinf=math.inf)

    def column(self, jobs: pl.DataFrame, name: str) -> IntArray:
        """Times of a column in whole seconds, those of a second or more never less than one."""
        seconds = jobs[name].cast(pl.Float64).to_numpy()
        return np.maximum(in_whole_seconds(self(seconds)), seconds >= 1)


def heavy_tail(jobs: pl.DataFrame, factor: float, capacity: Capacity) -> pl.DataFrame:
    """The jobs with p99 over median of their runtimes `factor` times what it is; `Obstacle` as `Stretch.of`.

    Limits of partitions are stretched like runtimes; requests too, and then divided by one number so that the
    median of request over runtime stays. A job that kept its request asks for no less than it now runs.
    """
    stretch = Stretch.of(jobs, factor, capacity)
    runtime_s, limit_s = stretch.column(jobs, "runtime_s"), stretch.column(jobs, "partition_limit_s")
    return with_runtimes(
        jobs,
        _where(jobs["runtime_s"].is_not_null(), runtime_s),
        _where(jobs["requested_runtime_s"].is_not_null(), _requests(jobs, stretch, runtime_s, capacity)),
    ).with_columns(partition_limit_s=_where(jobs["partition_limit_s"].is_not_null(), limit_s))


def _requests(jobs: pl.DataFrame, stretch: Stretch, runtime_s: IntArray, capacity: Capacity) -> IntArray:
    """What jobs of these stretched runtimes ask for, rounded up.

    A job that would now outlive the request that it kept gets it undivided. That tells of it only that it
    runs almost as long as it may, and not how long: a request must not give the runtime away.
    """
    request_s = jobs["requested_runtime_s"].cast(pl.Float64).to_numpy()
    stretched = stretch(request_s)
    counted = jobs.select(counts(capacity) & has_request()).to_series().to_numpy()
    # Those that stay undivided ask for hardly more than they run: they lie below the median, growth and all;
    # where they do not, the median moves, and the case is refused.
    growth = 1.0
    if counted.any():
        before = jobs["runtime_s"].fill_null(0).to_numpy()[counted]
        growth = np.median(request_over_runtime(stretched[counted], runtime_s[counted])) / np.median(
            request_over_runtime(request_s[counted], before)
        )
    if not math.isfinite(growth):
        raise Obstacle(HARDLY)
    divided, whole = (
        np.maximum(in_whole_seconds(np.ceil(seconds)), request_s >= 1)
        for seconds in (stretched / growth, stretched)
    )
    kept = jobs.select((pl.col("requested_runtime_s") >= pl.col("runtime_s")).fill_null(False)).to_series()
    return np.where(kept.to_numpy() & (divided < runtime_s), whole, divided)


def _where(is_known: pl.Series, seconds: IntArray) -> pl.Series:
    return pl.Series(seconds).zip_with(is_known, pl.Series([None], dtype=pl.Int64))


def stretched_forecasts(
    estimates: pl.DataFrame, jobs: pl.DataFrame, factor: float, capacity: Capacity
) -> pl.DataFrame:
    """`runtime_estimates` of a trace, for that with a heavier tail: quantiles are stretched as runtimes are.

    They are then those of the stretched runtimes, and know no more of any one job than before. Below a second
    they are one.
    """
    stretch = Stretch.of(jobs, factor, capacity)
    times = [name for name in FORECAST_TIMES if name in estimates.columns]
    return estimates.with_columns(
        pl.Series(name, np.maximum(stretch(estimates[name].to_numpy()), 1.0)).zip_with(
            estimates[name].is_not_null(), pl.Series([None], dtype=pl.Float64)
        )
        for name in times
    )
