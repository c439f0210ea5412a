"""Jobs as a model sees them: inputs, and labels with the instant at which each became known.

In:  `job_features` and `trace_jobs` of one trace.   Out: `Jobs`.
Not here: which jobs a fold may look at (splits.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import ContractError
from hpcopt_assets.contracts.forecast_tables import FEATURES_OF
from hpcopt_assets.contracts.forecast_words import Inputs
from hpcopt_assets.contracts.order import JOB_KEY, in_trace_order
from hpcopt_assets.forecast.rounding import to_grid
from hpcopt_assets.measures.calendar import days, zone_of
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S, has_runtime, is_completed
from hpcopt_assets.measures.schedule import BoolArray, FloatArray, IntArray

Matrix = npt.NDArray[np.float32]
UNKNOWN = -1.0
# Stands for null in a model's input. Below every value there is, so a split can tell it apart; NaN would be
# read as zero wherever a feature had none while fitting.
CHAINS = (
    ("user_procs_request_last2_mean_s", "user_request_last2_mean_s", "user_last2_mean_s"),
    ("user_request_last2_mean_s", "user_last2_mean_s"),
)
# Each from the closest history to the widest; the closest is sharper, the wider one steadier.
_COLUMNS = FEATURES_OF[Inputs.QUEUE_STATE]


@dataclass(frozen=True)
class Jobs:
    """Arrays with one entry a job, in trace order; times in seconds, 0 where not known.

    `target_s` is min(runtime, limit), at least 1: what is forecast. `is_known`: the log tells the runtime;
    `is_completed`: it also tells the end, at which the runtime becomes known. `day` is that of the submission
    in the trace's time zone, since 1970; `user_day` numbers users' days (unknown users are one user).
    """

    features: pl.DataFrame
    submit_s: IntArray
    end_s: IntArray
    runtime_s: FloatArray
    limit_s: FloatArray
    target_s: FloatArray
    is_known: BoolArray
    is_completed: BoolArray
    has_request: BoolArray
    day: IntArray
    user_day: IntArray
    user: npt.NDArray[np.object_]

    @classmethod
    def of(cls, features: pl.DataFrame, trace_jobs: pl.DataFrame, timezone: str | None) -> Jobs:
        """Features and labels of the same jobs; `ContractError` where they are not the same."""
        jobs = in_trace_order(trace_jobs)
        if not features.select("trace_id", *JOB_KEY).equals(jobs.select("trace_id", *JOB_KEY)):
            raise ContractError(
                found=f"{features.height} rows of job_features and {jobs.height} of trace_jobs that differ",
                needed="the same jobs in trace order",
                where="tables job_features and trace_jobs",
                next_step="Materialize job_features anew for this trace.",
            )
        limit_s = _numbers(features["limit_s"])
        runtime_s = _numbers(jobs["runtime_s"].fill_null(0))
        submit_s = jobs["submit_s"].to_numpy()
        dated = jobs.select("user").with_columns(day=days(submit_s, zone_of(timezone)))
        return cls(
            features=features,
            submit_s=submit_s,
            end_s=jobs["end_s"].fill_null(0).to_numpy(),
            runtime_s=runtime_s,
            limit_s=limit_s,
            target_s=np.maximum(np.minimum(runtime_s, limit_s), SHORTEST_ESTIMATE_S),
            is_known=jobs.select(has_runtime()).to_series().to_numpy(),
            is_completed=jobs.select(is_completed()).to_series().to_numpy(),
            has_request=(features["has_request"] > 0).to_numpy(),
            day=dated["day"].to_numpy(),
            user_day=(
                dated.select(pl.struct("user", "day").rank("dense").cast(pl.Int64)).to_series() - 1
            ).to_numpy(),
            user=jobs["user"].fill_null("unknown").to_numpy(),
        )

    def __len__(self) -> int:
        return self.features.height

    @cached_property
    def _inputs(self) -> Matrix:
        """All features of all jobs, as a model is given them."""
        values = self.features.select(_COLUMNS).fill_null(UNKNOWN).to_numpy()
        return np.ascontiguousarray(to_grid(values).astype(np.float32))

    def prepare(self) -> None:
        """Compute what threads would else compute twice."""
        _ = self._inputs, self.recent_history_s

    def columns(self, names: Sequence[str], rows: BoolArray) -> Matrix:
        """These features of the jobs in `rows`, as a model is given them: on the grid of rounding.py."""
        places = np.array([_COLUMNS.index(name) for name in names])
        chosen: Matrix = self._inputs[np.ix_(np.flatnonzero(rows), places)]
        return chosen

    @cached_property
    def recent_history_s(self) -> FloatArray:
        """Mean runtime of the last two jobs that are like each; its limit where there are none.

        The mean of what the chains of `CHAINS` say, each by its first history that is known; in [1 s, limit].
        """
        said = [
            _numbers(self.features.select(pl.coalesce(*chain, "limit_s")).to_series()) for chain in CHAINS
        ]
        mean: FloatArray = np.clip(np.mean(said, axis=0), SHORTEST_ESTIMATE_S, self.limit_s)
        return mean

    def taken(self, rows: IntArray) -> Jobs:
        """These jobs alone, in this order."""
        arrays = {
            field.name: getattr(self, field.name)[rows] for field in fields(self) if field.name != "features"
        }
        return Jobs(features=self.features[rows], **arrays)

    def shuffled(self, name: str, order: IntArray) -> Jobs:
        """The same jobs, with the values of one feature handed round; labels and limits stay."""
        return replace(self, features=self.features.with_columns(pl.col(name).gather(order)))


def _numbers(column: pl.Series) -> FloatArray:
    return column.cast(pl.Float64).to_numpy()
