"""Do the demands on a policy flip when one decision is taken otherwise? The table `sensitivity`.

In:  configs/sensitivity.yaml, estimate_accounting, what replays on a machine.   Out: sensitivity.
Not here: replays (simulate/), which are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from hpcopt_assets.claims.credit import NOT_HONEST, honest_measures
from hpcopt_assets.claims.criteria import judge_candidate
from hpcopt_assets.claims.demands import Demands, Pair, Row
from hpcopt_assets.contracts.config import ClaimsConfig, MeasuresConfig, ObjectiveConfig, Policy
from hpcopt_assets.contracts.forecast_words import EstimateRun
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.stress_config import SettingsConfig
from hpcopt_assets.contracts.stress_tables import SENSITIVITY
from hpcopt_assets.contracts.stress_words import Varied
from hpcopt_assets.contracts.vocabulary import Overrun, Verdict
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.summary import Measures

Replays = Callable[[Policy], pl.DataFrame]
# A policy -> its replay_schedule.
Worlds = Callable[[Capacity, int | None], Replays]
# A machine, and the processors of the widest job that takes part (None: whoever fits) -> replays on it.


class _Told(NamedTuple):
    """The demands in one setting. `default` is their verdict as configured."""

    varied: Varied
    setting: str
    is_default: bool
    demands: Demands
    default: Verdict
    excluded_count: int = 0


@dataclass(frozen=True)
class _World:
    """A machine with the baseline's schedule on it."""

    replays: Replays
    capacity: Capacity
    baseline: Policy
    schedule: pl.DataFrame

    @classmethod
    def of(cls, replays: Replays, capacity: Capacity, baseline: Policy) -> _World:
        """With the baseline replayed."""
        return cls(replays, capacity, baseline, replays(baseline))

    def pair(self, policy: Policy, objective: ObjectiveConfig) -> Pair:
        """A policy beside the baseline."""
        return Pair.of((self.replays(policy), self.schedule), (policy, self.baseline), objective)

    def demands(self, policy: Policy, objective: ObjectiveConfig) -> Demands:
        """The demands on a policy there."""
        return self.pair(policy, objective).demands(self.capacity, objective)

    @property
    def jobs_count(self) -> int:
        """Jobs that take part."""
        return self.schedule["left_out"].null_count()

    def wider_than(self, procs: int) -> int:
        """Jobs that take part and need more processors."""
        return self.schedule.filter(pl.col("left_out").is_null(), pl.col("procs") > procs).height


@dataclass(frozen=True)
class _Worlds:
    """Every world that all policies are replayed in: as it is, the machines compared, other overrun rules.

    `excluded_count`: jobs that fit the machine and not the smallest of those compared. A world that differs
    in nothing from the one as it is, is that one.
    """

    as_it_is: _World
    machines: dict[float, _World]
    overruns: dict[Overrun, _World]
    excluded_count: int


def judge_sensitivity(
    *,
    trace_id: str,
    worlds: Worlds,
    policies: Sequence[Policy],
    capacity: Capacity,
    accounting: pl.DataFrame,
    objective: ObjectiveConfig,
    settings: SettingsConfig,
    executor: Executor,
) -> pl.DataFrame:
    """One row for each candidate and setting that concerns it; the baseline has none.

    What the world is (tau, the machine, who takes part, starvation, overruns) is varied for the baseline too;
    what the candidate is (its guard, its estimates) and what is asked of it (limits) for it alone.
    `accounting` is `estimate_accounting`.
    """
    baseline = next(policy for policy in policies if policy.id == objective.claims.baseline)
    made = _worlds(worlds, capacity, baseline, settings)
    candidates = [policy for policy in policies if policy is not baseline]

    def told(policy: Policy) -> list[Row]:
        return [
            {"trace_id": trace_id, "policy": policy.id, "baseline": baseline.id, **_row(found)}
            for found in _told(policy, made, accounting, objective, settings)
        ]

    rows = [row for found in executor.map(told, candidates) for row in found]
    return SENSITIVITY.shape(pl.DataFrame(rows, schema=SENSITIVITY.polars_schema()))


def _worlds(worlds: Worlds, capacity: Capacity, baseline: Policy, settings: SettingsConfig) -> _Worlds:
    as_it_is = _World.of(worlds(capacity, None), capacity, baseline)
    machines = {factor: _scaled(capacity, factor) for factor in settings.capacity_factor}
    widest = min(machine.largest for machine in machines.values())
    excluded_count = as_it_is.wider_than(widest)
    return _Worlds(
        as_it_is,
        {
            factor: as_it_is
            if machine == capacity and excluded_count == 0
            else _World.of(worlds(machine, widest), machine, baseline)
            for factor, machine in machines.items()
        },
        {
            overrun: as_it_is
            if overrun is baseline.overrun
            else _World.of(as_it_is.replays, capacity, _with_overrun(baseline, overrun))
            for overrun in settings.overrun
        },
        excluded_count,
    )


