"""The dossier of one trace.

In:  TraceEvidence.   Out: `Dossier`: the same content in every format.
"""

from __future__ import annotations

from collections.abc import Callable

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.dossier import accounts, comparisons
from hpcopt_assets.dossier.advice import recommended
from hpcopt_assets.dossier.blocks import Block, Document, Heading, Paragraph, Tone
from hpcopt_assets.dossier.errors import errors_in_evidence
from hpcopt_assets.dossier.evidence import TraceEvidence
from hpcopt_assets.dossier.finished import Dossier, finish
from hpcopt_assets.dossier.forecasts import forecasts
from hpcopt_assets.dossier.lineage import lineage
from hpcopt_assets.dossier.periods import closest, quarters
from hpcopt_assets.dossier.pictures import pictures
from hpcopt_assets.dossier.robustness import robustness
from hpcopt_assets.dossier.summary import summary

CHAPTERS: tuple[tuple[str, Callable[[TraceEvidence], list[Block]]], ...] = (
    ("Policies at a glance", comparisons.at_a_glance),
    ("Which gains survive another day?", robustness),
    ("What is recommended?", recommended),
    ("Figures", pictures),
    ("Is another policy better than the baseline?", comparisons.claims),
    ("Is a replay like what was observed?", comparisons.fidelity),
    ("Is it like the record in every quarter?", quarters),
    ("Which policy's replay is closest?", closest),
    ("How good are the forecasts of runtimes?", forecasts),
    ("What is not modelled", accounts.not_modelled),
    ("What was read", accounts.what_was_read),
    ("What was left out, and why", accounts.left_out),
    ("Did the replays keep the rules?", comparisons.invariants),
    ("Every measure", comparisons.every_measure),
    ("Configuration", accounts.configuration),
)
# In reading order; the title stands where the chapter cannot.


def build_trace_dossier(evidence: TraceEvidence) -> Dossier:
    """Same evidence, same bytes. A chapter whose evidence cannot be read says so in its place."""
    return finish(evidence.trace_id, compose(evidence))


def compose(evidence: TraceEvidence) -> Document:
    """The content, before it takes a format."""
    title = f"Trace dossier: {evidence.trace_id}"
    substance = [
        Heading(1, title),
        *errors_in_evidence(evidence.errors),
        *summary(evidence),
        *(block for name, make in CHAPTERS for block in _chapter(name, make, evidence)),
    ]
    return Document(title, tuple(substance), tuple(lineage(evidence)))


def _chapter(
    title: str, make: Callable[[TraceEvidence], list[Block]], evidence: TraceEvidence
) -> list[Block]:
    try:
        return make(evidence)
    except EvidenceError as error:
        told = f"ERROR: this chapter cannot be told. {error}"
        return [Heading(2, title), Paragraph(told, Tone.ERROR)]
