"""The config model of configs/placement.yaml: a cluster joined by optical switches, and jobs that come to it.

In:  a mapping parsed from YAML.   Out: typed, frozen values.
Not here: values; how a placement is decided (placement/kernel/).
"""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from hpcopt_assets.contracts.frozen import Frozen, Part, Ratio, Seconds, Words
from hpcopt_assets.contracts.placement_words import Admission, Allocation, RingOrder

BUDGET_STATES_MAX = 2**13
# Remaining budgets of one rail's switches that the exact decision may have to tell apart.


class ClusterConfig(Frozen):
    """The machine: SUs of servers and leaf switches, and one optical switch for each rail and plane."""

    sus: Annotated[int, Field(ge=2, le=256)]
    servers_per_su: Annotated[int, Field(ge=1, le=256)]
    rails: Annotated[int, Field(ge=1, le=16)]
    # Leaves of an SU; GPU i of each server is on leaf i, so a server has as many GPUs.
    planes: Annotated[int, Field(ge=1, le=8)]
    # Uplinks of a leaf, one to the switch of each plane.
    circuits_per_interval: Annotated[int, Field(ge=1, le=255)]
    interval_s: Seconds
    mean_uplink_up_s: Seconds
    mean_uplink_down_s: Seconds
    allocation: Allocation
    ring_orders: Annotated[tuple[RingOrder, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_decidable(self) -> Self:
        states = (self.circuits_per_interval + 1) ** self.planes
        if states > BUDGET_STATES_MAX:
            raise ValueError(
                f"{self.circuits_per_interval} circuits on {self.planes} planes make {states:,} states of a "
                f"rail's budget, at most {BUDGET_STATES_MAX:,} can be told apart"
            )
        if len(set(self.ring_orders)) < len(self.ring_orders):
            raise ValueError("a ring order stands more than once")
        return self

    @property
    def servers(self) -> int:
        """Servers of the cluster: the length of `server_bitmap`."""
        return self.sus * self.servers_per_su

    @property
    def leaves(self) -> int:
        """Leaf switches of the cluster: the length of `leaf_utilization`."""
        return self.sus * self.rails

    @property
    def switches(self) -> int:
        """Optical switches of the cluster: the length of `budget_remaining`."""
        return self.rails * self.planes

    @property
    def sha256(self) -> str:
        """What tells it from every other cluster."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class GpuShare(Frozen):
    """How many of all jobs ask for so many GPUs in each of their servers."""

    gpus: PositiveInt
    share: Ratio


class WorkloadConfig(Frozen):
    """The jobs: Poisson arrivals with a daily cycle, log-uniform sizes, capped lognormal durations."""

    offered_load: PositiveFloat
    # Server-seconds asked for over server-seconds there are.
    daily_amplitude: Annotated[float, Field(ge=0.0, lt=1.0)]
    min_servers: PositiveInt
    max_servers: PositiveInt
    gpus: Annotated[tuple[GpuShare, ...], Field(min_length=1)]
    median_duration_s: Seconds
    duration_sigma: PositiveFloat
    max_duration_medians: PositiveFloat

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.min_servers > self.max_servers:
            raise ValueError("min_servers is above max_servers")
        if any(a.gpus >= b.gpus for a, b in pairwise(self.gpus)):
            raise ValueError("gpus are not in ascending order, each once")
        if abs(sum(item.share for item in self.gpus) - 1.0) > 1e-9:
            raise ValueError("shares of gpus do not sum to 1")
        return self


class GeneratorConfig(Frozen):
    """How many snapshots are made, and from which seeds."""

    rows: PositiveInt
    demo_rows: PositiveInt
    warm_up_ratio: Annotated[float, Field(ge=0.0, lt=1.0)]
    # The first attempts, of a cluster that is still filling, are made and not written.
    seed: NonNegativeInt
    other_seed: NonNegativeInt
    # Of the snapshots that no model is fitted on.

    @model_validator(mode="after")
    def _seeds_differ(self) -> Self:
        if self.seed == self.other_seed:
            raise ValueError("other_seed is the seed that models are fitted on")
        return self


class SplitConfig(Frozen):
    """What snapshots are used for, in order of time; what these shares leave is scored."""

    fit_share: Part
    stop_share: Part
    calibrate_share: Part

    @model_validator(mode="after")
    def _something_is_left(self) -> Self:
        if self.fit_share + self.stop_share + self.calibrate_share >= 1.0:
            raise ValueError("fit_share, stop_share and calibrate_share leave nothing to score")
        return self


class ModelConfig(Frozen):
    """How a model is trained."""

    trees_max: PositiveInt
    # For each class; no more are added once the loss on the next part has not improved for a while.
    stop_after: PositiveInt
    learning_rate: PositiveFloat
    leaves: Annotated[int, Field(ge=2)]
    min_rows_per_leaf: PositiveInt
    threads: Annotated[int, Field(ge=1, le=64)]
    missed_failure_cost: PositiveFloat
    # Of a failure that is let through, in units of a good job that is turned away.


class CalibrationConfig(Frozen):
    """How it is measured whether chances hold: in a figure and in a score."""

    bins: Annotated[int, Field(ge=2)]


class ScoreConfig(Frozen):
    """What a model is held against, and how sure that is."""

    other_rows: PositiveInt
    # Snapshots of the other seed.
    ceiling_draws: Annotated[int, Field(ge=40)]
    replicas: Annotated[int, Field(ge=100)]
    block_rows: PositiveInt
    # Consecutive snapshots that are resampled together: the cluster is much the same from one to the next.
    calibration: CalibrationConfig
    seed: NonNegativeInt


class InferenceConfig(Frozen):
    """Which model predicts; paths are relative to the project's folder."""

    onnx: Words
    bundle: Words
    batch_rows: PositiveInt


class StudyConfig(Frozen):
    """Arrivals over which admission rules are compared, and which rules."""

    attempts: PositiveInt
    seed: NonNegativeInt
    admissions: Annotated[tuple[Admission, ...], Field(min_length=1)]


class PlacementConfig(Frozen):
    """A cluster, its jobs, the snapshots made of them, and what a model makes of those."""

    cluster: ClusterConfig
    workload: WorkloadConfig
    generator: GeneratorConfig
    split: SplitConfig
    model: ModelConfig
    score: ScoreConfig
    inference: InferenceConfig
    study: StudyConfig

    @model_validator(mode="after")
    def _jobs_fit(self) -> Self:
        if self.workload.max_servers > self.cluster.servers:
            raise ValueError(f"max_servers is above the cluster's {self.cluster.servers} servers")
        if self.workload.gpus[-1].gpus > self.cluster.rails:
            raise ValueError(f"a job asks for more GPUs than the {self.cluster.rails} of a server")
        if self.study.seed in (self.generator.seed, self.generator.other_seed):
            raise ValueError("study.seed is one that models are fitted or scored on")
        return self
