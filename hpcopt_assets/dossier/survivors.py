"""Chapters across traces: gains, what survives, what is recommended, failure modes.

In:  AcrossEvidence.   Out: blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION
from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion, Outcome, Verdict
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.across import AcrossEvidence
from hpcopt_assets.dossier.blocks import Block, Column, Figure, Heading, Kind, Paragraph, Table
from hpcopt_assets.dossier.numbers import share, signed, span
from hpcopt_assets.dossier.survival import Survival, relative, survival
from hpcopt_assets.plots.verdicts import verdict_grid

NO_EVIDENCE = "no evidence"
LOOKS = {
    Outcome.ACCEPTED.value: ("A", "#a6dcc8"),
    Outcome.CONDITIONAL.value: ("C", "#f7e8a0"),
    Outcome.BLOCKED.value: ("B", "#f3c19b"),
    Verdict.NOT_ASSESSED.value: ("\N{EN DASH}", "#ffffff"),
    NO_EVIDENCE: ("?", "#ffffff"),
}


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


def gains(evidence: AcrossEvidence) -> list[Block]:
    """Outcomes at a glance, then each candidate on each trace with both intervals."""
    heading = Heading(2, "Gains, policy by trace")
    if not evidence.traces or not evidence.candidates:
        return [heading, Paragraph("There is no trace, or no candidate: nothing can be told.")]
    drawing = verdict_grid(
        [
            [told_outcome(evidence, trace, policy) for trace in evidence.traces]
            for policy in evidence.candidates
        ],
        rows=evidence.candidates,
        columns=evidence.traces,
        looks=LOOKS,
        file_name="outcomes.svg",
        title="Outcome of each candidate on each trace",
        caption=(
            "A: ACCEPTED, C: CONDITIONAL, B: BLOCKED, dash: could not be assessed, ?: no evidence. Against "
            f"{evidence.objective.claims.baseline}."
        ),
        x_label="trace",
    )
    figure = Figure(drawing.file_name, drawing.svg, drawing.title, drawing.caption, (CLAIM_VERDICTS.name,))
    baseline = evidence.objective.claims.baseline
    explained = Paragraph(
        f"A candidate's change of the 95th percentile of bounded slowdown, less {baseline}'s: below zero is "
        "better. Bounded slowdown is a job's (wait + runtime) / runtime, the runtime being at least "
        f"{evidence.objective.measures.tau_s} s: by what factor waiting stretched it. A gain survives where "
        "the whole interval lies below zero: over replicas of the trace shaken a little, and over its weeks "
        "drawn anew. ACCEPTED asks for more: that fairness, starvation and utilisation are kept, that the "
        "candidate was chosen on the first part of the record and confirmed on the rest, and that the "
        "baseline's replay is like the record."
    )
    return [heading, explained, figure, *(_of(evidence, policy) for policy in evidence.candidates)]


def _of(evidence: AcrossEvidence, policy: str) -> Table:
    columns = (
        Column("trace"),
        Column("change as replayed (ratio)", Kind.NUMBER),
        Column("of the baseline's", Kind.NUMBER),
        Column("shaken (ratio)", Kind.NUMBER),
        Column("other weeks (ratio)", Kind.NUMBER),
        Column("the gain"),
        Column("outcome", Kind.VERDICT),
    )
    rows = []
    for trace in evidence.traces:
        row = evidence.change(trace, policy)
        numbers: Sequence[str] = [NO_EVIDENCE] * 4
        if row is not None:
            numbers = (
                signed(row["difference"]),
                share(relative(row["difference"], row["baseline_value"]), is_change=True),
                span(row["lower"], row["upper"]),
                span(row["block_lower"], row["block_upper"]),
            )
        fate = Survival.UNKNOWN if row is None else survival(row)
        rows.append((trace, *numbers, fate.value, told_outcome(evidence, trace, policy)))
    return Table(f"{policy}, steady window.", columns, tuple(rows), (ROBUSTNESS.name, CLAIM_VERDICTS.name))


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
