"""The demands on a candidate in one world: its measures beside the baseline's, and whether they will do.

In:  the schedules of both in that world, the objective.   Out: `Demands`.
Not here: what the evidence must be (conditions.py), and which worlds there are (stress.py, sensitivity.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from hpcopt_assets.claims.conditions import judge_fallback
from hpcopt_assets.claims.criteria import judge_candidate
from hpcopt_assets.contracts.config import ObjectiveConfig, Policy
from hpcopt_assets.contracts.verdicts import Judgement, combine
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion, Verdict, Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.summary import Measures, measure

ALL_MET = "every demand is met"
Row = dict[str, str | int | float | bool | None]


@dataclass(frozen=True)
class Demands:
    """Measures of both over the jobs that both ran, in the steady window; a judgement for each demand.

    `blind` says why nothing can be said of either, where that is so: no demand then passes or fails.
    """

    candidate: Measures
    baseline: Measures
    judged: Mapping[ClaimCriterion, Judgement]
    blind: str | None = None

    def verdict_of(self, criterion: ClaimCriterion) -> Verdict:
        """Of one demand."""
        return Verdict.NOT_ASSESSED if self.blind else self.judged[criterion].verdict

    @property
    def verdict(self) -> Verdict:
        """Of all demands together."""
        return combine(self.verdict_of(criterion) for criterion in DEMANDS)

    @property
    def gain_ratio(self) -> float | None:
        """By what share of the baseline's the candidate's primary measure is lower."""
        return self.judged[ClaimCriterion.PRIMARY_GAIN].measured

    def columns(self) -> Row:
        """A verdict a demand, all of them combined, and the reasons of those that do not pass."""
        lacking = [
            self.judged[criterion].reason
            for criterion in DEMANDS
            if self.judged[criterion].verdict is not Verdict.PASS
        ]
        return {
            **{criterion.value: self.verdict_of(criterion).value for criterion in DEMANDS},
            "verdict": self.verdict.value,
            "reason": self.blind or "; ".join(lacking) or ALL_MET,
        }


@dataclass(frozen=True)
class Pair:
    """A candidate's schedule and the baseline's over the jobs that both ran, ready to be measured.

    `fallback` says whether enough of the jobs had a requested runtime.
    """

    candidate: Schedule
    baseline: Schedule
    fallback: Judgement

    @classmethod
    def of(
        cls,
        frames: tuple[pl.DataFrame, pl.DataFrame],
        policies: tuple[Policy, Policy],
        objective: ObjectiveConfig,
    ) -> Pair:
        """From two `replay_schedule` frames, the candidate's first, and the policies that made them."""
        return cls(*Schedule.paired(*frames), judge_fallback(*frames, policies, objective.claims))

    def demands(self, capacity: Capacity, objective: ObjectiveConfig) -> Demands:
        """What the objective says of the pair on this machine."""
        candidate, baseline = (
            measure(each, capacity=capacity, config=objective.measures, window=Window.STEADY)
            for each in (self.candidate, self.baseline)
        )
        blind = None if self.fallback.verdict is Verdict.PASS else self.fallback.reason
        return Demands(candidate, baseline, judge_candidate(candidate, baseline, objective.claims), blind)


def not_assessed(reason: str) -> Row:
    """The columns of demands of which nothing can be said."""
    words = dict.fromkeys(
        (*(criterion.value for criterion in DEMANDS), "verdict"), Verdict.NOT_ASSESSED.value
    )
    return {**words, "reason": reason}
