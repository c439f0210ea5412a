"""Forecasts as a policy believes them: quantiles of each job's runtime, made before it came.

In:  `runtime_estimates`, the jobs of a workload.   Out: `Forecast`; whole seconds.
Not here: how they were made (forecast/), and what they bound (a job that outlives its estimate runs on).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.order import JOB_KEY
from hpcopt_assets.contracts.vocabulary import Estimate, EstimateSource
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
from hpcopt_assets.measures.schedule import FloatArray, IntArray

NEXT = {Estimate.P10: Estimate.P50, Estimate.P50: Estimate.P90}
# Towards which quantile a guard moves the estimate.


@dataclass(frozen=True)
class Forecast:
    """Quantiles in seconds, one entry a replayed job in trace order; NaN where nobody forecast the job.

    `source` holds codes of `EstimateSource`, -1 where nobody did.
    """

    quantile_s: dict[Estimate, FloatArray]
    source: npt.NDArray[np.int8]

    def believed_s(self, estimate: Estimate, guard_k: float, limit_s: IntArray) -> IntArray:
        """Quantile + guard_k * (next quantile - quantile), rounded up, at least 1 s, at most the limit.

        The limit stands where nobody forecast.
        """
        value = self.quantile_s[estimate]
        if guard_k:
            value = value + guard_k * (self.quantile_s[NEXT[estimate]] - value)
        return np.where(
            np.isnan(value), limit_s, np.clip(np.ceil(value), SHORTEST_ESTIMATE_S, limit_s)
        ).astype(np.int64)


def forecast_of(jobs: pl.DataFrame, is_replayed: pl.Series, estimates: pl.DataFrame) -> Forecast:
    """The forecasts of the replayed jobs, found by job and attempt; `jobs` have these and `submit_s`.

    `InputError` where a job has two, or was submitted at another instant than its estimate says: ids of one
    log are ids of every log.
    """
    columns = {estimate: f"{estimate.value}_s" for estimate in (Estimate.P10, Estimate.P50, Estimate.P90)}
    wanted = jobs.select(*JOB_KEY, "submit_s").filter(is_replayed)
    told = estimates.select(*JOB_KEY, *columns.values(), "source", told_submit_s="submit_s")
    if told.select(pl.struct(JOB_KEY).is_duplicated().any()).item():
        twice = told.filter(pl.struct(JOB_KEY).is_duplicated())["job_id"][0]
        raise InputError(
            found=f"two estimates of job {twice}",
            needed="one a job and attempt",
            where="runtime_estimates",
            next_step="Make them again (`hpcopt forecast`).",
        )
    found = wanted.join(told, on=JOB_KEY, how="left", maintain_order="left")
    foreign = found.filter(pl.col("submit_s") != pl.col("told_submit_s"))
    if foreign.height:
        row = foreign.row(0, named=True)
        raise InputError(
            found=f"an estimate of a job {row['job_id']} submitted at {row['told_submit_s']} s",
            needed=f"of the job {row['job_id']} submitted at {row['submit_s']} s",
            where="runtime_estimates",
            next_step="Give the estimates that were made of this trace.",
        )
    codes = {source.value: source.code for source in EstimateSource}
    return Forecast(
        {estimate: found[name].fill_null(np.nan).to_numpy() for estimate, name in columns.items()},
        found["source"].replace_strict(codes, default=-1, return_dtype=pl.Int8).to_numpy(),
    )
