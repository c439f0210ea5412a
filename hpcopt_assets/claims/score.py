"""The weighted score of a candidate: one number, for diagnosis only; no verdict reads it.

In:  measures of candidate and baseline over the steady window.   Out: a number.
"""

from __future__ import annotations

from hpcopt_assets.contracts.config import ScoreWeights
from hpcopt_assets.measures.summary import Measures
from hpcopt_assets.measures.unknown import less, over


def weighted_score(candidate: Measures, baseline: Measures, weights: ScoreWeights) -> float | None:
    """Relative fall of p95_bsld, plus what utilisation gains, less what jain_service loses, each weighed.

    None where a measure is unknown. More is better; the baseline has 0.
    """
    sooner = over(less(baseline["p95_bsld"], candidate["p95_bsld"]), baseline["p95_bsld"])
    fuller = less(candidate["utilisation_ratio"], baseline["utilisation_ratio"])
    unfairer = less(baseline["jain_service"], candidate["jain_service"])
    if sooner is None or fuller is None or unfairer is None:
        return None
    return (
        weights.p95_bsld * sooner + weights.utilisation * fuller - weights.jain_service * max(0.0, unfairer)
    )
