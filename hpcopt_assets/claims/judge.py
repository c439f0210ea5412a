"""The table claim_verdicts: every policy held against the baseline.

In:  replay_schedule by policy, fidelity_verdicts, robustness, estimate_accounting.   Out: claim_verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from hpcopt_assets.claims.conditions import (
    judge_baseline_fidelity,
    judge_fallback,
    judge_same_work,
    judge_saturation,
)
from hpcopt_assets.claims.confirmation import (
    judge_confirmation,
    judge_shaken_demands,
    judge_shaken_gain,
)
from hpcopt_assets.claims.credit import judge_hindsight, judge_model_credit
from hpcopt_assets.claims.criteria import judge_candidate
from hpcopt_assets.claims.outcome import outcome_of, overall_verdict
from hpcopt_assets.claims.reason import BOUND, claim_in_words
from hpcopt_assets.claims.score import weighted_score
from hpcopt_assets.claims.selection import judge_selection
from hpcopt_assets.contracts.config import ObjectiveConfig, PoliciesConfig, Policy
from hpcopt_assets.contracts.errors import ConfigError
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS
from hpcopt_assets.contracts.verdicts import Judgement
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion, Verdict, Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.summary import Measures, measure

BLIND = "too few jobs had a requested runtime"


@dataclass(frozen=True)
class Evidence:
    """What other assets found out: fidelity_verdicts, robustness and estimate_accounting of a trace."""

    fidelity: pl.DataFrame
    robustness: pl.DataFrame
    accounting: pl.DataFrame


def judge_claims(
    *,
    trace_id: str,
    schedules: Mapping[str, pl.DataFrame],
    policies: PoliciesConfig,
    capacity: Capacity,
    tables: Evidence,
    objective: ObjectiveConfig,
    is_synthetic: bool,
) -> pl.DataFrame:
    """One row per criterion, `overall` last, for each policy of `schedules` but the baseline.

    Compared are the jobs that ran under both, over the steady window and its two parts. A bound has the same
    rows with its measured values, all NOT_ASSESSED and without an outcome. Raises ConfigError for an unknown
    policy or a baseline that was not replayed.
    """
    baseline = _policy(objective.claims.baseline, policies)
    if baseline.id not in schedules:
        raise ConfigError(
            found=f"replays of {', '.join(schedules) or 'no policy'}",
            needed=f"one of the baseline {baseline.id}",
            where="configs/objective.yaml, claims.baseline",
            next_step="Replay that policy, or name another baseline.",
        )
    rows = []
    for policy_id in schedules:
        if policy_id == baseline.id:
            continue
        candidate = _policy(policy_id, policies)
        judged, score = _judge(candidate, baseline, schedules, tables, capacity, objective)
        verdicts = {criterion: found.verdict for criterion, found in judged.items()}
        outcome = outcome_of(verdicts)
        judged[ClaimCriterion.OVERALL] = replace(
            judged[ClaimCriterion.PRIMARY_GAIN],
            verdict=overall_verdict(verdicts),
            reason=claim_in_words(judged, outcome, is_bound=candidate.is_bound, is_synthetic=is_synthetic),
        )
        rows += [
            {
                "trace_id": trace_id,
                "policy": policy_id,
                "baseline": baseline.id,
                "criterion": criterion.value,
                **found.columns(),
                **dict.fromkeys(("outcome", "weighted_score")),
                **(
                    {"outcome": outcome, "weighted_score": score}
                    if criterion is ClaimCriterion.OVERALL
                    else {}
                ),
            }
            for criterion, found in judged.items()
        ]
    return CLAIM_VERDICTS.shape(pl.DataFrame(rows, schema=CLAIM_VERDICTS.polars_schema()))


def _judge(
    candidate: Policy,
    baseline: Policy,
    schedules: Mapping[str, pl.DataFrame],
    tables: Evidence,
    capacity: Capacity,
    objective: ObjectiveConfig,
) -> tuple[dict[ClaimCriterion, Judgement], float | None]:
    """Every criterion but `overall`, and the weighted score."""
    claims = objective.claims
    frames = schedules[candidate.id], schedules[baseline.id]
    pair = Schedule.paired(*frames)

    def measured(window: Window) -> tuple[Measures, Measures]:
        one, other = (
            measure(each, capacity=capacity, config=objective.measures, window=window) for each in pair
        )
        return one, other

    steady, first = measured(Window.STEADY), measured(Window.SELECTION)
    selection = judge_selection(*first, claims)
    shaken = tables.robustness.filter(policy=candidate.id, baseline=baseline.id)
    judged = {
        **judge_candidate(*steady, claims),
        ClaimCriterion.SATURATION: judge_saturation(*pair, capacity, claims.saturation),
        ClaimCriterion.BASELINE_FIDELITY: judge_baseline_fidelity(tables.fidelity, baseline.id),
        ClaimCriterion.REQUEST_FALLBACK: judge_fallback(*frames, (candidate, baseline), claims),
        ClaimCriterion.SAME_WORK: judge_same_work(*pair, claims),
        ClaimCriterion.MODEL_CREDIT: judge_model_credit(frames[0], candidate, claims),
        ClaimCriterion.WITHOUT_HINDSIGHT: judge_hindsight(
            tables.accounting, candidate, steady[1], frames[1]["left_out"].null_count(), claims
        ),
        ClaimCriterion.SELECTION: selection,
        ClaimCriterion.SHAKEN_GAIN: judge_shaken_gain(shaken, claims),
        ClaimCriterion.SHAKEN_DEMANDS: judge_shaken_demands(shaken, claims),
        ClaimCriterion.CONFIRMATION: judge_confirmation(shaken, selection.verdict, claims),
    }
    return _where_assessable(judged, candidate), weighted_score(*steady, claims.score)


def _where_assessable(
    judged: dict[ClaimCriterion, Judgement], candidate: Policy
) -> dict[ClaimCriterion, Judgement]:
    """A bound is never judged; nor is backfilling on requests that were made up."""
    fallback = judged[ClaimCriterion.REQUEST_FALLBACK]
    if candidate.is_bound:
        return {criterion: _unjudged(found, BOUND) for criterion, found in judged.items()}
    if fallback.verdict is not Verdict.PASS:
        return judged | {criterion: _unjudged(judged[criterion], BLIND) for criterion in DEMANDS}
    return judged


def _unjudged(found: Judgement, why: str) -> Judgement:
    return replace(found, verdict=Verdict.NOT_ASSESSED, reason=f"{why}; {found.reason}")


def _policy(policy_id: str, policies: PoliciesConfig) -> Policy:
    found = policies.get(policy_id)
    if found is None:
        raise ConfigError(
            found=f"policy {policy_id!r}",
            needed=f"one of {', '.join(policies.ids)}",
            where="claims",
            next_step="Add it to configs/policies.yaml, or leave its schedule out.",
        )
    return found
