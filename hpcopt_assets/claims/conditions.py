"""What the evidence must be before a gain counts as shown.

In:  both schedules, the fidelity verdicts, the policies' parameters.   Out: one judgement per condition.
Not here: what the candidate must do (criteria.py), whose its gain is (credit.py), and whether it would be
there on another day (confirmation.py).
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.config import ClaimsConfig, Policy, SaturationRule
from hpcopt_assets.contracts.sentences import in_figures
from hpcopt_assets.contracts.verdicts import Judgement, judge
from hpcopt_assets.contracts.vocabulary import (
    WHOLE,
    Backfill,
    EstimateSource,
    FidelityCriterion,
    Verdict,
)
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.load import late_backlog
from hpcopt_assets.measures.schedule import FloatArray, Schedule

RATIO = "ratio"


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


def _series(hours: FloatArray) -> str:
    return " / ".join(f"{value:,.1f}" for value in hours) + " h of the machine"
