"""What the evidence must be before a gain counts as shown.

In:  both schedules, the fidelity verdicts, the policies' parameters.   Out: one judgement per condition.
Not here: what the candidate must do (criteria.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from hpcopt_assets.contracts.config import ClaimsConfig, Policy, SaturationRule
from hpcopt_assets.contracts.forecast_words import EstimateRun
from hpcopt_assets.contracts.robustness_tables import BETTER
from hpcopt_assets.contracts.sentences import in_figures, plural
from hpcopt_assets.contracts.verdicts import Judgement, judge
from hpcopt_assets.contracts.vocabulary import (
    WHOLE,
    Backfill,
    EstimateSource,
    FidelityCriterion,
    Verdict,
    Window,
)
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.load import late_backlog
from hpcopt_assets.measures.schedule import FloatArray, Schedule
from hpcopt_assets.measures.summary import Measures

RATIO = "ratio"
NO_FORECASTS = "it believes no forecasts"


def judge_saturation(
    candidate: Schedule,
    baseline: Schedule,
    capacity: Capacity,
    rule: SaturationRule,
) -> Judgement:
    """FAIL where the backlog of either keeps growing: its waits then measure the length of the trace.

    `measured` is the larger of the two growths (`LateBacklog.growth_ratio`).
    """
    late = {
        name: late_backlog(schedule, capacity, rule.parts)
        for name, schedule in (("baseline", baseline), ("candidate", candidate))
    }
    known = {name: backlog for name, backlog in late.items() if backlog is not None}
    if len(known) < len(late):
        reason = "the last third of the submissions is too short to cut"
        return Judgement(Verdict.NOT_ASSESSED, None, rule.min_growth_ratio, RATIO, len(baseline), reason)
    growth = {name: backlog.growth_ratio for name, backlog in known.items()}
    saturated = [name for name, ratio in growth.items() if ratio >= rule.min_growth_ratio]
    return Judgement(
        Verdict.FAIL if saturated else Verdict.PASS,
        max(growth.values()),
        rule.min_growth_ratio,
        RATIO,
        len(baseline),
        f"{' and '.join(saturated) or 'neither policy'} saturated; mean backlog of the last third's parts: "
        + ", ".join(f"{name} {_series(backlog.hours)}" for name, backlog in known.items()),
    )


def judge_baseline_fidelity(fidelity: pl.DataFrame, baseline: str) -> Judgement:
    """The baseline's overall verdict over the whole trace; NOT_ASSESSED where fidelity_verdicts has none."""
    found = fidelity.filter(policy=baseline, period=WHOLE, criterion=FidelityCriterion.OVERALL.value)
    if found.height == 0:
        return Judgement(
            Verdict.NOT_ASSESSED, None, None, "rules broken", 0, f"{baseline} was not held against the record"
        )
    row = found.row(0, named=True)
    return Judgement(
        Verdict(row["verdict"]),
        row["measured"],
        row["limit"],
        row["unit"],
        row["evidence_count"],
        f"fidelity of {baseline} is {row['verdict']}",
    )


def judge_fallback(
    candidate: pl.DataFrame, baseline: pl.DataFrame, policies: tuple[Policy, Policy], config: ClaimsConfig
) -> Judgement:
    """NOT_ASSESSED where either policy backfills on requests that more than the allowed share lacks."""
    shares = [_fallback_ratio(frame) for frame in (candidate, baseline)]
    replayed = min(frame["left_out"].null_count() for frame in (candidate, baseline))
    measured = max(shares)
    has_backfill = any(policy.backfill is not Backfill.NONE for policy in policies)
    is_blind = replayed == 0 or (has_backfill and measured > config.max_fallback_ratio)
    return Judgement(
        Verdict.NOT_ASSESSED if is_blind else Verdict.PASS,
        measured if replayed else None,
        config.max_fallback_ratio,
        RATIO,
        replayed,
        _made_up(measured, replayed) + ("" if has_backfill else "; neither policy uses it"),
    )


def _made_up(ratio: float, replayed: int) -> str:
    if replayed == 0:
        return "no job was replayed"
    if ratio == 0:
        return "every replayed job had a requested runtime"
    return (
        f"{in_figures(100 * ratio)} % of the replayed jobs had no requested runtime, so that one was made up"
    )


