"""Stress' and sensitivity's decisions (configs/stress.yaml, configs/sensitivity.yaml).

In:  mappings parsed from YAML.   Out: `StressConfig`, `SensitivityConfig`.
Not here: what a scenario does (stress/) and what a gain must be (objective.yaml).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt, model_validator

from hpcopt_assets.contracts.frozen import Frozen, Part, Ratio, Seconds
from hpcopt_assets.contracts.robustness_config import Seed
from hpcopt_assets.contracts.stress_words import StressScenario
from hpcopt_assets.contracts.vocabulary import Overrun

Threads = PositiveInt | Literal["all"]
# Results do not depend on it, and nothing goes stale with it. All: one for each core we may use.


def _going_away_from_one(factors: tuple[float, float, float]) -> tuple[float, float, float]:
    path = (1.0, *factors)
    if not (all(a < b for a, b in pairwise(path)) or all(a > b for a, b in pairwise(path))):
        raise ValueError(f"factors {list(factors)} do not go ever further away from 1")
    return factors


def _without_repeats(values: tuple[float, ...]) -> tuple[float, ...]:
    if len(set(values)) != len(values):
        raise ValueError(f"values {list(values)} repeat one")
    return values


Severities = Annotated[
    tuple[PositiveFloat, PositiveFloat, PositiveFloat], AfterValidator(_going_away_from_one)
]
# Mild, strong, severe: by what the scenario's statistic is multiplied.
Guard = Annotated[float, Field(ge=0.0, le=10.0)]
Factor = Annotated[float, Field(gt=0.0, le=1000.0)]


class FactorsConfig(Frozen):
    """By what each scenario multiplies its statistic, at three severities."""

    heavy_tail: Severities
    low_congestion: Severities
    user_skew: Severities
    burst_shock: Severities
    estimate_noise: Severities

    @model_validator(mode="after")
    def _each_goes_its_way(self) -> Self:
        """Load is taken away, and nothing but load is: the other scenarios only know how to add."""
        for scenario in StressScenario:
            is_less = self.of(scenario)[0] < 1
            if is_less != (scenario is StressScenario.LOW_CONGESTION):
                needed = "below" if scenario is StressScenario.LOW_CONGESTION else "above"
                raise ValueError(f"{scenario}: factors {list(self.of(scenario))}, all {needed} 1 needed")
        return self

    def of(self, scenario: StressScenario) -> tuple[float, float, float]:
        """The three factors of a scenario."""
        factors: tuple[float, float, float] = getattr(self, scenario.value)
        return factors


class ScenariosConfig(Frozen):
    """How a trace is stressed."""

    factors: FactorsConfig
    tolerance: Part
    # How far the factor reached may lie from the one asked for, and any other statistic move, as a share.
    min_jobs: PositiveInt
    # A trace of fewer jobs has no p99 and no busiest window to speak of.
    peak_windows: Annotated[int, Field(ge=2)]
    # Equal parts of a trace's time, of which the busiest is held against the mean.
    seed: Seed


class StressConfig(Frozen):
    """Scenarios, and how many are replayed at once."""

    scenarios: ScenariosConfig
    threads: Threads


class SettingsConfig(Frozen):
    """Values that a verdict must not hang on."""

    guard_k: Annotated[tuple[Guard, ...], Field(min_length=1), AfterValidator(_without_repeats)]
    tau_s: Annotated[tuple[Seconds, ...], Field(min_length=1), AfterValidator(_without_repeats)]
    capacity_factor: Annotated[tuple[Factor, ...], Field(min_length=1), AfterValidator(_without_repeats)]
    starved_after_s: Annotated[tuple[Seconds, ...], Field(min_length=1), AfterValidator(_without_repeats)]
    min_gain_ratio: Annotated[tuple[Ratio, ...], Field(min_length=1), AfterValidator(_without_repeats)]
    max_jain_service_drop: Annotated[tuple[Ratio, ...], Field(min_length=1), AfterValidator(_without_repeats)]
    overrun: Annotated[tuple[Overrun, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _machine_as_it_is(self) -> Self:
        if 1.0 not in self.capacity_factor:
            raise ValueError(
                "capacity_factor lacks 1, the machine as it is, which the others are held against"
            )
        return self


class SensitivityConfig(Frozen):
    """What is varied, and how many replays run at once."""

    settings: SettingsConfig
    threads: Threads
