"""What the evidence must be before a gain counts as shown.

In:  both schedules, the fidelity verdicts, the policies' parameters.   Out: one judgement per condition.
Not here: what the candidate must do (criteria.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from hpcopt_assets.claims.criteria import in_one, judge_candidate
from hpcopt_assets.contracts.config import ClaimsConfig, Policy, SaturationRule
from hpcopt_assets.contracts.forecast_words import EstimateRun
from hpcopt_assets.contracts.measure_columns import MEASURES
from hpcopt_assets.contracts.robustness_tables import BETTER
from hpcopt_assets.contracts.sentences import in_figures, plural
from hpcopt_assets.contracts.verdicts import Judgement, judge
from hpcopt_assets.contracts.vocabulary import (
    FORECAST,
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
NOT_SHAKEN = "it was not replayed on shaken traces"
UNITS = {column.name: column.unit or "" for column in MEASURES}


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


def judge_same_work(candidate: Schedule, baseline: Schedule, config: ClaimsConfig) -> Judgement:
    """Whether the candidate did the baseline's work: who kills jobs sooner has less to do, and gains."""
    done, all_work = float(candidate.work.sum()), float(baseline.work.sum())
    return judge(
        1 - done / all_work if all_work else None,
        "at most",
        config.max_lost_work_ratio,
        unit=RATIO,
        count=len(baseline),
        needed=config.min_jobs,
        what="share of the baseline's processor-seconds not run",
    )


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
    honest = accounting.filter(policy=policy.id, run=EstimateRun.HISTORY_HONEST.value)
    lacking = "it was not replayed without hindsight"
    if honest.height == 1:
        row = honest.row(0, named=True)
        if row["jobs_count"] == replayed:
            judged = judge_candidate(row | {"jobs_count": count}, baseline, config)
            told = "without estimates that know another schedule's future"
            return in_one(judged, f"{told}, every demand is met", f"{told}, not every demand is met")
        lacking = f"without hindsight it ran {row['jobs_count']:,} jobs, the baseline {replayed:,}"
    return Judgement(Verdict.NOT_ASSESSED, None, config.min_gain_ratio, RATIO, 0, lacking)


def judge_shaken_gain(rows: pl.DataFrame, config: ClaimsConfig) -> Judgement:
    """Whether the primary measure falls enough on average over shaken replicas, in the steady window.

    What one replay shows may be an accident of the log. `rows` are the candidate's of the table `robustness`.
    """
    row = _row(rows, config.primary, Window.STEADY)
    if row is None:
        return Judgement(Verdict.NOT_ASSESSED, None, config.min_gain_ratio, RATIO, 0, NOT_SHAKEN)
    usual, change, replicas = row["shaken_baseline_value"], row["mean_difference"], row["replicas_count"]
    is_enough = row["lower"] is not None
    found = judge(
        -change / usual if is_enough and usual else None,
        "at least",
        config.min_gain_ratio,
        unit=RATIO,
        count=int(row["jobs_count"] or 0),
        needed=config.min_jobs,
        what=f"mean gain in {config.primary} over {plural(replicas, 'shaken replica')}",
        unknown="too few to tell",
    )
    if not row["is_artefact"]:
        return found
    luck = (
        f"the replay's own change, {in_figures(row['difference'])}, lies outside theirs, {_interval(row, '')}"
    )
    return replace(found, reason=f"{found.reason}; {luck}")


def judge_confirmation(rows: pl.DataFrame, selection: Verdict, config: ClaimsConfig) -> Judgement:
    """PASS where two intervals say that the primary measure improves on the part that chose nobody.

    One over shaken replicas, one over weeks drawn anew, both adjusted for how many candidates were chosen;
    `measured` is the end that is nearest to no improvement. `rows` are the candidate's of the table
    `robustness`. Who was not chosen, too few jobs, replicas or weeks, or no row, is NOT_ASSESSED.
    """
    primary = config.primary
    unit, better = UNITS[primary], BETTER[primary]
    row = _row(rows, primary, Window.CONFIRMATION)
    if row is None:
        return Judgement(Verdict.NOT_ASSESSED, None, 0.0, unit, 0, NOT_SHAKEN)
    ends = ("upper", "block_upper") if better < 0 else ("lower", "block_lower")
    known = [row[end] for end in ends if row[end] is not None]
    jobs, is_chosen = int(row["jobs_count"] or 0), row["candidates_count"] is not None
    told = (
        f"on the rest, {primary} of {plural(jobs, 'job')} changes by {_interval(row, '')} over "
        f"{plural(row['replicas_count'], 'shaken replica')} and by {_interval(row, 'block_')} over "
        f"{plural(row['blocks_count'], 'week')} drawn anew ({in_figures(100 * row['confidence'])} %, "
        f"{_adjusted(row['candidates_count'])})"
    )
    verdict = Verdict.PASS
    if jobs < config.min_jobs:
        verdict, told = Verdict.NOT_ASSESSED, f"{told}; {config.min_jobs} jobs needed"
    elif any(better * end <= 0 for end in known):
        verdict = Verdict.FAIL
    elif len(known) < len(ends) or selection is not Verdict.PASS or not is_chosen:
        verdict = Verdict.NOT_ASSESSED
    if row["is_artefact"]:
        told += "; the replay's own change lies outside the first of these"
    nearest = min(known, key=lambda end: better * end, default=None)
    return Judgement(verdict, nearest, 0.0, unit, jobs, told)


def _row(rows: pl.DataFrame, measure: str, window: Window) -> dict[str, Any] | None:
    found = rows.filter(measure=measure, time_window=window.value)
    return None if found.is_empty() else found.row(0, named=True)


def _interval(row: Mapping[str, Any], which: str) -> str:
    low, high = row[f"{which}lower"], row[f"{which}upper"]
    return "an unknown amount" if low is None else f"[{in_figures(low)}, {in_figures(high)}]"


def _adjusted(candidates: int | None) -> str:
    return "not chosen" if candidates is None else f"Holm over {plural(candidates, 'candidate')}"


def _series(hours: FloatArray) -> str:
    return " / ".join(f"{value:,.1f}" for value in hours) + " h of the machine"
