"""Config models: one frozen model reads each file under configs/; unknown keys are errors.

In:  mappings parsed from YAML (orchestration/configs.py reads the files).   Out: typed, frozen values.
Not here: values. No field has a default: a decision that is not written down is an error.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from hpcopt_assets.contracts.forecast_config import ForecastConfig
from hpcopt_assets.contracts.frozen import Frozen, Part, PolicyId, Ratio, Seconds, Words
from hpcopt_assets.contracts.placement_config import PlacementConfig
from hpcopt_assets.contracts.robustness_config import RobustnessConfig
from hpcopt_assets.contracts.stress_config import SensitivityConfig, StressConfig
from hpcopt_assets.contracts.synthetic_config import SyntheticConfig
from hpcopt_assets.contracts.traces_config import TracesConfig
from hpcopt_assets.contracts.vocabulary import (
    FORECAST,
    OBSERVED,
    Backfill,
    BackfillOrder,
    Estimate,
    FidelityCriterion,
    Order,
    Overrun,
)

# --- configs/policies.yaml ---------------------------------------------------------------------------


RESERVED = (Order.SUBMIT, BackfillOrder.QUEUE, Estimate.REQUESTED, Estimate.REQUESTED)
# What conservative backfilling is defined for: a reservation is a promise to jobs in the order they came.


class Policy(Frozen):
    """One scheduling policy: parameters of the one engine."""

    id: PolicyId
    means: Words
    order: Order
    backfill: Backfill
    backfill_order: BackfillOrder
    estimate: Estimate
    hold: Estimate
    overrun: Overrun
    half_life_s: Seconds | None = None
    # Of a user's past usage; for order fairshare, which needs it, and no other.
    guard_k: Annotated[float, Field(ge=0.0, le=10.0)] | None = None
    # How far the estimate is moved from p10 towards p50, or p50 towards p90; for these two, and no other.
    is_bound: bool
    # True: knows what no scheduler can know; shown as a bound, never a candidate for a claim.

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.id == OBSERVED:
            raise ValueError(f"policy id {OBSERVED!r} is taken: it names the recorded schedule")
        if Estimate.ACTUAL in (self.estimate, self.hold) and not self.is_bound:
            raise ValueError(
                f"policy {self.id}: estimate or hold is `actual`, which no scheduler knows; "
                "set is_bound: true or believe the request"
            )
        if self.backfill is Backfill.NONE and self.backfill_order is not BackfillOrder.QUEUE:
            raise ValueError(f"policy {self.id}: backfill_order {self.backfill_order} without backfilling")
        if (self.order is Order.FAIRSHARE) != (self.half_life_s is not None):
            raise ValueError(
                f"policy {self.id}: order {self.order} with half_life_s {self.half_life_s}; "
                "order fairshare needs a half-life, no other order has one"
            )
        if (self.estimate in (Estimate.P10, Estimate.P50)) != (self.guard_k is not None):
            raise ValueError(
                f"policy {self.id}: estimate {self.estimate} with guard_k {self.guard_k}; "
                "estimates p10 and p50 need a guard (0 for none), no other has one"
            )
        found = (self.order, self.backfill_order, self.estimate, self.hold)
        if self.backfill is Backfill.CONSERVATIVE and found != RESERVED:
            raise ValueError(
                f"policy {self.id}: backfill conservative with order, backfill_order, estimate, hold "
                f"{', '.join(found)}; only {', '.join(RESERVED)} is defined"
            )
        return self

    @property
    def is_forecasting(self) -> bool:
        """Whether it believes forecasts, and so needs runtime_estimates."""
        return self.estimate in FORECAST or self.hold in FORECAST


class PoliciesConfig(Frozen):
    """Every policy that is replayed, and the two the observed schedule is held against."""

    strict: bool
    # Whether replays check all of the machine's state at every pass. No schedule changes: nothing goes stale.
    fidelity_baselines: Annotated[tuple[str, ...], Field(min_length=1)]
    policies: Annotated[tuple[Policy, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _ids_agree(self) -> Self:
        ids = [policy.id for policy in self.policies]
        twice = sorted({i for i in ids if ids.count(i) > 1})
        if twice:
            raise ValueError(f"policy ids {twice} stand more than once")
        unknown = sorted(set(self.fidelity_baselines) - set(ids))
        if unknown:
            raise ValueError(f"fidelity_baselines {unknown} are not among the policies {ids}")
        return self

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids in the file's order."""
        return tuple(policy.id for policy in self.policies)

    @property
    def candidates(self) -> tuple[Policy, ...]:
        """The policies that a site could run, the baseline among them: all but the bounds."""
        return tuple(policy for policy in self.policies if not policy.is_bound)

    def get(self, policy_id: str) -> Policy | None:
        """The policy of that id, or None."""
        return next((policy for policy in self.policies if policy.id == policy_id), None)


# --- configs/objective.yaml --------------------------------------------------------------------------


class MeasuresConfig(Frozen):
    """Constants of the measures."""

    tau_s: Seconds
    starved_after_s: Seconds
    steady_skip_ratio: Ratio
    selection_time_ratio: Part
    min_jobs_per_user: PositiveInt
    queue_sample_s: Seconds