def _told(
    policy: Policy,
    worlds: _Worlds,
    accounting: pl.DataFrame,
    objective: ObjectiveConfig,
    settings: SettingsConfig,
) -> Iterator[_Told]:
    """Every setting that concerns a policy, in the order of `Varied`."""
    here = worlds.as_it_is
    pair = here.pair(policy, objective)
    as_configured = pair.demands(here.capacity, objective)
    default = as_configured.verdict
    for guard_k in settings.guard_k if policy.guard_k is not None else ():
        is_default = guard_k == policy.guard_k
        guarded = policy.model_copy(update={"guard_k": guard_k})
        demands = as_configured if is_default else here.demands(guarded, objective)
        yield _Told(Varied.GUARD_K, f"{guard_k:g}", is_default, demands, default)
    for tau_s in settings.tau_s:
        other = _measuring(objective, tau_s=tau_s)
        is_default = tau_s == objective.measures.tau_s
        yield _Told(Varied.TAU_S, str(tau_s), is_default, pair.demands(here.capacity, other), default)
    found = {
        factor: as_configured if world is here else world.demands(policy, objective)
        for factor, world in worlds.machines.items()
    }
    for factor, demands in found.items():
        if factor != 1.0 and worlds.machines[factor].capacity == here.capacity:
            same = f"{factor:g} times {plural(here.capacity.procs, 'processor')} is as many again"
            demands = replace(demands, blind=same)
        told = _Told(Varied.CAPACITY, f"{factor:g}", factor == 1.0, demands, found[1.0].verdict)
        yield told._replace(excluded_count=worlds.excluded_count)
    if worlds.excluded_count:
        fewer = f"without the {worlds.excluded_count:,} widest"
        yield _Told(Varied.JOBS, "all", is_default=True, demands=as_configured, default=default)
        told = _Told(Varied.JOBS, fewer, is_default=False, demands=found[1.0], default=default)
        yield told._replace(excluded_count=worlds.excluded_count)
    for starved_after_s in settings.starved_after_s:
        other = _measuring(objective, starved_after_s=starved_after_s)
        is_default = starved_after_s == objective.measures.starved_after_s
        demands = pair.demands(here.capacity, other)
        yield _Told(Varied.STARVED_AFTER_S, str(starved_after_s), is_default, demands, default)
    for varied, values in (
        (Varied.MIN_GAIN_RATIO, settings.min_gain_ratio),
        (Varied.MAX_JAIN_SERVICE_DROP, settings.max_jain_service_drop),
    ):
        for limit in values:
            other = _demanding(objective, **{varied.value: limit})
            is_default = limit == getattr(objective.claims, varied.value)
            demands = pair.demands(here.capacity, other)
            yield _Told(varied, f"{limit:g}", is_default, demands, default)
    for overrun, world in worlds.overruns.items():
        is_default = overrun is policy.overrun and overrun is here.baseline.overrun
        demands = as_configured if is_default else world.demands(_with_overrun(policy, overrun), objective)
        yield _Told(Varied.OVERRUN, overrun.value, is_default, demands, default)
    if policy.is_forecasting:
        for run in EstimateRun:
            demands = as_configured
            if run is EstimateRun.HISTORY_HONEST:
                honest = honest_measures(accounting, policy, as_configured.baseline, here.jobs_count)
                demands = _honest(honest, as_configured, objective)
            is_default = run is EstimateRun.AS_REPLAYED
            yield _Told(Varied.ESTIMATES, run.value, is_default, demands, default)


def _honest(honest: Measures | None, as_configured: Demands, objective: ObjectiveConfig) -> Demands:
    """The demands where no estimate rests on a job that had not ended; without that run none is assessed."""
    if honest is None:
        return replace(as_configured, blind=NOT_HONEST)
    judged = judge_candidate(honest, as_configured.baseline, objective.claims)
    return replace(as_configured, candidate=honest, judged=judged)


def _row(found: _Told) -> Row:
    demands, columns = found.demands, found.demands.columns()
    both = {columns["verdict"], found.default.value}
    is_known = Verdict.NOT_ASSESSED.value not in both
    return {
        "varied": found.varied.value,
        "setting": found.setting,
        "is_default": found.is_default,
        "jobs_count": demands.candidate["jobs_count"],
        "excluded_count": found.excluded_count,
        "baseline_value": demands.baseline["p95_bsld"],
        "policy_value": demands.candidate["p95_bsld"],
        "gain_ratio": demands.gain_ratio,
        **columns,
        "default_verdict": found.default.value,
        "has_flipped": len(both) > 1 if is_known else None,
    }


def _scaled(capacity: Capacity, factor: float) -> Capacity:
    """A machine of so many times the processors, at least 1, at all times."""
    steps = tuple((at_s, round(procs * factor)) for at_s, procs in capacity.steps)
    return Capacity(max(1, round(capacity.procs * factor)), steps)


def _with_overrun(policy: Policy, overrun: Overrun) -> Policy:
    return policy.model_copy(update={"overrun": overrun})


def _demanding(objective: ObjectiveConfig, **changed: float) -> ObjectiveConfig:
    claims: ClaimsConfig = objective.claims.model_copy(update=changed)
    return objective.model_copy(update={"claims": claims})


def _measuring(objective: ObjectiveConfig, **changed: int) -> ObjectiveConfig:
    measures: MeasuresConfig = objective.measures.model_copy(update=changed)
    return objective.model_copy(update={"measures": measures})
