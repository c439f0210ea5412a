"""Chapters across traces: what survives, what is recommended, failure modes.

In:  AcrossEvidence.   Out: blocks.
"""

from __future__ import annotations

from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION
from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion, Outcome, Verdict
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.across import AcrossEvidence
from hpcopt_assets.dossier.blocks import Block, Column, Heading, Kind, Paragraph, Table
from hpcopt_assets.dossier.survival import Survival, survival

NO_EVIDENCE = "no evidence"


def told_outcome(evidence: AcrossEvidence, trace: str, policy: str) -> str:
    """The outcome of a claim, NOT_ASSESSED where it has none, or that there is no evidence."""
    row = evidence.claim(trace, policy)
    return NO_EVIDENCE if row is None else row["outcome"] or Verdict.NOT_ASSESSED.value


def fates(evidence: AcrossEvidence, policy: str) -> dict[Survival, list[str]]:
    """The traces by what becomes of a candidate's gain; those without evidence cannot be told."""
    found: dict[Survival, list[str]] = {word: [] for word in Survival}
    for trace in evidence.traces:
        row = evidence.change(trace, policy)
        found[Survival.UNKNOWN if row is None else survival(row)].append(trace)
    return found


def recommended(evidence: AcrossEvidence) -> list[Block]:
    """What is recommended on each trace, or why nothing is; and which policies no other beats in all."""
    lines = []
    for trace in evidence.traces:
        rows = evidence.rows(trace, RECOMMENDATION.name)
        said = next((row["reason"] for row in rows if row["is_baseline"]), NO_EVIDENCE)
        best = ", ".join(row["policy"] for row in rows if row["is_recommended"])
        front = ", ".join(row["policy"] for row in rows if row["is_on_front"])
        lines.append((trace, *((best or "none", said, front or "none") if rows else (NO_EVIDENCE,) * 3)))
    columns = (Column("trace"), Column("recommended"), Column("why"), Column("on the front"))
    caption = (
        "Recommended: the best candidate that passes everything. On the front: no policy is at least as good "
        "in all of p95 bounded slowdown, mean wait, utilisation, Jain's index of service and starved jobs, "
        "and better in one; being there is no recommendation."
    )
    return [
        Heading(2, "What is recommended?"),
        Table(caption, columns, tuple(lines), (RECOMMENDATION.name,)),
    ]


def survivors(evidence: AcrossEvidence) -> list[Block]:
    """For each candidate, on how many traces its gain survives, and what it amounts to."""
    columns = (
        Column("policy"),
        *(Column(f"{word.value} (traces)", Kind.NUMBER) for word in Survival),
        *(Column(f"{outcome.value} (traces)", Kind.NUMBER) for outcome in Outcome),
    )
    rows = []
    for policy in evidence.candidates:
        outcomes = [told_outcome(evidence, trace, policy) for trace in evidence.traces]
        counts = (str(len(traces)) for traces in fates(evidence, policy).values())
        rows.append((policy, *counts, *(str(outcomes.count(outcome.value)) for outcome in Outcome)))
    caption = f"Of {len(evidence.traces)} traces, on how many the gain survives, and how the claim came out."
    return [
        Heading(2, "What survives across traces"),
        Table(caption, columns, tuple(rows), (ROBUSTNESS.name, CLAIM_VERDICTS.name)),
    ]


def failure_modes(evidence: AcrossEvidence) -> list[Block]:
    """Which candidates broke which demand where, and what was not shown; a row a criterion and trace."""
    rows = []
    for criterion in (*DEMANDS, *(each for each in ClaimCriterion if each not in DEMANDS)):
        if criterion is ClaimCriterion.OVERALL:
            continue
        for trace in evidence.traces:
            judged = evidence.rows(trace, CLAIM_VERDICTS.name, criterion=criterion)
            by_verdict = {
                verdict: [
                    row["policy"]
                    for row in judged
                    if row["verdict"] == verdict and row["policy"] in evidence.candidates
                ]
                for verdict in (Verdict.FAIL.value, Verdict.NOT_ASSESSED.value)
            }
            if any(by_verdict.values()):
                kind = "demand on the candidate" if criterion in DEMANDS else "demand on the evidence"
                told = (_named(policies, evidence) for policies in by_verdict.values())
                rows.append((words.CLAIM[criterion], kind, trace, *told))
    columns = (
        Column("criterion"),
        Column("what it is"),
        Column("trace"),
        Column("FAIL"),
        Column("NOT_ASSESSED"),
    )
    heading = Heading(2, "Failure modes: who broke what, where")
    if not rows:
        return [heading, Paragraph("No candidate failed a criterion on any trace.")]
    caption = "Criteria that were not passed, with the candidates that did not pass them."
    return [heading, _without_gain(evidence), Table(caption, columns, tuple(rows), (CLAIM_VERDICTS.name,))]


def _named(policies: list[str], evidence: AcrossEvidence) -> str:
    if len(policies) == len(evidence.candidates) > 1:
        return "every candidate"
    return ", ".join(policies) or "none"


def _without_gain(evidence: AcrossEvidence) -> Paragraph:
    none = [trace for trace in evidence.traces if is_without_improvement(evidence, trace)]
    return Paragraph(
        f"Traces on which no candidate's claim is ACCEPTED or CONDITIONAL: {', '.join(none) or 'none'}."
    )


def is_without_improvement(evidence: AcrossEvidence, trace: str) -> bool:
    """Whether claims were judged there, and none of them is better than BLOCKED."""
    told = [told_outcome(evidence, trace, policy) for policy in evidence.candidates]
    improved = (Outcome.ACCEPTED.value, Outcome.CONDITIONAL.value)
    return any(word != NO_EVIDENCE for word in told) and not any(word in improved for word in told)
