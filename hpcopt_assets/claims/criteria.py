"""What the candidate must do: the primary gain and the constraints.

In:  the measures of candidate and baseline over the same jobs.   Out: one judgement per criterion.
Not here: whether the evidence suffices (conditions.py).
"""

from __future__ import annotations

from hpcopt_assets.contracts.config import ClaimsConfig
from hpcopt_assets.contracts.verdicts import Judgement, in_figures, judge
from hpcopt_assets.contracts.vocabulary import ClaimCriterion
from hpcopt_assets.measures.summary import Measures

UNIT = "ratio"


def judge_candidate(
    candidate: Measures, baseline: Measures, config: ClaimsConfig
) -> dict[ClaimCriterion, Judgement]:
    """The gain and each constraint over the steady window; fewer than `min_jobs` jobs are NOT_ASSESSED."""
    count = int(candidate["jobs_count"] or 0)
    return {
        ClaimCriterion.PRIMARY_GAIN: judge(
            _gain(candidate[config.primary], baseline[config.primary]),
            "at least",
            config.min_gain_ratio,
            unit=UNIT,
            count=count,
            needed=config.min_jobs,
            what=f"{config.primary} {in_figures(candidate[config.primary])} against "
            f"{in_figures(baseline[config.primary])} of the baseline, gain",
        ),
        ClaimCriterion.STARVED: judge(
            candidate["starved_ratio"],
            "at most",
            max(config.max_starved_ratio, baseline["starved_ratio"] or 0.0),
            unit=UNIT,
            count=count,
            needed=config.min_jobs,
            what=_beside("starved_ratio", baseline),
        ),
        ClaimCriterion.FAIRNESS: judge(
            candidate["jain_service"],
            "at least",
            _below(baseline["jain_service"], config.max_jain_service_drop),
            unit=UNIT,
            count=count,
            needed=config.min_jobs,
            what=_beside("jain_service", baseline),
        ),
        ClaimCriterion.UTILISATION: judge(
            candidate["utilisation_ratio"],
            "at least",
            _below(baseline["utilisation_ratio"], config.max_utilisation_drop),
            unit=UNIT,
            count=count,
            needed=config.min_jobs,
            what=_beside("utilisation_ratio", baseline),
        ),
    }


def _gain(candidate: float | None, baseline: float | None) -> float | None:
    """By what share of the baseline the candidate is smaller; bounded slowdowns are never below 1."""
    return None if candidate is None or baseline is None else 1.0 - candidate / baseline


def _below(baseline: float | None, drop: float) -> float | None:
    return None if baseline is None else baseline - drop


def _beside(key: str, baseline: Measures) -> str:
    return f"{key} (of the baseline {in_figures(baseline[key])})"
