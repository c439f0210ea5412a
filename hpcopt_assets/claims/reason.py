"""A claim in words.

In:  one judgement per criterion, the outcome.   Out: the reason of the row `overall`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcopt_assets.claims.outcome import CONDITIONS, JUDGED
from hpcopt_assets.contracts.verdicts import NOT_MODELLED, SYNTHETIC, Judgement
from hpcopt_assets.contracts.vocabulary import ClaimCriterion, Outcome, Verdict

BOUND = "a bound, never a candidate"
SAID_BEFORE = (ClaimCriterion.PRIMARY_GAIN, ClaimCriterion.BASELINE_FIDELITY)


def claim_in_words(
    judged: Mapping[ClaimCriterion, Judgement],
    outcome: Outcome | None,
    *,
    is_bound: bool,
    is_synthetic: bool,
) -> str:
    """What limits every claim on this trace first, then the outcome with its reasons, then what is open."""
    said = [SYNTHETIC] if is_synthetic else []
    gain = judged[ClaimCriterion.PRIMARY_GAIN].reason
    if is_bound:
        said.append(f"It knows what no scheduler can know: {gain}.")
        return " ".join([*said, NOT_MODELLED])
    fidelity = judged[ClaimCriterion.BASELINE_FIDELITY]
    if fidelity.verdict is not Verdict.PASS:
        said.append(
            "At most CONDITIONAL: the baseline's replay is not shown to be like what was observed "
            f"({fidelity.reason})."
        )
    if outcome is Outcome.BLOCKED:
        failed = [criterion for criterion in JUDGED if judged[criterion].verdict is Verdict.FAIL]
        said.append(f"{outcome} by {_list(failed, judged)}.")
    else:
        said.append(f"{outcome or 'No outcome'}: {gain}.")
        still_open = [
            criterion
            for criterion in (*(JUDGED if outcome else ()), *CONDITIONS)
            if judged[criterion].verdict is not Verdict.PASS and criterion not in SAID_BEFORE
        ]
        said += [f"Open: {_list(still_open, judged)}."] if still_open else []
    return " ".join([*said, NOT_MODELLED])


def _list(criteria: Iterable[ClaimCriterion], judged: Mapping[ClaimCriterion, Judgement]) -> str:
    return "; ".join(f"{criterion} ({judged[criterion].reason})" for criterion in criteria)
