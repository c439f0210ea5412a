"""Config models: one frozen model reads each file under configs/; unknown keys are errors.

In:  mappings parsed from YAML (orchestration/configs.py reads the files).   Out: typed, frozen values.
Not here: values. No field has a default: a decision that is not written down is an error.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from hpcopt_assets.contracts.columns import PROCS_MAX, TIME_MAX_S
from hpcopt_assets.contracts.vocabulary import (
    OBSERVED,
    Backfill,
    BackfillOrder,
    Dialect,
    Estimate,
    FidelityCriterion,
    Order,
    Overrun,
    TraceFormat,
    Unit,
)

SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
Ratio = Annotated[float, Field(ge=0.0, le=1.0)]
Seconds = Annotated[int, Field(ge=1, le=TIME_MAX_S)]
Procs = Annotated[int, Field(ge=1, le=PROCS_MAX)]
Words = Annotated[str, Field(min_length=1)]
PolicyId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class Frozen(BaseModel):
    """Base of every config model."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
        found = (self.order, self.backfill_order, self.estimate, self.hold)
        if self.backfill is Backfill.CONSERVATIVE and found != RESERVED:
            raise ValueError(
                f"policy {self.id}: backfill conservative with order, backfill_order, estimate, hold "
                f"{', '.join(found)}; only {', '.join(RESERVED)} is defined"
            )
        return self


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

    def get(self, policy_id: str) -> Policy | None:
        """The policy of that id, or None."""
        return next((policy for policy in self.policies if policy.id == policy_id), None)


# --- configs/objective.yaml --------------------------------------------------------------------------


class MeasuresConfig(Frozen):
    """Constants of the measures."""

    tau_s: Seconds
    starved_after_s: Seconds
    steady_skip_ratio: Ratio
    min_jobs_per_user: PositiveInt
    queue_sample_s: Seconds


class SaturationRule(Frozen):
    """When a backlog counts as still growing over the last third of the submissions."""

    min_growth_ratio: PositiveFloat
    # By what share of the machine arriving work outruns what the policy serves: backlog gained per hour.
    parts: Annotated[int, Field(ge=3)]


class ClaimsConfig(Frozen):
    """What a candidate must show against the baseline."""

    baseline: str
    primary: Literal["p95_bsld"]
    min_gain_ratio: PositiveFloat
    max_starved_ratio: Ratio
    max_jain_service_drop: Ratio
    max_utilisation_drop: Ratio
    max_fallback_ratio: Ratio
    min_jobs: PositiveInt
    saturation: SaturationRule


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

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.divergence_warn > self.divergence_fail:
            raise ValueError("divergence_warn is above divergence_fail")
        found = [divergence.criterion for divergence in self.divergences]
        if len(set(found)) != len(found):
            raise ValueError(f"divergences {found} repeat a criterion")
        return self


# --- configs/traces.yaml -----------------------------------------------------------------------------

