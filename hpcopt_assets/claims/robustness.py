"""Does a difference between two policies survive: a shaken trace, and other weeks?

In:  shaken_measures, schedules as replayed, configs/robustness.yaml.
Out: `robustness`, one row a policy, window and measure.
Not here: what follows for a claim (judge.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from hpcopt_assets.claims.intervals import holm_levels, interval, p_value
from hpcopt_assets.claims.selection import judge_selection
from hpcopt_assets.claims.weeks import Weeks
from hpcopt_assets.contracts.config import ObjectiveConfig
from hpcopt_assets.contracts.robustness_config import IntervalsConfig
from hpcopt_assets.contracts.robustness_tables import BETTER, ROBUSTNESS, WINDOWS
from hpcopt_assets.contracts.vocabulary import Verdict, Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import FloatArray, Schedule
from hpcopt_assets.measures.summary import Measures, measure
from hpcopt_assets.measures.window import is_released_in, span_of

NOTHING = np.empty(0)
Row = dict[str, str | float | bool | None]


@dataclass(frozen=True)
class _Compared:
    """One policy against the baseline over one window: as replayed, and again and again.

    `changes` and `drawn` hold, for a measure, the policy's less the baseline's: one number a replica, and one
    a drawing of weeks (none with too few weeks).
    """

    policy: Measures
    baseline: Measures
    changes: Mapping[str, FloatArray]
    drawn: Mapping[str, FloatArray]
    blocks_count: int

    def p_value(self, name: str, config: IntervalsConfig) -> float:
        """The larger of both p-values; 1 where either cannot be had."""
        changes = self.changes[name] if self.changes[name].size >= config.min_replicas else NOTHING
        return max(p_value(values, BETTER[name]) for values in (changes, self.drawn.get(name, NOTHING)))

    def row(self, name: str, config: IntervalsConfig, confidence: float) -> Row:
        """What the table says of a measure."""
        new, old, changes = self.policy[name], self.baseline[name], self.changes[name]
        found = None if new is None or old is None else new - old
        has_replicas, drawn = changes.size >= config.min_replicas, self.drawn.get(name, NOTHING)
        ends = interval(changes, confidence) if has_replicas else (None, None)
        block_ends = interval(drawn, confidence) if drawn.size else (None, None)
        quartiles = np.percentile(changes, [25, 50, 75]).tolist() if changes.size else [None] * 3
        is_known = found is not None and ends[0] is not None and ends[1] is not None
        return {
            "baseline_value": old,
            "policy_value": new,
            "difference": found,
            "replicas_count": changes.size,
            "mean_difference": float(changes.mean()) if changes.size else None,
            **dict(zip(("p25_difference", "p50_difference", "p75_difference"), quartiles, strict=True)),
            "improved_ratio": float((BETTER[name] * changes > 0).mean()) if changes.size else None,
            "is_artefact": not ends[0] <= found <= ends[1] if is_known else None,  # type: ignore[operator]
            "blocks_count": self.blocks_count,
            **dict(zip(("lower", "upper", "block_lower", "block_upper"), (*ends, *block_ends), strict=True)),
        }


def robustness(
    *,
    trace_id: str,
    shaken: pl.DataFrame,
    schedules: Mapping[str, pl.DataFrame],
    capacity: Capacity,
    objective: ObjectiveConfig,
    config: IntervalsConfig,
) -> pl.DataFrame:
    """Each policy's measures less the baseline's: as replayed, over replicas, over weeks drawn anew.

    `shaken` is `shaken_measures`; `schedules` are the policies' as replayed, of which the jobs that ran under
    both count. Candidates chosen on the window of selection are compared at once: the intervals of the
    primary measure in the window of confirmation are adjusted for how many there are.
    """
    claims = objective.claims
    compared: dict[tuple[str, Window], _Compared] = {}
    chosen = []
    for policy, frame in schedules.items():
        if policy == claims.baseline:
            continue
        pair = Schedule.paired(frame, schedules[claims.baseline])
        for window in WINDOWS:
            changes = _changes(shaken, policy, claims.baseline, window)
            compared[policy, window] = _compare(pair, changes, window, capacity, objective, config)
        first = compared[policy, Window.SELECTION]
        if judge_selection(first.policy, first.baseline, claims).verdict is Verdict.PASS:
            chosen.append(policy)
    p_values = {
        policy: compared[policy, Window.CONFIRMATION].p_value(claims.primary, config) for policy in chosen
    }
    levels = holm_levels(p_values, 1 - config.confidence)
    rows = []
    for (policy, window), found in compared.items():
        for name in BETTER:
            is_adjusted = (window, name) == (Window.CONFIRMATION, claims.primary) and policy in levels
            confidence = 1 - levels[policy] if is_adjusted else config.confidence
            row: Row = {
                "trace_id": trace_id,
                "policy": policy,
                "baseline": claims.baseline,
                "time_window": window.value,
                "measure": name,
                "confidence": confidence,
                "candidates_count": len(chosen) if is_adjusted else None,
            }
            rows.append(row | found.row(name, config, confidence))
    return ROBUSTNESS.shape(pl.DataFrame(rows, schema=ROBUSTNESS.polars_schema()))


def _compare(
    pair: tuple[Schedule, Schedule],
    changes: Mapping[str, FloatArray],
    window: Window,
    capacity: Capacity,
    objective: ObjectiveConfig,
    config: IntervalsConfig,
) -> _Compared:
    measured = [
        measure(schedule, capacity=capacity, config=objective.measures, window=window) for schedule in pair
    ]
    span = span_of(pair[0], window, objective.measures)
    if span is None:
        return _Compared(measured[0], measured[1], changes, {}, 0)
    released = is_released_in(pair[0], window, span)
    weeks = Weeks.of(pair[0].release_s[released], span, config)
    drawn = [weeks.measures(schedule, released, capacity, objective.measures) for schedule in pair]
    differences = {name: drawn[0][name] - drawn[1][name] for name in drawn[0]}
    known = {name: values for name, values in differences.items() if not np.isnan(values).any()}
    return _Compared(measured[0], measured[1], changes, known, weeks.count)


def _changes(shaken: pl.DataFrame, policy: str, baseline: str, window: Window) -> dict[str, FloatArray]:
    """For each measure, the policy's less the baseline's in every replica in which both have a value."""
    own, other = (
        shaken.filter(policy=name, time_window=window.value).select("replica", *BETTER)
        for name in (policy, baseline)
    )
    both = own.join(other, on="replica", how="inner", suffix="_baseline", maintain_order="left")
    return {
        name: both.select(pl.col(name) - pl.col(f"{name}_baseline")).to_series().drop_nulls().to_numpy()
        for name in BETTER
    }
