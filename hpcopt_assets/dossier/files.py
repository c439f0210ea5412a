"""A dossier as files: written beside, then swapped in, so that a reader never sees half of one.

In:  a folder and a Dossier.   Out: files, and `DossierPaths`.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.dossier.finished import Dossier
from hpcopt_assets.dossier.markdown import FIGURES_FOLDER

MARKDOWN_NAME, HTML_NAME, JSON_NAME = "dossier.md", "dossier.html", "dossier.json"
OURS = {MARKDOWN_NAME, HTML_NAME, JSON_NAME, FIGURES_FOLDER}


class DossierPaths(NamedTuple):
    """Where a dossier's files are; `figures` is a folder."""

    html: Path
    markdown: Path
    json: Path
    figures: Path


def write_dossier(folder: Path, dossier: Dossier) -> DossierPaths:
    """Write dossier.md, .html, .json and figures/*.svg as the whole content of `folder`.

    An earlier dossier there is replaced; InputError where the folder holds anything else.
    """
    _refuse_foreign(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as beside:
        new, old = Path(beside) / "new", Path(beside) / "old"
        (new / FIGURES_FOLDER).mkdir(parents=True)
        (new / MARKDOWN_NAME).write_text(dossier.markdown, encoding="utf-8")
        (new / HTML_NAME).write_text(dossier.html, encoding="utf-8")
        (new / JSON_NAME).write_text(dossier.json, encoding="utf-8")
        for name, svg in dossier.figures.items():
            (new / FIGURES_FOLDER / name).write_text(svg, encoding="utf-8")
        if folder.exists():
            folder.rename(old)
        try:
            new.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
        shutil.rmtree(old, ignore_errors=True)
    names = (HTML_NAME, MARKDOWN_NAME, JSON_NAME, FIGURES_FOLDER)
    return DossierPaths(*(folder / name for name in names))


def _refuse_foreign(folder: Path) -> None:
    if not folder.exists():
        return
    found = {folder.name} if not folder.is_dir() else {path.name for path in folder.iterdir()} - OURS
    if found:
        raise InputError(
            found=f"{', '.join(sorted(found)[:3])} where the dossier is to stand",
            needed="a new or empty folder, or one that holds an earlier dossier and nothing else",
            where=str(folder),
            next_step="Choose another folder.",
        )