TraceId = Annotated[str, Field(pattern=f"^{SAFE_ID.pattern}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Select(Frozen):
    """Which jobs of a log belong to a trace: of these partitions, of these queues; None keeps all."""

    partitions: Annotated[tuple[Words, ...], Field(min_length=1)] | None = None
    queues: Annotated[tuple[Words, ...], Field(min_length=1)] | None = None


class Exclusion(Frozen):
    """Jobs to leave out: those that a user submitted from `since` on and before `until` (a flurry, say)."""

    user: Words
    since: AwareDatetime
    until: AwareDatetime

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.until <= self.since:
            raise ValueError(f"user {self.user}: until {self.until} is not after since {self.since}")
        return self


class Split(Frozen):
    """A log of several machines: a trace `<id>.<name>` a partition or queue, with its capacity.

    An entry of that id may say more of the part, or otherwise.
    """

    by: Literal["partition", "queue"]
    capacity: Annotated[dict[TraceId, Procs], Field(min_length=1)]


class CapacityStep(Frozen):
    """From this instant on the machine has this capacity (a drain, an extension)."""

    since: AwareDatetime
    capacity: Annotated[int, Field(ge=0, le=PROCS_MAX)]


class TraceEntry(Frozen):
    """What is known of a trace beside its file. Every key may be absent: the file then speaks alone."""

    url: HttpUrl | None = None
    sha256: Sha256 | None = None
    format: TraceFormat | None = None
    dialect: Dialect | None = None
    fields: tuple[Words, ...] | None = None
    timezone: Words | None = None
    capacity_procs: Procs | None = None
    capacity_steps: tuple[CapacityStep, ...] = ()
    unit: Unit = Unit.PROCS
    max_runtime_s: dict[Words, Seconds] = {}
    # Partition (queue, where the log has no partitions) -> its limit: the request of a job that stated none.
    part_of: TraceId | None = None
    select: Select | None = None
    split: Split | None = None
    exclude: tuple[Exclusion, ...] = ()
    is_synthetic: bool = False
    licence: Words | None = None
    note: Words | None = None

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.dialect is not None and self.format not in (None, TraceFormat.PBS):
            raise ValueError(f"dialect {self.dialect} is one of PBS logs, the format is {self.format}")
        if self.timezone is not None:
            try:
                ZoneInfo(self.timezone)
            except (ZoneInfoNotFoundError, ValueError) as error:
                raise ValueError(f"timezone {self.timezone!r}: no IANA name (Europe/Stockholm is)") from error
        steps = [step.since for step in self.capacity_steps]
        if steps != sorted(set(steps)):
            raise ValueError("capacity_steps must stand in ascending order of `since`")
        return self


OF_THE_FILE = (
    *("sha256", "format", "dialect", "fields", "timezone", "max_runtime_s", "exclude"),
    *("is_synthetic", "licence"),
)
# What holds for a file holds for every trace cut out of it; the size of a machine does not.
OF_THE_OWNER = {"part_of", "url", "sha256", "split"}
# No part has a say in these.


class TracesConfig(Frozen):
    """The registry: trace id -> entry. A trace without an entry is read by what its file says."""

    traces: dict[TraceId, TraceEntry]

    @model_validator(mode="after")
    def _parts_are_sound(self) -> Self:
        made = [part_id for part_id, _ in self._splits()]
        twice = sorted({part_id for part_id in made if made.count(part_id) > 1})
        if twice:
            raise ValueError(f"the splits of two traces make {', '.join(twice)}")
        for trace_id in (*self.traces, *made):
            self._check_part(trace_id, self.traces.get(trace_id, TraceEntry()))
        return self

    def _check_part(self, trace_id: str, stated: TraceEntry) -> None:
        owner, splitter = self.entry(trace_id).part_of, self._cut(trace_id).get("part_of")
        if owner is None:
            return
        if any(getattr(stated, key) for key in OF_THE_OWNER - {"part_of"}):
            raise ValueError(f"{trace_id} is a part of {owner}: url, sha256 and split belong to that trace")
        if splitter not in (None, owner):
            raise ValueError(f"{trace_id}: the split of {splitter} makes it, its entry is a part of {owner}")
        if self.entry(owner).part_of is not None:
            raise ValueError(f"{trace_id}: {owner} is itself a part of another trace")
        try:
            TraceEntry.model_validate(dict(self.entry(trace_id)))
        except ValidationError as error:
            said = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise ValueError(f"{trace_id}, a part of {owner}: {said}") from error

    def entry(self, trace_id: str) -> TraceEntry:
        """What is known of a trace; an empty entry where the registry has none.

        A part is read as the trace it is cut out of, whose hash it has: one file is not to be read at two
        UTC offsets. What a `split` says of a part comes next, and the part's own entry beats both.
        """
        stated = self.traces.get(trace_id, TraceEntry())
        cut = self._cut(trace_id)
        owner_id = stated.part_of or cut.get("part_of")
        if owner_id is None:
            return stated
        owner = self.traces.get(owner_id, TraceEntry())
        of_the_file = {key: getattr(owner, key) for key in OF_THE_FILE}
        own = {key: getattr(stated, key) for key in stated.model_fields_set - OF_THE_OWNER}
        return TraceEntry().model_copy(update=of_the_file | cut | own | {"part_of": owner_id})

    def parts_of(self, trace_id: str) -> tuple[str, ...]:
        """Ids of the traces that are cut out of this one's file."""
        stated = [name for name, entry in self.traces.items() if entry.part_of == trace_id]
        made = [name for name, cut in self._splits() if cut["part_of"] == trace_id]
        return tuple(dict.fromkeys([*stated, *made]))

    def _cut(self, trace_id: str) -> dict[str, Any]:
        return dict(self._splits()).get(trace_id, {})

    def _splits(self) -> list[tuple[str, dict[str, Any]]]:
        """The parts that splits make: id and what the split says of it."""
        return [
            (
                f"{trace_id}.{name}",
                {
                    "part_of": trace_id,
                    "select": Select(**{f"{entry.split.by}s": (name,)}),
                    "capacity_procs": capacity,
                    "unit": entry.unit,
                    "note": entry.note,
                },
            )
            for trace_id, entry in self.traces.items()
            if entry.split is not None
            for name, capacity in entry.split.capacity.items()
        ]


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


# --- configs/synthetic.yaml --------------------------------------------------------------------------


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


CONFIG_MODELS: dict[str, type[Frozen]] = {
    "policies": PoliciesConfig,
    "objective": ObjectiveConfig,
    "fidelity": FidelityConfig,
    "traces": TracesConfig,
    "ingest": IngestConfig,
    "profile": ProfileConfig,
    "synthetic": SyntheticConfig,
}
# configs/<name>.yaml -> the one model that reads it.
