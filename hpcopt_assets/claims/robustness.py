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

from hpcopt_assets.claims.criteria import demanded, judge_candidate
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
from hpcopt_assets.measures.unknown import less
from hpcopt_assets.measures.window import is_released_in, span_of

NOTHING = np.empty(0)
Row = dict[str, str | float | bool | None]


@dataclass(frozen=True)
class _Compared:
    """One policy against the baseline over one window: as replayed, and again and again.

    `changes` and `drawn` hold, for a measure, the policy's less the baseline's: one number a replica, and one
    a drawing of weeks (none with too few weeks). `usual` is the baseline's mean over replicas, `met` the
    share of them in which the demand on a measure is met.
    """

    policy: Measures
    baseline: Measures
    usual: Mapping[str, float | None]
    met: Mapping[str, float]
    changes: Mapping[str, FloatArray]
    drawn: Mapping[str, FloatArray]
    blocks_count: int

    def p_value(self, name: str, config: IntervalsConfig) -> float:
        """The larger of both p-values; 1 where either cannot be had."""
        changes = self.changes[name] if self.changes[name].size >= config.min_replicas else NOTHING
        drawn = self.drawn.get(name, NOTHING)
        return max(
            p_value(changes, BETTER[name]),
            p_value(drawn, BETTER[name], self.blocks_count if drawn.size else None),
        )

    def row(self, name: str, config: IntervalsConfig, confidence: float) -> Row:
        """What the table says of a measure."""
        new, old, drawn = self.policy[name], self.baseline[name], self.drawn.get(name, NOTHING)
        low, high = interval(drawn, confidence, self.blocks_count) if drawn.size else (None, None)
        return {
            "jobs_count": self.policy["jobs_count"],
            "baseline_value": old,
            "policy_value": new,
            "difference": less(new, old),
            "blocks_count": self.blocks_count,
            "block_lower": low,
            "block_upper": high,
            **self._shaken(name, config, confidence),
        }

    def _shaken(self, name: str, config: IntervalsConfig, confidence: float) -> Row:
        """The distribution of the difference over replicas, and whether the replay lies outside it."""
        new, old, changes = self.policy[name], self.baseline[name], self.changes[name]
        found: Row = {"replicas_count": changes.size, "shaken_baseline_value": self.usual[name]}
        if changes.size:
            p25, p50, p75 = np.percentile(changes, [25, 50, 75]).tolist()
            found |= {"mean_difference": float(changes.mean())}
            found |= {"p25_difference": p25, "p50_difference": p50, "p75_difference": p75}
            found |= {"improved_ratio": float((BETTER[name] * changes > 0).mean())}
        if changes.size >= config.min_replicas:
            low, high = interval(changes, confidence)
            found |= {"lower": low, "upper": high, "met_ratio": self.met.get(name)}
            if new is not None and old is not None:
                found |= {"is_artefact": not low <= new - old <= high}
        return found


