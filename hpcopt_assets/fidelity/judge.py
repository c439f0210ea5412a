"""The table fidelity_verdicts: every policy's replay held against the observed schedule.

In:  trace_jobs, replay_schedule by policy; replays of windows (a Protocol) where quarters begin seeded.
Out: fidelity_verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from hpcopt_assets.contracts.config import FidelityConfig, MeasuresConfig
from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.protocols import SeededReplays
from hpcopt_assets.contracts.tables import FIDELITY_VERDICTS
from hpcopt_assets.contracts.verdicts import Judgement
from hpcopt_assets.contracts.vocabulary import WHOLE, CapacitySource, FidelityCriterion, Verdict
from hpcopt_assets.fidelity.capacity import judge_capacity
from hpcopt_assets.fidelity.compared import Compared
from hpcopt_assets.fidelity.criteria import judge_criteria
from hpcopt_assets.fidelity.overall import judge_overall
from hpcopt_assets.fidelity.periods import periods_of, released_in, unseeded
from hpcopt_assets.measures.calendar import Quarter, Zone, zone_of
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.window import Span

Judgements = dict[FidelityCriterion, Judgement]
ByQuarter = dict[str, Judgements]


def judge_fidelity(
    *,
    trace_id: str,
    trace_jobs: pl.DataFrame,
    schedules: Mapping[str, pl.DataFrame],
    capacity: Capacity,
    capacity_source: CapacitySource,
    timezone: str | None,
    is_synthetic: bool,
    config: FidelityConfig,
    measures: MeasuresConfig,
    window: Span | None = None,
    seeded: SeededReplays | None = None,
) -> pl.DataFrame:
    """One row per period and criterion, `overall` last, for each policy of `schedules` in its order.

    Periods are the whole, or the `window` that the schedules are replays of, then each calendar quarter in
    which jobs were released, in order of time. Compared are the jobs released in a period that ran both in
    the record and in the replay; the rows say how many those are. Where `seeded` is given, quarters are
    judged by its replays instead, and are NOT_ASSESSED where it raises `EvidenceError`.
    """
    jobs, found = periods_of(trace_jobs, timezone, window)
    possible = {
        name: judge_capacity(trace_jobs, capacity, capacity_source, span)
        for name, span in [(WHOLE, window), *found]
    }
    judge = _Judge(capacity, possible, zone_of(timezone), is_synthetic, config, measures)
    seeded_quarters = judge.seeded(jobs, found, tuple(schedules), seeded) if seeded is not None else {}
    rows: list[dict[str, Any]] = []
    for policy, frame in schedules.items():
        whole = Compared.of(jobs, frame, measures.queue_sample_s)
        by_quarter = seeded_quarters.get(policy) or judge.cut(jobs, found, whole)
        verdicts = {name: judged[FidelityCriterion.OVERALL].verdict for name, judged in by_quarter.items()}
        rows += [
            {
                "trace_id": trace_id,
                "policy": policy,
                "period": period,
                "criterion": criterion.value,
                **judgement.columns(),
            }
            for period, judged in {WHOLE: judge.period(WHOLE, whole, verdicts), **by_quarter}.items()
            for criterion, judgement in judged.items()
        ]
    return FIDELITY_VERDICTS.shape(pl.DataFrame(rows, schema=FIDELITY_VERDICTS.polars_schema()))


@dataclass(frozen=True)
class _Judge:
    """What every period is judged by; `possible` says of each whether the record can have happened in it."""

    capacity: Capacity
    possible: Mapping[str, Judgement]
    zone: Zone
    is_synthetic: bool
    config: FidelityConfig
    measures: MeasuresConfig

    def period(
        self, name: str, compared: Compared, quarters: Mapping[str, Verdict] | None = None
    ) -> Judgements:
        """Every criterion over one period."""
        criteria = judge_criteria(
            compared, capacity=self.capacity, config=self.config, measures=self.measures
        )
        possible = self.possible[name]
        overall = judge_overall(
            criteria,
            possible,
            compared,
            quarters=quarters or {},
            zone=self.zone,
            config=self.config,
            is_synthetic=self.is_synthetic,
        )
        return criteria | {
            FidelityCriterion.OBSERVED_WITHIN_CAPACITY: possible,
            FidelityCriterion.OVERALL: overall,
        }

    def cut(self, jobs: pl.DataFrame, quarters: list[Quarter], whole: Compared) -> ByQuarter:
        """The quarters of one replay of everything."""
        release_s = jobs["release_s"].to_numpy()
        counts = [int(((release_s >= span.start_s) & (release_s < span.end_s)).sum()) for _, span in quarters]
        return {
            name: self.period(name, whole.within(span, count))
            for (name, span), count in zip(quarters, counts, strict=True)
        }

    def seeded(
        self, jobs: pl.DataFrame, quarters: list[Quarter], policies: tuple[str, ...], replays: SeededReplays
    ) -> dict[str, ByQuarter]:
        """Quarters that were replayed each on its own, by policy."""
        judged: dict[str, ByQuarter] = {policy: {} for policy in policies}
        for name, span in quarters:
            for policy, compared in self._each(jobs.filter(released_in(span)), span, policies, replays):
                judged[policy][name] = self.period(name, compared)
        return judged

    def _each(
        self, released: pl.DataFrame, span: Span, policies: tuple[str, ...], replays: SeededReplays
    ) -> Iterator[tuple[str, Compared]]:
        try:
            replayed = replays(*span)
        except EvidenceError as error:
            nothing = Compared.nothing(released.height, unseeded(error))
            yield from ((policy, nothing) for policy in policies)
            return
        for policy in policies:
            yield policy, Compared.of(released, replayed[policy], self.measures.queue_sample_s)
