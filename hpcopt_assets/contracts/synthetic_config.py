"""The workload model's parameters (configs/synthetic.yaml).

In:  a mapping parsed from YAML.   Out: `SyntheticConfig`.
Not here: the model itself (synthetic/).
"""

from __future__ import annotations

import math
from typing import Annotated, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from hpcopt_assets.contracts.columns import PROCS_MAX, TIME_MAX_S
from hpcopt_assets.contracts.frozen import SAFE_ID, Frozen, Ratio, Seconds


class LublinModel(Frozen):
    """Parameters of the Lublin and Feitelson workload model (JPDC 63(11), 2003, all job types together)."""

    serial_probability: Ratio
    power_of_two_probability: Ratio
    size_low: float
    size_med_below_high: PositiveFloat
    # The bend of the size distribution, in log2 below the machine's size: the program's own advice.
    size_probability: Ratio
    runtime_a1: PositiveFloat
    runtime_b1: PositiveFloat
    runtime_a2: PositiveFloat
    runtime_b2: PositiveFloat
    runtime_p_slope: float
    runtime_p_intercept: float
    max_log_runtime: PositiveFloat
    arrival_a: PositiveFloat
    arrival_b: PositiveFloat
    cycle_a: PositiveFloat
    cycle_b: PositiveFloat
    rush_to_all_ratio: PositiveFloat
    max_log_gap: PositiveFloat


class UserHabits(Frozen):
    """Who submits the model's jobs, and what they ask for: the model itself knows neither."""

    users: PositiveInt
    zipf_exponent: PositiveFloat
    session_jobs: Annotated[float, Field(ge=1.0)]
    # Mean number of like jobs that a user submits one after another.
    session_stride: PositiveFloat
    # Mean number of submissions of everybody between two of one session.
    applications: PositiveInt
    # Kinds of job (size and runtime) that a user has.
    application_spread: PositiveFloat
    # How far the jobs of one kind differ, as a share of all jobs ordered by size and runtime.
    popular_requests_s: Annotated[tuple[Seconds, ...], Field(min_length=1)]
    favourite_requests: PositiveInt
    # How many of the popular values a user knows, beside the largest.
    over_request_sigma: PositiveFloat
    # A user asks for exp(|N(0, sigma)|) times what the jobs usually need.
    overrun_grace_s: Annotated[int, Field(ge=0, le=TIME_MAX_S)]
    # No job runs longer than this past its request.

    @model_validator(mode="after")
    def _requests_rise(self) -> Self:
        if list(self.popular_requests_s) != sorted(set(self.popular_requests_s)):
            raise ValueError(f"popular_requests_s {self.popular_requests_s} do not rise")
        if self.favourite_requests > len(self.popular_requests_s):
            raise ValueError(
                f"favourite_requests {self.favourite_requests} of {len(self.popular_requests_s)} popular ones"
            )
        return self


class Disturbances(Frozen):
    """How the demo's observed schedule departs from plain EASY, so that fidelity has something to find."""

    drain_start_ratio: Ratio
    # Where in the submission span the drain begins.
    drain_procs_ratio: Ratio
    drain_days: PositiveFloat
    priority_user_rank: PositiveInt
    # The user whose jobs go first: 1 is the user with most jobs.
    request_blur_sigma: PositiveFloat
    # The site believed requests times exp(N(0, sigma)), not those that were written down.


class DemoTrace(Frozen):
    """The demo trace."""

    trace_id: Annotated[str, Field(pattern=f"^{SAFE_ID.pattern}$")]
    seed: Annotated[int, Field(ge=0)]
    jobs: Annotated[int, Field(ge=2)]
    procs: Annotated[int, Field(ge=2, le=PROCS_MAX)]
    offered_load: PositiveFloat
    unix_start_s: Annotated[int, Field(ge=0, le=TIME_MAX_S)]
    disturbances: Disturbances


class SyntheticConfig(Frozen):
    """The workload model behind the demo trace, and the demo itself."""

    model: LublinModel
    users: UserHabits
    demo: DemoTrace

    @model_validator(mode="after")
    def _every_runtime_can_be_asked_for(self) -> Self:
        longest = self.users.popular_requests_s[-1]
        if math.log(longest) < self.model.max_log_runtime:
            raise ValueError(
                f"popular_requests_s end at {longest} s, jobs may run exp({self.model.max_log_runtime}) s"
            )
        return self