class _Comparer:
    """Compares policies with the baseline, whose weeks are drawn and measured once for the same jobs."""

    def __init__(
        self,
        shaken: pl.DataFrame,
        baseline: str,
        capacity: Capacity,
        objective: ObjectiveConfig,
        config: IntervalsConfig,
    ) -> None:
        self._shaken, self._baseline = shaken, baseline
        self._capacity, self._measures, self._config = capacity, objective.measures, config
        self._claims = objective.claims
        self._known: dict[Window, tuple[Schedule, Weeks, dict[str, FloatArray]]] = {}

    def compare(self, policy: str, pair: tuple[Schedule, Schedule], window: Window) -> _Compared:
        """`pair`: the policy's schedule and the baseline's, of the same jobs."""
        new, old = (
            measure(each, capacity=self._capacity, config=self._measures, window=window) for each in pair
        )
        both = self._replicas(policy, window)
        usual, changes = _changes(both)
        met = self._met(both, new, old)
        span = span_of(pair[1], window, self._measures)
        if span is None:
            return _Compared(new, old, usual, met, changes, {}, 0)
        released = is_released_in(pair[1], window, span)
        known = self._known.get(window)
        if known is None or not _are_same(known[0], pair[1]):
            weeks = Weeks.of(pair[1].release_s[released], span, self._config)
            drawn = weeks.measures(pair[1], released, self._capacity, self._measures)
            known = self._known[window] = pair[1], weeks, drawn
        _, weeks, of_baseline = known
        of_policy = weeks.measures(pair[0], released, self._capacity, self._measures)
        differences = {name: of_policy[name] - of_baseline[name] for name in of_policy}
        drawn = {name: values for name, values in differences.items() if not np.isnan(values).any()}
        return _Compared(new, old, usual, met, changes, drawn, weeks.count)

    def _replicas(self, policy: str, window: Window) -> pl.DataFrame:
        """Measures of the policy, and of the baseline under `<measure>_baseline`: one row a replica.

        A replica counts where both started the same number of jobs: on a machine that shrinks for good some
        never start, and who leaves the worst unstarted would be measured without them.
        """
        own, other = (
            self._shaken.filter(policy=name, time_window=window.value).select(
                "replica", "left_out_count", *BETTER
            )
            for name in (policy, self._baseline)
        )
        return own.join(
            other, on=["replica", "left_out_count"], how="inner", suffix="_baseline", maintain_order="left"
        )

    def _met(self, both: pl.DataFrame, new: Measures, old: Measures) -> dict[str, float]:
        """For each demand, by its measure, the share of replicas in which it is met; those that can be told.

        `new` and `old` are of the replay: they say how many jobs are measured.
        """
        verdicts: dict[str, list[Verdict]] = {name: [] for name in demanded(self._claims)}
        for row in both.iter_rows(named=True):
            mine = new | {name: row[name] for name in BETTER}
            theirs = old | {name: row[f"{name}_baseline"] for name in BETTER}
            judged = judge_candidate(mine, theirs, self._claims)
            for name, criterion in demanded(self._claims).items():
                verdicts[name].append(judged[criterion].verdict)
        return {
            name: found.count(Verdict.PASS) / len(found)
            for name, found in verdicts.items()
            if found and Verdict.NOT_ASSESSED not in found
        }


def _changes(both: pl.DataFrame) -> tuple[dict[str, float | None], dict[str, FloatArray]]:
    """The baseline's mean, and the policy's less the baseline's, over replicas where both have a value."""
    usual: dict[str, float | None] = {}
    changes = {}
    for name in BETTER:
        known = both.select(pl.col(name), pl.col(f"{name}_baseline")).drop_nulls()
        usual[name] = known[f"{name}_baseline"].mean()  # type: ignore[assignment]
        changes[name] = (known[name] - known[f"{name}_baseline"]).to_numpy()
    return usual, changes


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
    comparer = _Comparer(shaken, claims.baseline, capacity, objective, config)
    compared = {}
    for policy, frame in schedules.items():
        if policy != claims.baseline:
            pair = Schedule.paired(frame, schedules[claims.baseline])
            compared[policy] = {window: comparer.compare(policy, pair, window) for window in WINDOWS}
    levels = _levels(compared, objective, config)
    rows: list[Row] = []
    for policy, by_window in compared.items():
        for window, found in by_window.items():
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
                    "candidates_count": len(levels) if is_adjusted else None,
                }
                rows.append(row | found.row(name, config, confidence))
    return ROBUSTNESS.shape(pl.DataFrame(rows, schema=ROBUSTNESS.polars_schema()))


def _levels(
    compared: Mapping[str, Mapping[Window, _Compared]], objective: ObjectiveConfig, config: IntervalsConfig
) -> dict[str, float]:
    """The level at which each candidate is confirmed, of those that the first part chooses."""
    p_values = {}
    for policy, by_window in compared.items():
        first, rest = by_window[Window.SELECTION], by_window[Window.CONFIRMATION]
        if judge_selection(first.policy, first.baseline, objective.claims).verdict is Verdict.PASS:
            p_values[policy] = rest.p_value(objective.claims.primary, config)
    return holm_levels(p_values, 1 - config.confidence)


def _are_same(one: Schedule, other: Schedule) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("release_s", "start_s", "runtime_s", "procs", "user")
    )
