"""A claim in words.

In:  one judgement per criterion, the outcome.   Out: the reason of the row `overall`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcopt_assets.claims.outcome import CONDITIONS
from hpcopt_assets.contracts.sentences import NOT_MODELLED_IN_SHORT, SYNTHETIC
from hpcopt_assets.contracts.verdicts import Judgement
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion, Outcome, Verdict

BOUND = "a bound, never a candidate"
CONFIRMING = (ClaimCriterion.SHAKEN_GAIN, ClaimCriterion.SHAKEN_DEMANDS, ClaimCriterion.CONFIRMATION)
SAID_BEFORE = (ClaimCriterion.PRIMARY_GAIN, ClaimCriterion.BASELINE_FIDELITY)


def claim_in_words(
    judged: Mapping[ClaimCriterion, Judgement],
    outcome: Outcome | None,
    *,
    is_bound: bool,
    is_synthetic: bool,
) -> str:
    """A refuted claim says why it is refuted first; any other what limits every claim on this trace."""
    said = [SYNTHETIC] if is_synthetic else []
    gain = judged[ClaimCriterion.PRIMARY_GAIN].reason
    fidelity = judged[ClaimCriterion.BASELINE_FIDELITY]
    is_alike = fidelity.verdict is Verdict.PASS
    caveat = f"the baseline's replay is not shown to be like what was observed ({fidelity.reason})."
    if is_bound:
        said.append(f"It knows what no scheduler can know: {gain}.")
    elif outcome is Outcome.BLOCKED:
        failed = [criterion for criterion in DEMANDS if judged[criterion].verdict is Verdict.FAIL]
        said.append(f"{outcome} by {_list(failed, judged)}.")
        said += [] if is_alike else [f"Besides, {caveat}"]
    else:
        said += [] if is_alike else [f"At most {Outcome.CONDITIONAL}: {caveat}"]
        said.append(f"{outcome or 'No outcome'}: {gain}.")
        if all(judged[criterion].verdict is Verdict.PASS for criterion in CONFIRMING):
            said.append(f"Confirmed: {_list(CONFIRMING, judged)}.")
        still_open = [
            criterion
            for criterion in (*(DEMANDS if outcome else ()), *CONDITIONS)
            if judged[criterion].verdict is not Verdict.PASS and criterion not in SAID_BEFORE
        ]
        said += [f"Open: {_list(still_open, judged)}."] if still_open else []
    return " ".join([*said, NOT_MODELLED_IN_SHORT])


def _list(criteria: Iterable[ClaimCriterion], judged: Mapping[ClaimCriterion, Judgement]) -> str:
    return "; ".join(f"{criterion} ({judged[criterion].reason})" for criterion in criteria)
