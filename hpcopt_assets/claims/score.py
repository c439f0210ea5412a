"""The weighted score of a candidate: one number, for diagnosis only; no verdict reads it.

In:  measures of candidate and baseline over the steady window.   Out: a number.
"""

from __future__ import annotations

from hpcopt_assets.contracts.config import ScoreWeights
from hpcopt_assets.measures.summary import Measures


def weighted_score(candidate: Measures, baseline: Measures, weights: ScoreWeights) -> float | None:
    """Relative fall of p95_bsld, plus what utilisation gains, less what jain_service loses, each weighed.

    None where a measure is unknown. More is better; the baseline has 0.
    """
    gained = [_less(baseline, candidate, "p95_bsld"), _less(candidate, baseline, "utilisation_ratio")]
    lost, slowdown = _less(baseline, candidate, "jain_service"), baseline["p95_bsld"]
    if gained[0] is None or gained[1] is None or lost is None or slowdown is None:
        return None
    return (
        weights.p95_bsld * gained[0] / slowdown
        + weights.utilisation * gained[1]
        - weights.jain_service * max(0.0, lost)
    )


def _less(one: Measures, other: Measures, name: str) -> float | None:
    first, second = one[name], other[name]
    return None if first is None or second is None else first - second
