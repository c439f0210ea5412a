"""Robustness' decisions (configs/robustness.yaml): how a comparison is repeated.

In:  a mapping parsed from YAML.   Out: `RobustnessConfig`.
Not here: what a gain must be (objective.yaml).
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from hpcopt_assets.contracts.frozen import Frozen, Ratio, Seconds

OpenRatio = Annotated[float, Field(gt=0.0, lt=1.0)]


class ReplicasConfig(Frozen):
    """How many times a trace is shaken and replayed."""

    recorded: PositiveInt
    synthetic: PositiveInt
    # A trace that no machine stood behind is a demonstration.
    conservative: PositiveInt
    # Under conservative backfilling, which takes many times as long; never more than of the others.


class ShakingConfig(Frozen):
    """How far a trace is shaken: what no site could have told beforehand.

    Tsafrir, Ouaknine and Feitelson, Reducing performance evaluation sensitivity and variability by input
    shaking, MASCOTS 2007.
    """

    runtime_spread: OpenRatio
    # Runtime and request of a job are multiplied by the same number from [1 - spread, 1 + spread].
    release_gap_ratio: Ratio
    # Its release is moved by up to this share of the median gap between releases, either way.
    min_release_shift_s: Seconds


class BlocksConfig(Frozen):
    """How the weeks of a trace are drawn with replacement."""

    days: PositiveInt
    min_blocks: Annotated[int, Field(ge=2)]
    # With fewer there is no interval.
    draws: PositiveInt


class Decisions(Frozen):
    """What results depend on."""

    replicas: ReplicasConfig
    shaking: ShakingConfig
    blocks: BlocksConfig
    confidence: OpenRatio
    seed: Annotated[int, Field(ge=0)]


class RobustnessConfig(Decisions):
    """How often, and how, every comparison is repeated."""

    threads: PositiveInt
    # The result does not depend on it: nothing goes stale.

    @property
    def decisions(self) -> Decisions:
        """What results depend on: all but the number of threads."""
        return Decisions(**{key: getattr(self, key) for key in Decisions.model_fields})

    @model_validator(mode="after")
    def _conservative_is_no_more(self) -> Self:
        if self.replicas.conservative > min(self.replicas.recorded, self.replicas.synthetic):
            raise ValueError("replicas.conservative is more than those of the other policies")
        return self
