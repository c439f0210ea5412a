"""What the candidate must do: the primary gain and the constraints.

In:  the measures of candidate and baseline over the same jobs.   Out: one judgement per criterion.
Not here: whether the evidence suffices (conditions.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hpcopt_assets.contracts.config import ClaimsConfig
from hpcopt_assets.contracts.sentences import in_figures
from hpcopt_assets.contracts.verdicts import Judgement, combine, judge
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion, Verdict
from hpcopt_assets.measures.summary import Measures

UNIT = "ratio"


def demanded(config: ClaimsConfig) -> dict[str, ClaimCriterion]:
    """Measure -> the demand that is made on it."""
    return {
        config.primary: ClaimCriterion.PRIMARY_GAIN,
        "starved_ratio": ClaimCriterion.STARVED,
        "jain_service": ClaimCriterion.FAIRNESS,
        "utilisation_ratio": ClaimCriterion.UTILISATION,
    }


def judge_candidate(
    candidate: Measures, baseline: Measures, config: ClaimsConfig
) -> dict[ClaimCriterion, Judgement]:
    """The gain and each constraint over the steady window; fewer than `min_jobs` jobs are NOT_ASSESSED."""
    count = int(candidate["jobs_count"] or 0)
    return {
        ClaimCriterion.PRIMARY_GAIN: _judge_gain(candidate, baseline, config, count),
        ClaimCriterion.STARVED: judge(
            candidate["starved_ratio"],
            "at most",
            max(config.max_starved_ratio, baseline["starved_ratio"] or 0.0),
            unit=UNIT,
            count=count,
            needed=config.min_jobs,
            what="starved_ratio",
            beside=_beside("starved_ratio", baseline),
        ),
        ClaimCriterion.FAIRNESS: judge(
            candidate["jain_service"],
            "at least",
            _below(baseline["jain_service"], config.max_jain_service_drop),
            unit=UNIT,
            count=count,
            needed=config.min_jobs,
            what="jain_service",
            beside=_beside("jain_service", baseline),
        ),
        ClaimCriterion.UTILISATION: judge(
            candidate["utilisation_ratio"],
            "at least",
            _below(baseline["utilisation_ratio"], config.max_utilisation_drop),
            unit=UNIT,
            count=count,
            needed=config.min_jobs,
            what="utilisation_ratio",
            beside=_beside("utilisation_ratio", baseline),
        ),
    }


def in_one(judged: Mapping[ClaimCriterion, Judgement], met: str, unmet: str) -> Judgement:
    """All demands as one judgement, with the gain's numbers; it says what is `met`, or which are `unmet`."""
    gain = judged[ClaimCriterion.PRIMARY_GAIN]
    lacking = [name for name in DEMANDS if judged[name].verdict is not Verdict.PASS]
    reasons = "; ".join(f"{name} ({judged[name].reason})" for name in lacking)
    told = f"{unmet}: {reasons}" if lacking else f"{met}: {gain.reason}"
    return replace(gain, verdict=combine(judged[name].verdict for name in DEMANDS), reason=told)


def _judge_gain(candidate: Measures, baseline: Measures, config: ClaimsConfig, count: int) -> Judgement:
    new, old = candidate[config.primary], baseline[config.primary]
    found = judge(
        _gain(new, old),
        "at least",
        config.min_gain_ratio,
        unit=UNIT,
        count=count,
        needed=config.min_jobs,
        what=f"gain in {config.primary}",
    )
    if found.verdict is Verdict.NOT_ASSESSED or new is None or old is None:
        return found
    return replace(
        found,
        reason=f"{config.primary} is {in_figures(new)}, {_against(new, old)} the baseline's "
        f"{in_figures(old)} (a gain of at least {in_figures(100 * config.min_gain_ratio)} % is needed)",
    )


def _against(new: float, old: float) -> str:
    """How a number compares with another, in the words that come before it."""
    if new == old:
        return "like"
    if new >= 2 * old:
        return f"{new / old:,.3g} times" if new < 1000 * old else f"{new / old:,.0f} times"
    return f"{in_figures(100 * abs(1 - new / old))} % {'above' if new > old else 'below'}"


def _gain(candidate: float | None, baseline: float | None) -> float | None:
    """By what share of the baseline the candidate is smaller; bounded slowdowns are never below 1."""
    return None if candidate is None or baseline is None else 1.0 - candidate / baseline


def _below(baseline: float | None, drop: float) -> float | None:
    return None if baseline is None else baseline - drop


def _beside(key: str, baseline: Measures) -> str:
    return f" (baseline {in_figures(baseline[key])})"
