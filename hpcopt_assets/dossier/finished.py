"""A finished dossier: one document in every format.

In:  Document, what stands behind it.   Out: `Dossier`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hpcopt_assets.contracts.dossier_file import DossierKind
from hpcopt_assets.dossier.blocks import Document
from hpcopt_assets.dossier.data import Behind, as_data, as_json
from hpcopt_assets.dossier.html import page
from hpcopt_assets.dossier.markdown import markdown


@dataclass(frozen=True)
class Dossier:
    """A finished document.

    `markdown` names its figures as `figures/<file name>`; `figures` maps file name to SVG text; `html` holds
    everything; `json` is the same content as data, with the tables behind it. `substance_sha256` covers what
    was found, and leaves out how and when it was made.
    """

    name: str
    markdown: str
    html: str
    json: str
    figures: Mapping[str, str]
    substance_sha256: str


def finish(kind: DossierKind, name: str, document: Document, behind: Behind) -> Dossier:
    """The document in every format: same document, same bytes."""
    data = as_data(kind, name, document, behind)
    return Dossier(
        name=name,
        markdown=markdown(document.blocks),
        html=page(document.title, document.blocks),
        json=as_json(data),
        figures=document.figures,
        substance_sha256=data.substance_sha256,
    )
