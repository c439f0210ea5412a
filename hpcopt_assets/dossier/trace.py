"""The dossier of one trace.

In:  TraceEvidence.   Out: `Dossier`: the same content in every format.
"""

from __future__ import annotations

from collections.abc import Callable

from hpcopt_assets.contracts.dossier_file import DossierKind
from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.tables import RAW_TRACE, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets.dossier import accounts, comparisons
from hpcopt_assets.dossier.advice import recommended
from hpcopt_assets.dossier.blocks import Block, Document, Heading, Paragraph, Tone
from hpcopt_assets.dossier.data import Behind
from hpcopt_assets.dossier.errors import errors_in_evidence
from hpcopt_assets.dossier.evidence import READ, TraceEvidence
from hpcopt_assets.dossier.finished import Dossier, finish
from hpcopt_assets.dossier.forecasts import forecasts
from hpcopt_assets.dossier.lineage import lineage
from hpcopt_assets.dossier.periods import closest, quarters
from hpcopt_assets.dossier.pictures import pictures
from hpcopt_assets.dossier.robustness import robustness
from hpcopt_assets.dossier.summary import summary
from hpcopt_assets.dossier.trials import sensitivity, stress

CHAPTERS: tuple[tuple[str, Callable[[TraceEvidence], list[Block]]], ...] = (
    ("Policies at a glance", comparisons.at_a_glance),
    ("Which gains survive another day?", robustness),
    ("What is recommended?", recommended),
    ("Figures", pictures),
    ("Is another policy better than the baseline?", comparisons.claims),
    ("Is a replay like what was observed?", comparisons.fidelity),
    ("Is it like the record in every quarter?", quarters),
    ("Which policy's replay is closest?", closest),
    ("Does a verdict hang on one decision?", sensitivity),
    ("What if the workload were another?", stress),
    ("How good are the forecasts of runtimes?", forecasts),
    ("What is not modelled", accounts.not_modelled),
    ("What was read", accounts.what_was_read),
    ("What was left out, and why", accounts.left_out),
    ("Did the replays keep the rules?", comparisons.invariants),
    ("Every measure", comparisons.every_measure),
    ("Configuration", accounts.configuration),
)
# In reading order; the title stands where the chapter cannot.

OF_JOBS = (TRACE_JOBS, TRACE_REJECTS)
# A row a job or line: not among the data, which has what came of them.


def build_trace_dossier(evidence: TraceEvidence) -> Dossier:
    """Same evidence, same bytes. A chapter whose evidence cannot be read says so in its place."""
    return finish(DossierKind.TRACE, evidence.trace_id, compose(evidence), behind(evidence))


def behind(evidence: TraceEvidence) -> Behind:
    """What stands behind the document: data, decisions, lineage."""
    tables = [
        (table.name, table, evidence.tables[table.name])
        for table in READ
        if table.name in evidence.tables and table not in OF_JOBS
    ]
    sources = {evidence.trace_id: evidence.sources} if RAW_TRACE.name in evidence.tables else {}
    return Behind(
        tables=tables,
        errors=evidence.errors,
        configuration=evidence.decisions,
        seeds=evidence.seeds,
        sources=sources,
        lineage=evidence.lineage,
        environment=evidence.environment,
        generated_at=evidence.generated_at,
    )


def compose(evidence: TraceEvidence) -> Document:
    """The content, before it takes a format."""
    title = f"Trace dossier: {evidence.trace_id}"
    substance = [
        Heading(1, title),
        *errors_in_evidence(evidence.errors),
        *summary(evidence),
        *(block for name, make in CHAPTERS for block in _chapter(name, make, evidence)),
    ]
    return Document(title, tuple(substance), tuple(lineage(behind(evidence))))


def _chapter(
    title: str, make: Callable[[TraceEvidence], list[Block]], evidence: TraceEvidence
) -> list[Block]:
    try:
        return make(evidence)
    except EvidenceError as error:
        told = f"ERROR: this chapter cannot be told. {error}"
        return [Heading(2, title), Paragraph(told, Tone.ERROR)]
