"""What the verdicts on a claim amount to.

In:  one verdict per criterion.   Out: a verdict and an outcome.
"""

from __future__ import annotations

from collections.abc import Mapping

from hpcopt_assets.contracts.verdicts import combine
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion, Outcome, Verdict

CONDITIONS = tuple(
    criterion
    for criterion in ClaimCriterion
    if criterion not in DEMANDS and criterion is not ClaimCriterion.OVERALL
)
# What the evidence must be: without one the claim is neither shown nor refuted.


def overall_verdict(verdicts: Mapping[ClaimCriterion, Verdict]) -> Verdict:
    """The verdicts combined, where a condition that is not met counts as NOT_ASSESSED.

    A criterion that is missing is NOT_ASSESSED.
    """

    def found(criterion: ClaimCriterion) -> Verdict:
        return verdicts.get(criterion, Verdict.NOT_ASSESSED)

    conditions = (
        Verdict.PASS if found(criterion) is Verdict.PASS else Verdict.NOT_ASSESSED for criterion in CONDITIONS
    )
    return combine([*(found(criterion) for criterion in DEMANDS), *conditions])


def outcome_of(verdicts: Mapping[ClaimCriterion, Verdict]) -> Outcome | None:
    """BLOCKED where the claim is refuted, ACCEPTED where all is shown, CONDITIONAL where only the gain is.

    None where not even the gain could be assessed: then there is no claim that could hold on a condition.
    """
    overall = overall_verdict(verdicts)
    if overall is Verdict.FAIL:
        return Outcome.BLOCKED
    if overall is Verdict.PASS:
        return Outcome.ACCEPTED
    has_gain = verdicts.get(ClaimCriterion.PRIMARY_GAIN) is Verdict.PASS
    return Outcome.CONDITIONAL if has_gain else None
