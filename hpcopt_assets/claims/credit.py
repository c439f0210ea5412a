"""Whose a gain is: the model's, or that of histories and of another schedule's future.

In:  a candidate's schedule, estimate_accounting.   Out: one judgement per condition.
Not here: where the estimates of a replay came from (simulate/accounting.py).
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.claims.criteria import in_one, judge_candidate
from hpcopt_assets.contracts.config import ClaimsConfig, Policy
from hpcopt_assets.contracts.forecast_words import EstimateRun
from hpcopt_assets.contracts.verdicts import Judgement, judge
from hpcopt_assets.contracts.vocabulary import (
    FORECAST,
    EstimateSource,
    Verdict,
)
from hpcopt_assets.measures.summary import Measures

RATIO = "ratio"
NO_FORECASTS = "it believes no forecasts"
NOT_HONEST = "the same jobs were not replayed without hindsight"


def judge_model_credit(candidate: pl.DataFrame, policy: Policy, config: ClaimsConfig) -> Judgement:
    """FAIL where the model gave too few of the estimates: what was gained is then not the model's."""
    replayed = candidate.filter(pl.col("left_out").is_null())
    if not policy.is_forecasting:
        return Judgement(Verdict.PASS, None, None, RATIO, replayed.height, NO_FORECASTS)
    if policy.estimate not in FORECAST:
        unknown = "it holds jobs by forecasts, and schedules tell only whose estimates they were tried with"
        return Judgement(Verdict.NOT_ASSESSED, None, config.min_model_ratio, RATIO, replayed.height, unknown)
    given = replayed.filter(pl.col("estimate_source") == EstimateSource.MODEL.value)
    return judge(
        given.height / replayed.height if replayed.height else None,
        "at least",
        config.min_model_ratio,
        unit=RATIO,
        count=replayed.height,
        needed=config.min_jobs,
        what="share of the estimates that came from the model",
    )


def judge_hindsight(
    accounting: pl.DataFrame, policy: Policy, baseline: Measures, replayed: int, config: ClaimsConfig
) -> Judgement:
    """Whether all demands are met where no estimate rests on a job that had not ended in its schedule.

    `accounting` is `estimate_accounting`, `replayed` how many jobs ran under the baseline in the whole trace;
    `measured` is the gain that is left.
    """
    count = int(baseline["jobs_count"] or 0)
    if not policy.is_forecasting:
        return Judgement(Verdict.PASS, None, None, RATIO, count, NO_FORECASTS)
    honest = honest_measures(accounting, policy, baseline, replayed)
    if honest is None:
        return Judgement(Verdict.NOT_ASSESSED, None, config.min_gain_ratio, RATIO, 0, NOT_HONEST)
    judged = judge_candidate(honest, baseline, config)
    told = "without estimates that know another schedule's future"
    return in_one(judged, f"{told}, every demand is met", f"{told}, not every demand is met")


def honest_measures(
    accounting: pl.DataFrame, policy: Policy, baseline: Measures, replayed: int
) -> Measures | None:
    """What demands are judged by, of the history-honest run; None without one of as many jobs.

    Such a run is of the baseline's jobs, so that its steady window has as many of them.
    """
    found = accounting.filter(policy=policy.id, run=EstimateRun.HISTORY_HONEST.value, jobs_count=replayed)
    if found.height != 1:
        return None
    return {**found.row(0, named=True), "jobs_count": baseline["jobs_count"]}
