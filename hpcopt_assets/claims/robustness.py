"""Does a difference between two policies survive: a shaken trace, and other weeks?

In:  replays of the shaken trace (a Protocol), schedules as replayed, configs/robustness.yaml.
Out: `robustness`, one row a policy and measure.
Not here: what follows for a claim (judge.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import polars as pl

from hpcopt_assets.claims.shaking import draw_shake
from hpcopt_assets.claims.weeks import Weeks
from hpcopt_assets.contracts.config import MeasuresConfig, ObjectiveConfig, Policy
from hpcopt_assets.contracts.order import JOB_KEY
from hpcopt_assets.contracts.protocols import ShakenReplays
from hpcopt_assets.contracts.robustness_config import RobustnessConfig
from hpcopt_assets.contracts.robustness_tables import BETTER, ROBUSTNESS
from hpcopt_assets.contracts.vocabulary import Backfill, Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import FloatArray, Schedule
from hpcopt_assets.measures.summary import measure
from hpcopt_assets.measures.window import span_of

Told = Mapping[str, int | float | None]


@dataclass(frozen=True)
class Replicas:
    """Measures of every replica under one policy; replica i is the same shaken trace under every policy."""

    told: tuple[Told, ...]

    def values(self, measure: str) -> FloatArray:
        """One number a replica, NaN where there is none."""
        return np.array([np.nan if row[measure] is None else row[measure] for row in self.told], dtype=float)


def replicate(
    replays: ShakenReplays,
    policies: Sequence[Policy],
    config: RobustnessConfig,
    *,
    is_synthetic: bool,
    executor: Executor,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Replicas]:
    """Replay every replica under every policy, on the executor; results stand in the order of replicas."""
    count = config.replicas.synthetic if is_synthetic else config.replicas.recorded
    few = config.replicas.conservative

    def one(replica: int) -> list[Told | None]:
        shake = draw_shake(replays.release_s, replica, config.seed, config.shaking)
        return [
            None
            if policy.backfill is Backfill.CONSERVATIVE and replica >= few
            else replays(policy.id, shake.factor, shake.shift_s)
            for policy in policies
        ]

    rows = []
    for done, row in enumerate(executor.map(one, range(count)), start=1):
        rows.append(row)
        if done % max(count // 10, 1) == 0:
            say(f"{done} of {count} shaken replicas under {len(policies)} policies")
    return {
        policy.id: Replicas(tuple(told for row in rows if (told := row[place]) is not None))
        for place, policy in enumerate(policies)
    }


def robustness_of(
    *,
    trace_id: str,
    replays: ShakenReplays,
    policies: Sequence[Policy],
    schedules: Mapping[str, pl.DataFrame],
    capacity: Capacity,
    objective: ObjectiveConfig,
    config: RobustnessConfig,
    is_synthetic: bool,
    executor: Executor,
    say: Callable[[str], None] = lambda _: None,
) -> pl.DataFrame:
    """Shake, replay, draw weeks anew: the table `robustness` of a trace; `schedules` as replayed."""
    measures, baseline = objective.measures, objective.claims.baseline
    replicas = replicate(replays, policies, config, is_synthetic=is_synthetic, executor=executor, say=say)
    jobs = _in_all(schedules)
    measured = {
        policy: measure(schedule, capacity=capacity, config=measures, window=Window.STEADY)
        for policy, schedule in jobs.items()
    }
    span = span_of(jobs[baseline], Window.STEADY, measures.steady_skip_ratio)
    steady = {
        policy: schedule if span is None else schedule.where(schedule.release_s >= span.start_s)
        for policy, schedule in jobs.items()
    }
    return robustness(
        trace_id=trace_id,
        baseline=baseline,
        replicas=replicas,
        measured=measured,
        schedules=steady,
        measures=measures,
        config=config,
    )


def _in_all(schedules: Mapping[str, pl.DataFrame]) -> dict[str, Schedule]:
    """The jobs that ran under every policy."""
    frames = {policy: frame.filter(pl.col("left_out").is_null()) for policy, frame in schedules.items()}
    keys = next(iter(frames.values())).select(JOB_KEY)
    for frame in frames.values():
        keys = keys.join(frame.select(JOB_KEY), on=JOB_KEY, how="semi", maintain_order="left")
    return {
        policy: Schedule.of(frame.join(keys, on=JOB_KEY, how="semi", maintain_order="left"))
        for policy, frame in frames.items()
    }


def robustness(
    *,
    trace_id: str,
    baseline: str,
    replicas: Mapping[str, Replicas],
    measured: Mapping[str, Told],
    schedules: Mapping[str, Schedule],
    measures: MeasuresConfig,
    config: RobustnessConfig,
) -> pl.DataFrame:
    """Each policy's measures less the baseline's: as replayed, over replicas, over weeks drawn anew.

    `measured` holds the steady window as replayed; `schedules` the jobs of that window, the same under every
    policy.
    """
    weeks = Weeks.of(schedules[baseline], config.blocks, config.seed)
    drawn = {policy: weeks.measures(schedules[policy], measures) for policy in replicas}
    rows = []
    for policy in replicas:
        if policy == baseline:
            continue
        for name, better in BETTER.items():
            count = len(replicas[policy].told)
            shaken = replicas[policy].values(name) - replicas[baseline].values(name)[:count]
            row = {
                "trace_id": trace_id,
                "policy": policy,
                "baseline": baseline,
                "measure": name,
                "baseline_value": measured[baseline][name],
                "policy_value": measured[policy][name],
                "replicas_count": count,
                "blocks_count": weeks.count,
            }
            found = _difference(measured[policy][name], measured[baseline][name])
            row |= _over_replicas(shaken, found, better, config.confidence)
            if name in drawn[policy]:
                ends = _interval(drawn[policy][name] - drawn[baseline][name], config.confidence)
                row |= dict(zip(("block_lower", "block_upper"), ends, strict=True))
            rows.append(row)
    return ROBUSTNESS.shape(pl.DataFrame(rows, schema=ROBUSTNESS.polars_schema()))


def _over_replicas(
    shaken: FloatArray, found: float | None, better: int, confidence: float
) -> dict[str, float | bool | None]:
    """The difference as replayed, beside the differences of the replicas."""
    known = shaken[~np.isnan(shaken)]
    low, high = _interval(known, confidence)
    is_known = found is not None and low is not None and high is not None
    return {
        "difference": found,
        "mean_difference": float(known.mean()) if known.size else None,
        "lower": low,
        "upper": high,
        "improved_ratio": float((better * known > 0).mean()) if known.size else None,
        "is_artefact": not low <= found <= high if is_known else None,  # type: ignore[operator]
    }


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _interval(values: FloatArray, confidence: float) -> tuple[float | None, float | None]:
    """Percentile interval; none of fewer than two values."""
    if values.size < 2:
        return None, None
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(values, [tail, 100 - tail])
    return float(low), float(high)