def _fallback_ratio(frame: pl.DataFrame) -> float:
    replayed = frame.filter(pl.col("left_out").is_null())
    given = replayed.filter(pl.col("estimate_source") == EstimateSource.FALLBACK.value)
    return given.height / replayed.height if replayed.height else 0.0


def judge_model_credit(candidate: pl.DataFrame, policy: Policy, config: ClaimsConfig) -> Judgement:
    """FAIL where the model gave too few of the estimates: what was gained is then not the model's."""
    replayed = candidate.filter(pl.col("left_out").is_null())
    if not policy.is_forecasting:
        return Judgement(Verdict.PASS, None, None, RATIO, replayed.height, NO_FORECASTS)
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
    accounting: pl.DataFrame, policy: Policy, baseline: Measures, config: ClaimsConfig
) -> Judgement:
    """Whether the gain is still there when no estimate rests on a job that had not ended in its schedule.

    `accounting` is `estimate_accounting`.
    """
    count, old = int(baseline["jobs_count"] or 0), baseline[config.primary]
    if not policy.is_forecasting:
        return Judgement(Verdict.PASS, None, None, RATIO, count, NO_FORECASTS)
    honest = accounting.filter(policy=policy.id, run=EstimateRun.HISTORY_HONEST.value)
    if honest.height != 1:
        missing = "it was not replayed without hindsight"
        return Judgement(Verdict.NOT_ASSESSED, None, config.min_gain_ratio, RATIO, 0, missing)
    new = honest[config.primary].item()
    return judge(
        None if new is None or old is None else 1 - new / old,
        "at least",
        config.min_gain_ratio,
        unit=RATIO,
        count=count,
        needed=config.min_jobs,
        what=f"without estimates that know another schedule's future, the gain in {config.primary} is",
    )


def judge_confirmation(rows: pl.DataFrame, selection: Verdict, primary: str) -> Judgement:
    """PASS where two intervals say that the primary measure improves on the part that chose nobody.

    One over shaken replicas, one over weeks drawn anew, both adjusted for how many candidates were chosen;
    `measured` is the end that is nearest to no improvement. `rows` are the candidate's of the table
    `robustness`. Who was not chosen, too few replicas or weeks, or no row, is NOT_ASSESSED.
    """
    found = rows.filter(measure=primary, time_window=Window.CONFIRMATION.value)
    if found.is_empty():
        return Judgement(Verdict.NOT_ASSESSED, None, 0.0, primary, 0, "it was not replayed on shaken traces")
    row, better = found.row(0, named=True), BETTER[primary]
    ends = ("upper", "block_upper") if better < 0 else ("lower", "block_lower")
    known = [row[end] for end in ends if row[end] is not None]
    told = (
        f"on the rest, {primary} changes by {_interval(row, '')} over {row['replicas_count']:,} shaken "
        f"replicas and by {_interval(row, 'block_')} over {plural(row['blocks_count'], 'week')} drawn anew "
        f"({in_figures(100 * row['confidence'])} %, {_adjusted(row['candidates_count'])})"
    )
    verdict = Verdict.PASS
    if any(better * end <= 0 for end in known):
        verdict = Verdict.FAIL
    elif len(known) < len(ends) or selection is not Verdict.PASS:
        verdict = Verdict.NOT_ASSESSED
    if row["is_artefact"]:
        told += "; the replay's own difference lies outside the first of these"
    nearest = min(known, key=lambda end: better * end, default=None)
    return Judgement(verdict, nearest, 0.0, primary, row["replicas_count"], told)


def _interval(row: Mapping[str, Any], which: str) -> str:
    low, high = row[f"{which}lower"], row[f"{which}upper"]
    return "an unknown amount" if low is None else f"[{in_figures(low)}, {in_figures(high)}]"


def _adjusted(candidates: int | None) -> str:
    return "not chosen" if candidates is None else f"Holm over {plural(candidates, 'candidate')}"


def _series(hours: FloatArray) -> str:
    return " / ".join(f"{value:,.1f}" for value in hours) + " h of the machine"
