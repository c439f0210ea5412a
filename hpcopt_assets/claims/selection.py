"""Which candidates are chosen on the first part of a trace, to be confirmed on the rest.

In:  measures of candidate and baseline over the window of selection.   Out: a judgement.
Not here: their confirmation (robustness.py, conditions.py).
"""

from __future__ import annotations

from hpcopt_assets.claims.criteria import in_one, judge_candidate
from hpcopt_assets.contracts.config import ClaimsConfig
from hpcopt_assets.contracts.verdicts import Judgement
from hpcopt_assets.measures.summary import Measures


def judge_selection(candidate: Measures, baseline: Measures, config: ClaimsConfig) -> Judgement:
    """PASS where a candidate meets every demand on the first part alone; it is then chosen."""
    judged = judge_candidate(candidate, baseline, config)
    return in_one(judged, "chosen on the first part", "not chosen on the first part")
