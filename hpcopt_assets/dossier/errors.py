"""Errors in the evidence: told before anything else, each by the name of what is not as it was recorded.

In:  ArtefactErrors.   Out: blocks; none where there is no error.
"""

from __future__ import annotations

from collections.abc import Sequence

from hpcopt_assets.contracts.lineage import ArtefactError
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.dossier.blocks import Block, Column, Heading, Kind, Paragraph, Table, Tone


def errors_in_evidence(errors: Sequence[ArtefactError]) -> list[Block]:
    """A heading, a warning, and a row an artefact."""
    if not errors:
        return []
    columns = (Column("artefact", Kind.CODE), Column("partition"), Column("found"), Column("needed"))
    rows = tuple((error.asset, error.partition or "none", error.found, error.needed) for error in errors)
    return [
        Heading(2, "Errors in the evidence"),
        Paragraph(
            f"ERROR: {plural(len(errors), 'artefact')} behind this dossier cannot be read as recorded. What "
            "rests on it is left out below, or can no longer be checked.",
            Tone.ERROR,
        ),
        Table("What is wrong.", columns, rows),
    ]
