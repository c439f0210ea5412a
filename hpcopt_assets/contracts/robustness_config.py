"""Robustness' decisions (configs/robustness.yaml): how a comparison is repeated.

In:  a mapping parsed from YAML.   Out: `RobustnessConfig`.
Not here: what a gain must be (objective.yaml).
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from hpcopt_assets.contracts.frozen import Frozen, Part, Ratio, Seconds

Seed = Annotated[int, Field(ge=0)]


class ReplicasConfig(Frozen):
    """How many times a trace is shaken and replayed."""

    recorded: PositiveInt
    synthetic: PositiveInt
    # A trace that no machine stood behind is a demonstration.
    conservative: PositiveInt
    # Under conservative backfilling, which takes many times as long; never more than of the others.

    @model_validator(mode="after")
    def _conservative_is_no_more(self) -> Self:
        if self.conservative > min(self.recorded, self.synthetic):
            raise ValueError("conservative is more than the replicas of the other policies")
        return self


class ShakingConfig(Frozen):
    """How far a trace is shaken, by what no site could have told beforehand, and how often.

    Tsafrir, Ouaknine and Feitelson, Reducing performance evaluation sensitivity and variability by input
    shaking, MASCOTS 2007.
    """

    replicas: ReplicasConfig
    runtime_spread: Part
    # Runtime and request of a job are multiplied by the same number from [1 - spread, 1 + spread].
    release_gap_ratio: Ratio
    # Its release is moved by up to this share of the median gap between releases, either way.
    min_release_shift_s: Seconds
    seed: Seed


class IntervalsConfig(Frozen):
    """What an interval is made from: replicas, and blocks of days drawn with replacement."""

    confidence: Part
    min_replicas: Annotated[int, Field(ge=2)]
    block_days: PositiveInt
    min_blocks: Annotated[int, Field(ge=2)]
    # With fewer of either there is no interval.
    draws: PositiveInt
    seed: Seed


class RobustnessConfig(Frozen):
    """How often, and how, every comparison is repeated."""

    shaking: ShakingConfig
    intervals: IntervalsConfig
    threads: PositiveInt | Literal["all"]
    # Results do not depend on it, and nothing goes stale with it. All: one for each core we may use.

    @model_validator(mode="after")
    def _replicas_suffice(self) -> Self:
        fewest, needed = self.shaking.replicas.conservative, self.intervals.min_replicas
        if fewest < needed:
            raise ValueError(
                f"shaking.replicas.conservative is {fewest}, intervals.min_replicas {needed}: with fewer "
                "there is no interval"
            )
        return self
