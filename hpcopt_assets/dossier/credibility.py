"""The dossier over all traces: what can be believed, and why.

In:  AcrossEvidence.   Out: `Dossier`.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from hpcopt_assets.contracts.dossier_file import DossierKind
from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION
from hpcopt_assets.contracts.sentences import NOT_MODELLED, plural
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS, FIDELITY_VERDICTS, INGEST_REPORT
from hpcopt_assets.contracts.vocabulary import WHOLE, ClaimCriterion, FidelityCriterion, Outcome, Verdict
from hpcopt_assets.dossier.across import OF_PLACEMENT, OF_TRACES, AcrossEvidence
from hpcopt_assets.dossier.blocks import (
    Block,
    Bullets,
    Column,
    Document,
    Heading,
    Item,
    Kind,
    Link,
    Links,
    Paragraph,
    Table,
    Tone,
)
from hpcopt_assets.dossier.cards import data_cards, likeness, model_cards, placement
from hpcopt_assets.dossier.data import Behind
from hpcopt_assets.dossier.errors import errors_in_evidence
from hpcopt_assets.dossier.finished import Dossier, finish
from hpcopt_assets.dossier.gains import gains
from hpcopt_assets.dossier.hardship import sensitivity, stress
from hpcopt_assets.dossier.lineage import lineage
from hpcopt_assets.dossier.survival import Survival
from hpcopt_assets.dossier.survivors import (
    failure_modes,
    fates,
    is_without_improvement,
    recommended,
    survivors,
    told_outcome,
)

NAME = "credibility"
TITLE = "Credibility dossier"
CHAPTERS = (
    gains,
    survivors,
    recommended,
    failure_modes,
    likeness,
    sensitivity,
    stress,
    data_cards,
    model_cards,
    placement,
)


def build_credibility_dossier(evidence: AcrossEvidence) -> Dossier:
    """Same evidence, same bytes."""
    return finish(DossierKind.CREDIBILITY, NAME, compose(evidence), behind(evidence))


def compose(evidence: AcrossEvidence) -> Document:
    """The content, before it takes a format."""
    substance = [
        Heading(1, TITLE),
        *errors_in_evidence(evidence.errors),
        *_summary(evidence),
        *_missing(evidence),
        *(block for chapter in CHAPTERS for block in chapter(evidence)),
        Heading(2, "What is not modelled"),
        Bullets(tuple(Item(f"{lead}:", text) for lead, text in NOT_MODELLED)),
        *_links(evidence),
    ]
    return Document(TITLE, tuple(substance), tuple(lineage(behind(evidence))))


def behind(evidence: AcrossEvidence) -> Behind:
    """What stands behind the document: data of every trace, decisions, lineage."""
    tables = [
        (f"{table.name}/{trace}", table, evidence.tables[trace][table.name])
        for table in OF_TRACES
        for trace in evidence.traces
        if table.name in evidence.tables.get(trace, {})
    ]
    once = [
        (table.name, table, evidence.placement[table.name])
        for table in OF_PLACEMENT
        if table.name in evidence.placement
    ]
    return Behind(
        tables=[*tables, *once],
        errors=evidence.errors,
        configuration=evidence.decisions,
        seeds=evidence.seeds,
        sources=evidence.sources,
        lineage=evidence.lineage,
        environment=evidence.environment,
        generated_at=evidence.generated_at,
    )


def _summary(evidence: AcrossEvidence) -> list[Block]:
    if not evidence.traces:
        return [Paragraph("No trace was taken through the graph: nothing can be told.", Tone.CAVEAT)]
    told = (_advised, _survive, _outcomes, _alike, _what)
    return [Bullets(tuple(make(evidence) for make in told))]


def _survive(evidence: AcrossEvidence) -> Item:
    told = [
        trace
        for trace in evidence.traces
        if any(evidence.change(trace, policy) for policy in evidence.candidates)
    ]
    everywhere, somewhere, nowhere = [], [], []
    for policy in evidence.candidates:
        both = fates(evidence, policy)[Survival.BOTH]
        if both and len(both) == len(told):
            everywhere.append(policy)
        elif both:
            somewhere.append(f"{policy} ({len(both)} of {len(told)})")
        else:
            nowhere.append(policy)
    text = (
        "A lower 95th percentile of bounded slowdown that is still there when the trace is shaken and when "
        f"other weeks are drawn: on all of {plural(len(told), 'trace')} that could be told under "
        f"{', '.join(everywhere) or 'no candidate'}; on some under {', '.join(somewhere) or 'no other'}; on "
        f"none under {', '.join(nowhere) or 'no other'}. A gain that survives may be paid for by others and "
        f"is no recommendation.{_growing(evidence)}{_untold(evidence, told)}"
    )
    return Item("What survives.", text)


def _growing(evidence: AcrossEvidence) -> str:
    """Under whom a queue keeps growing, so that its measures are of no steady state."""
    found = {
        policy: [
            trace
            for trace in evidence.traces
            for row in evidence.rows(
                trace, CLAIM_VERDICTS.name, policy=policy, criterion=ClaimCriterion.SATURATION
            )
            if row["verdict"] == Verdict.FAIL.value
        ]
        for policy in evidence.candidates
    }
    told = "; ".join(f"{policy} (on {', '.join(traces)})" for policy, traces in found.items() if traces)
    return f" The queue keeps growing, so that nothing is steady, under {told}." if told else ""


def _advised(evidence: AcrossEvidence) -> Item:
    """What to do: which switch is recommended where."""
    found = [
        f"{row['policy']} on {trace}"
        for trace in evidence.traces
        for row in evidence.rows(trace, RECOMMENDATION.name)
        if row["is_recommended"]
    ]
    told = (
        f"Recommended in place of {evidence.objective.claims.baseline}: {', '.join(found)}."
        if found
        else "On this evidence no switch of the scheduling policy is recommended on any of the traces."
    )
    return Item("What to do.", told)


def _untold(evidence: AcrossEvidence, told: Iterable[str]) -> str:
    rest = [trace for trace in evidence.traces if trace not in set(told)]
    return f" No evidence on {', '.join(rest)}." if rest else ""


def _outcomes(evidence: AcrossEvidence) -> Item:
    told = {
        outcome: [
            f"{policy} on {trace}"
            for policy in evidence.candidates
            for trace in evidence.traces
            if told_outcome(evidence, trace, policy) == outcome.value
        ]
        for outcome in (Outcome.ACCEPTED, Outcome.CONDITIONAL)
    }
    none = [trace for trace in evidence.traces if is_without_improvement(evidence, trace)]
    return Item(
        "What is accepted.",
        f"ACCEPTED: {', '.join(told[Outcome.ACCEPTED]) or 'none'}. CONDITIONAL: "
        f"{', '.join(told[Outcome.CONDITIONAL]) or 'none'}. "
        f"Traces with neither: {', '.join(none) or 'none'}.",
    )


def _alike(evidence: AcrossEvidence) -> Item:
    baseline = evidence.objective.claims.baseline
    verdicts = {
        trace: evidence.row(
            trace,
            FIDELITY_VERDICTS.name,
            policy=baseline,
            period=WHOLE,
            criterion=FidelityCriterion.OVERALL,
        )
        for trace in evidence.traces
    }
    told = {trace: row["verdict"] for trace, row in verdicts.items() if row is not None}
    alike = [trace for trace, verdict in told.items() if verdict == Verdict.PASS.value]
    return Item(
        "Is the replay like the record?",
        f"The replay of {baseline} is like the record on {len(alike)} of {plural(len(told), 'trace')}"
        f"{': ' + ', '.join(alike) if alike else ''}.{_untold(evidence, told)}",
    )


def _what(evidence: AcrossEvidence) -> Item:
    synthetic = [
        trace
        for trace in evidence.traces
        if (facts := evidence.row(trace, INGEST_REPORT.name)) and facts["is_synthetic"]
    ]
    return Item(
        "Evidence.",
        f"{plural(len(evidence.traces), 'trace')}: {', '.join(evidence.traces)}. Synthetic, with no machine "
        f"behind: {', '.join(synthetic) or 'none'}. {plural(len(evidence.missing), 'table')} missing, "
        f"{plural(len(evidence.errors), 'error')} in the evidence.",
    )


def _missing(evidence: AcrossEvidence) -> list[Block]:
    if not evidence.missing:
        return []
    columns = (Column("asset", Kind.CODE), Column("trace"))
    rows = tuple((item.asset, item.partition or "none") for item in evidence.missing)
    return [
        Heading(2, "What is missing"),
        Paragraph(
            "These were never made. Whatever rests on them is not told below, and is no verdict.", Tone.CAVEAT
        ),
        Table("Tables that were never made.", columns, rows),
    ]


def _links(evidence: AcrossEvidence) -> list[Block]:
    links = tuple(Link(trace, f"../{quote(trace)}/dossier.html") for trace in evidence.traces)
    if not links:
        return []
    return [
        Heading(2, "The dossiers of the traces"),
        Paragraph("Beside this file; each has every criterion with its reason, figures and lineage."),
        Links(links),
    ]
