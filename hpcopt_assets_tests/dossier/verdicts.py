"""What was found on a small trace, made by hand: verdicts, robustness, what is recommended, stress.

In:  changes by column or criterion.   Out: frames within their contracts.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from hpcopt_assets.contracts import tables
from hpcopt_assets.contracts import vocabulary as v
from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION
from hpcopt_assets.contracts.robustness_tables import BETTER, ROBUSTNESS, WINDOWS
from hpcopt_assets.contracts.stress_tables import SENSITIVITY, STRESS_REPLAYS
from hpcopt_assets_tests.dossier.made import FASTER, JOBS, QUARTER, rows


def judged(criterion: str, verdict: str, reason: str) -> dict[str, Any]:
    assessed = verdict != v.Verdict.NOT_ASSESSED
    return {
        "criterion": criterion,
        "verdict": verdict,
        "measured": 0.51234 if assessed else None,
        "limit": 0.2,
        "unit": "ratio",
        "evidence_count": 12_345 if assessed else 3,
        "reason": reason,
    }


def fidelity(**overall: str) -> pl.DataFrame:
    """Every criterion for every policy; `overall` gives verdicts by policy, FAIL where it says nothing.

    So over the whole trace; in the one quarter there is, nothing could be assessed.
    """
    return rows(
        tables.FIDELITY_VERDICTS,
        (
            {"policy": policy, "period": period}
            | judged(
                criterion,
                verdict,
                f"{criterion} of {policy} is judged so{'' if period == v.WHOLE else f' in {period}'}",
            )
            for policy in FASTER
            for period, said in ((v.WHOLE, overall.get(policy, "FAIL")), (QUARTER, "NOT_ASSESSED"))
            for criterion in v.FidelityCriterion.words()
            for verdict in [_fidelity_verdict(criterion, said)]
        ),
    )


def _fidelity_verdict(criterion: str, overall: str) -> str:
    if criterion == v.FidelityCriterion.OBSERVED_WITHIN_CAPACITY:
        return v.Verdict.NOT_ASSESSED
    return overall if criterion in ("overall", "mean_wait") else v.Verdict.PASS


def claims(policy: str = "fifo_strict", outcome: str | None = "BLOCKED", **verdicts: str) -> pl.DataFrame:
    """Every criterion for one candidate and for the bound; verdicts by criterion, PASS else."""
    given = {
        "confirmation": "NOT_ASSESSED",
        "baseline_fidelity": "FAIL",
        "overall": "NOT_ASSESSED",
    } | verdicts
    content = []
    for who in dict.fromkeys((policy, "easy_clairvoyant")):
        for criterion in v.ClaimCriterion.words():
            verdict = given.get(criterion, "PASS") if who == policy else "NOT_ASSESSED"
            row = judged(criterion, verdict, f"{criterion} reason of {who}")
            is_claim = criterion == "overall" and who == policy
            content.append(
                {"policy": who, "baseline": "easy_backfill", "outcome": outcome if is_claim else None} | row
            )
    return rows(tables.CLAIM_VERDICTS, content)


def invariants() -> pl.DataFrame:
    return rows(
        tables.INVARIANT_REPORT,
        (
            {
                "policy": policy,
                "invariant": invariant,
                "verdict": "PASS",
                "checked_count": JOBS - 1,
                "violations_count": 0,
                "job_id": None,
                "at_s": None,
                "found": None,
                "allowed": None,
            }
            for policy in FASTER
            for invariant in v.Invariant.words()
        ),
    )


def robustness(policy: str = "fifo_strict", **changes: Any) -> pl.DataFrame:
    """Every window and measure of one candidate: a gain that both intervals show, unless told otherwise."""
    content = {
        "policy": policy,
        "baseline": "easy_backfill",
        "jobs_count": JOBS,
        "baseline_value": 4.0,
        "policy_value": 3.0,
        "difference": -1.0,
        "replicas_count": 200,
        "shaken_baseline_value": 5.0,
        "mean_difference": -1.25,
        "p25_difference": -1.5,
        "p50_difference": -1.25,
        "p75_difference": -1.1,
        "improved_ratio": 0.995,
        "met_ratio": 0.97,
        "is_artefact": False,
        "blocks_count": 12,
        "confidence": 0.95,
        "candidates_count": None,
        "lower": -2.0,
        "upper": -0.5,
        "block_lower": -3.0,
        "block_upper": -0.2,
    } | changes
    return rows(
        ROBUSTNESS,
        (content | {"time_window": window, "measure": measure} for window in WINDOWS for measure in BETTER),
    )


def recommendation(**changes: Any) -> pl.DataFrame:
    """The baseline, and one candidate that is blocked."""
    shared = {
        "outcome": None,
        "is_baseline": False,
        "is_recommended": False,
        "rank": None,
        "shaken_gain_ratio": None,
        "p95_bsld": 4.0,
        "utilisation_ratio": 0.7,
        "mean_wait_s": 1200.0,
        "jain_service": 0.5,
        "starved_ratio": 0.01,
        "is_on_front": True,
        "dominated_by": None,
        "failed": None,
        "open": None,
        "improved": None,
        "worsened": None,
        "reason": "No candidate passes everything: none is recommended.",
    }
    candidate = {
        "policy": "fifo_strict",
        "outcome": "BLOCKED",
        "shaken_gain_ratio": 0.25,
        "is_on_front": False,
        "dominated_by": "easy_backfill",
        "failed": "fairness",
        "open": "confirmation",
        "improved": "p95_bsld 4 -> 3 (-25 %)",
        "worsened": "jain_service 0.5 -> 0.4 (-20 %)",
        "reason": "Not recommended: it does not meet fairness.",
    }
    baseline = shared | {"policy": "easy_backfill", "is_baseline": True}
    return rows(RECOMMENDATION, [baseline, shared | candidate | changes])


def judged_by_demand(verdict: str) -> dict[str, str]:
    return {demand.value: verdict for demand in v.DEMANDS} | {"verdict": verdict}


def sensitivity(verdict: str = "PASS", *, has_flipped: bool | None = True) -> pl.DataFrame:
    """One decision as configured and taken otherwise."""
    shared = {
        "policy": "fifo_strict",
        "baseline": "easy_backfill",
        "varied": "tau_s",
        "jobs_count": JOBS,
        "excluded_count": 0,
        "baseline_value": 4.0,
        "policy_value": 3.0,
        "gain_ratio": 0.25,
        "default_verdict": "FAIL",
        "reason": "as it is",
    }
    default = shared | {"setting": "10", "is_default": True, "has_flipped": False}
    other = shared | {"setting": "60", "is_default": False, "has_flipped": has_flipped}
    return rows(SENSITIVITY, [default | judged_by_demand("FAIL"), other | judged_by_demand(verdict)])


def stress(**changes: Any) -> pl.DataFrame:
    """One policy under one scenario; null where nothing is told."""
    row: dict[str, Any] = dict.fromkeys(STRESS_REPLAYS.names) | {
        "policy": "fifo_strict",
        "baseline": "easy_backfill",
        "scenario": "burst_shock",
        "severity": 2,
        "statistic": "arrival_peak",
        "asked_factor": 2.0,
        "reached_factor": 1.98,
        "jobs_count": JOBS,
        "stressed_p95_bsld": 9.0,
        "p95_bsld_times": 3.0,
        "mean_wait_times": 1.5,
        "unstressed_gain_ratio": 0.25,
        "stressed_gain_ratio": -0.125,
        "unstressed_verdict": "PASS",
        "violations_count": 0,
        "invariants": "PASS",
        "reason": "primary_gain",
    }
    verdicts = judged_by_demand("PASS") | {"verdict": "FAIL", "primary_gain": "FAIL"}
    del row["trace_id"]
    return rows(STRESS_REPLAYS, [row | verdicts | changes])


def closeness() -> pl.DataFrame:
    content = []
    for period in (v.WHOLE, QUARTER):
        for rank, policy in enumerate(("easy_backfill", "fifo_strict"), start=1):
            content.append(
                {
                    "period": period,
                    "policy": policy,
                    "rank": rank,
                    "distance": 1.5 + rank,
                    "jobs_count": JOBS - 1,
                    "fidelity": "FAIL",
                    "reason": f"{policy} is number {rank} in {period}",
                }
            )
    return rows(tables.POLICY_CLOSENESS, content)
