"""A finished dossier: one document in every format.

In:  Document.   Out: `Dossier`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from hpcopt_assets.dossier.blocks import Document
from hpcopt_assets.dossier.html import page
from hpcopt_assets.dossier.markdown import markdown


@dataclass(frozen=True)
class Dossier:
    """A finished document.

    `markdown` names its figures as `figures/<file name>`; `figures` maps file name to SVG text; `html` holds
    everything. `substance_sha256` covers text and figures, and leaves the lineage chapter out.
    """

    name: str
    markdown: str
    html: str
    figures: Mapping[str, str]
    substance_sha256: str


def finish(name: str, document: Document) -> Dossier:
    """The document in every format: same document, same bytes."""
    return Dossier(
        name=name,
        markdown=markdown(document.blocks),
        html=page(document.title, document.blocks),
        figures=document.figures,
        substance_sha256=_sha256(document),
    )


def _sha256(document: Document) -> str:
    digest = hashlib.sha256(markdown(document.substance).encode())
    for file_name, svg in sorted(document.figures.items()):
        digest.update(f"\0{file_name}\0{svg}".encode())
    return digest.hexdigest()
