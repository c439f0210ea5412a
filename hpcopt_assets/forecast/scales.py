"""Scales on which trees are grown: what a quantile's model adds to, and how its sum becomes seconds.

In:  `Jobs`.   Out: targets, starting values and weights for fitting; seconds for serving.
Not here: the trees (fit.py).

The median is predicted as a share of the request, starting from the user's history; weighing a job by its
request makes the loss the mean absolute error in seconds. The tails are predicted as logarithms.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hpcopt_assets.contracts.forecast_words import Quantile
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.measures.schedule import FloatArray


class Scale(Protocol):
    """Arrays with one entry a job."""

    name: str
    leaf_step: float
    # Leaves are rounded to multiples of it: the sums of thousands are then exact in float32, in any order.

    def target(self, jobs: Jobs) -> FloatArray: ...

    def start(self, jobs: Jobs) -> FloatArray | None: ...

    def weight(self, jobs: Jobs) -> FloatArray: ...

    def seconds(self, jobs: Jobs, summed: FloatArray) -> FloatArray: ...


class ShareOfRequest:
    """Runtimes as shares of the request."""

    name = "share_of_request"
    leaf_step = 2.0**-21

    def target(self, jobs: Jobs) -> FloatArray:
        return jobs.target_s / jobs.limit_s

    def start(self, jobs: Jobs) -> FloatArray:
        return jobs.recent_history_s / jobs.limit_s

    def weight(self, jobs: Jobs) -> FloatArray:
        return jobs.limit_s

    def seconds(self, jobs: Jobs, summed: FloatArray) -> FloatArray:
        return (self.start(jobs) + summed) * jobs.limit_s


class Logarithm:
    """Natural logarithms of runtimes in seconds."""

    name = "logarithm"
    leaf_step = 2.0**-19

    def target(self, jobs: Jobs) -> FloatArray:
        return np.log(jobs.target_s)

    def start(self, jobs: Jobs) -> None:  # noqa: ARG002 -- the other scale has a start
        return None

    def weight(self, jobs: Jobs) -> FloatArray:
        return np.ones(len(jobs))

    def seconds(self, jobs: Jobs, summed: FloatArray) -> FloatArray:
        return np.exp(np.minimum(summed, np.log(jobs.limit_s)))


def scale_of(quantile: Quantile) -> Scale:
    """The scale on which a quantile is predicted."""
    return ShareOfRequest() if quantile is Quantile.P50 else Logarithm()