class SaturationRule(Frozen):
    """When a backlog counts as still growing over the last third of the submissions."""

    min_growth_ratio: PositiveFloat
    # By what share of the machine arriving work outruns what the policy serves: backlog gained per hour.
    parts: Annotated[int, Field(ge=3)]


class ScoreWeights(Frozen):
    """Weights of the score by which candidates are diagnosed, never judged."""

    p95_bsld: NonNegativeFloat
    utilisation: NonNegativeFloat
    jain_service: NonNegativeFloat


class ClaimsConfig(Frozen):
    """What a candidate must show against the baseline."""

    baseline: str
    primary: Literal["p95_bsld"]
    min_gain_ratio: PositiveFloat
    max_starved_ratio: Ratio
    max_jain_service_drop: Ratio
    max_utilisation_drop: Ratio
    max_fallback_ratio: Ratio
    min_model_ratio: Ratio
    max_lost_work_ratio: Ratio
    min_met_ratio: Ratio
    min_jobs: PositiveInt
    saturation: SaturationRule
    score: ScoreWeights


class ObjectiveConfig(Frozen):
    """Constants of measures and claims."""

    measures: MeasuresConfig
    claims: ClaimsConfig


# --- configs/fidelity.yaml ---------------------------------------------------------------------------

UNIT_OF: dict[FidelityCriterion, str] = {
    FidelityCriterion.MEAN_WAIT: "ratio",
    FidelityCriterion.P95_WAIT: "ratio",
    FidelityCriterion.THROUGHPUT: "ratio",
    FidelityCriterion.MAKESPAN: "ratio",
    FidelityCriterion.WAIT_KL: "nats",
    FidelityCriterion.BSLD_KS: "distance",
    FidelityCriterion.QUEUE_CORRELATION: "correlation",
}


class Divergence(Frozen):
    """A relative divergence |replayed - observed| / max(|observed|, floor)."""

    criterion: Literal[
        FidelityCriterion.MEAN_WAIT,
        FidelityCriterion.P95_WAIT,
        FidelityCriterion.THROUGHPUT,
        FidelityCriterion.MAKESPAN,
    ]
    floor: PositiveFloat
    floor_unit: Literal["s", "jobs/h"]

    @model_validator(mode="after")
    def _unit_is_the_measures(self) -> Self:
        needed = "jobs/h" if self.criterion is FidelityCriterion.THROUGHPUT else "s"
        if self.floor_unit != needed:
            raise ValueError(f"{self.criterion}: floor_unit {self.floor_unit}, {needed} needed")
        return self


class QuartersConfig(Frozen):
    """How the quarters of a trace are judged."""

    seeded_start: bool
    # True: each is replayed on its own, from what ran and waited when it began. False: cut from the whole.


class FidelityConfig(Frozen):
    """When a replay counts as like what was observed."""

    min_jobs: PositiveInt
    divergence_fail: Ratio
    divergence_warn: Ratio
    max_warned: PositiveInt
    # One divergence above divergence_fail fails; this many above divergence_warn fail together.
    divergences: Annotated[tuple[Divergence, ...], Field(min_length=1)]
    max_wait_kl_nats: PositiveFloat
    wait_bins: Annotated[int, Field(ge=2)]
    min_distinct_bins: Annotated[int, Field(ge=2)]
    max_bsld_ks: Ratio
    min_queue_correlation: Ratio
    closeness_floor_s: Seconds
    # Added to each wait before two are held against each other to rank policies by closeness.
    quarters: QuartersConfig

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.divergence_warn > self.divergence_fail:
            raise ValueError("divergence_warn is above divergence_fail")
        found = [divergence.criterion for divergence in self.divergences]
        if len(set(found)) != len(found):
            raise ValueError(f"divergences {found} repeat a criterion")
        return self


# --- configs/ingest.yaml -----------------------------------------------------------------------------


class IngestConfig(Frozen):
    """How large an input may be, and how many of its lines may be rejected."""

    max_file_bytes: PositiveInt
    max_expanded_bytes: PositiveInt
    max_line_characters: PositiveInt
    max_rows: PositiveInt
    warn_reject_ratio: Ratio
    max_reject_ratio: Ratio
    sort_memory_bytes: PositiveInt
    # What the out-of-core sort of large tables may hold in memory.

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.warn_reject_ratio > self.max_reject_ratio:
            raise ValueError("warn_reject_ratio is above max_reject_ratio")
        return self


# --- configs/profile.yaml ----------------------------------------------------------------------------


class ProfileConfig(Frozen):
    """Constants of the workload profile."""

    top_share: Ratio
    hill_tail_share: Ratio
    hill_min_tail: PositiveInt
    flurry_window_s: Seconds
    flurry_min_jobs: PositiveInt
    flurry_min_share: Ratio


CONFIG_MODELS: dict[str, type[Frozen]] = {
    "policies": PoliciesConfig,
    "objective": ObjectiveConfig,
    "fidelity": FidelityConfig,
    "traces": TracesConfig,
    "ingest": IngestConfig,
    "profile": ProfileConfig,
    "synthetic": SyntheticConfig,
    "placement": PlacementConfig,
    "forecast": ForecastConfig,
    "robustness": RobustnessConfig,
    "stress": StressConfig,
    "sensitivity": SensitivityConfig,
}
# configs/<name>.yaml -> the one model that reads it.
