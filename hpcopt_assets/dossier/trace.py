"""The dossier of one trace.

In:  TraceEvidence.   Out: `Dossier`: the same content as Markdown with figures, and as one HTML page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from hpcopt_assets.dossier import accounts, comparisons
from hpcopt_assets.dossier.blocks import Document, Heading
from hpcopt_assets.dossier.evidence import TraceEvidence
from hpcopt_assets.dossier.html import page
from hpcopt_assets.dossier.lineage import lineage
from hpcopt_assets.dossier.markdown import markdown
from hpcopt_assets.dossier.pictures import pictures
from hpcopt_assets.dossier.summary import summary


@dataclass(frozen=True)
class Dossier:
    """A finished document.

    `markdown` names its figures as `figures/<file name>`; `figures` maps file name to SVG text; `html` holds
    everything. `substance_sha256` covers text and figures, and leaves the lineage chapter out.
    """

    trace_id: str
    markdown: str
    html: str
    figures: Mapping[str, str]
    substance_sha256: str


def build_trace_dossier(evidence: TraceEvidence) -> Dossier:
    """Same evidence, same bytes. EvidenceError where a policy, a table or a version does not fit."""
    document = compose(evidence)
    return Dossier(
        trace_id=evidence.trace_id,
        markdown=markdown(document.blocks),
        html=page(document.title, document.blocks),
        figures=document.figures,
        substance_sha256=_sha256(document),
    )


def compose(evidence: TraceEvidence) -> Document:
    """The content, before it takes a format."""
    title = f"Trace dossier: {evidence.trace_id}"
    substance = [
        Heading(1, title),
        *summary(evidence),
        *comparisons.at_a_glance(evidence),
        *pictures(evidence),
        *comparisons.claims(evidence),
        *comparisons.fidelity(evidence),
        *accounts.not_modelled(),
        *accounts.what_was_read(evidence),
        *accounts.left_out(evidence),
        *comparisons.invariants(evidence),
        *comparisons.every_measure(evidence),
        *accounts.configuration(evidence),
    ]
    return Document(title, tuple(substance), tuple(lineage(evidence)))


def _sha256(document: Document) -> str:
    digest = hashlib.sha256(markdown(document.substance).encode())
    for file_name, svg in sorted(document.figures.items()):
        digest.update(f"\0{file_name}\0{svg}".encode())
    return digest.hexdigest()
