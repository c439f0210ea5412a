"""Which candidates are chosen on the first part of a trace, to be confirmed on the rest.

In:  measures of candidate and baseline over the window of selection.   Out: a judgement.
Not here: their confirmation (robustness.py, conditions.py).
"""

from __future__ import annotations

from hpcopt_assets.claims.criteria import judge_candidate
from hpcopt_assets.contracts.config import ClaimsConfig
from hpcopt_assets.contracts.verdicts import Judgement, combine
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion, Verdict
from hpcopt_assets.measures.summary import Measures


def judge_selection(candidate: Measures, baseline: Measures, config: ClaimsConfig) -> Judgement:
    """PASS where a candidate meets every demand on the first part alone; it is then chosen."""
    judged = judge_candidate(candidate, baseline, config)
    verdict = combine(judged[criterion].verdict for criterion in DEMANDS)
    gain = judged[ClaimCriterion.PRIMARY_GAIN]
    lacking = [
        f"{criterion} ({judged[criterion].reason})"
        for criterion in DEMANDS
        if judged[criterion].verdict is not Verdict.PASS
    ]
    told = (
        f"not chosen on the first part: {'; '.join(lacking)}"
        if lacking
        else f"chosen on the first part: {gain.reason}"
    )
    return Judgement(verdict, gain.measured, gain.limit, gain.unit, gain.count, told)
