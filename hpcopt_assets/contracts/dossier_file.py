"""dossier.json: a dossier's content as data, so that another program can check what people read.

In:  nothing.   Out: `DossierFile` and its parts.
Not here: what stands in one (dossier/).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from hpcopt_assets.contracts.frozen import Frozen

Scalar = bool | int | float | str | None
Cell = Scalar | list[Scalar]
# Not known is null; what is beyond all numbers is the word `infinite` or `minus infinite`.


class DossierKind(StrEnum):
    """What a dossier is about."""

    TRACE = "trace_dossier"
    CREDIBILITY = "credibility_dossier"


class HeadingPart(Frozen):
    """A heading; level 1 is the title."""

    kind: Literal["heading"] = "heading"
    level: int
    text: str


class ParagraphPart(Frozen):
    """Running text; `tone` is plain, caveat or error."""

    kind: Literal["paragraph"] = "paragraph"
    tone: str
    text: str


class Point(Frozen):
    """One point of a list: what it is about, and the point."""

    lead: str
    text: str


class PointsPart(Frozen):
    """A list of points."""

    kind: Literal["points"] = "points"
    points: tuple[Point, ...]


class TablePart(Frozen):
    """A table as people read it, numbers rounded and with their units in the column's name or the cell."""

    kind: Literal["table"] = "table"
    caption: str
    assets: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class FigurePart(Frozen):
    """A figure: its file under figures/, its bytes' SHA-256, and the assets that it is drawn from."""

    kind: Literal["figure"] = "figure"
    file_name: str
    sha256: str
    title: str
    caption: str
    assets: tuple[str, ...]


class LinkPart(Frozen):
    """A document beside this one, by its relative address."""

    text: str
    href: str


class LinksPart(Frozen):
    """A list of links."""

    kind: Literal["links"] = "links"
    links: tuple[LinkPart, ...]


Part = Annotated[
    HeadingPart | ParagraphPart | PointsPart | TablePart | FigurePart | LinksPart,
    Field(discriminator="kind"),
]


class DataColumn(Frozen):
    """A column of a table: its unit (null where it has none), type and meaning."""

    name: str
    unit: str | None
    type: str
    means: str


class DataTable(Frozen):
    """A table behind the dossier, every digit of it: rows in the order of the columns."""

    asset: str
    means: str
    key: tuple[str, ...]
    columns: tuple[DataColumn, ...]
    left_out: tuple[str, ...]
    # Columns that are not told: they are bytes.
    rows: tuple[tuple[Cell, ...], ...]


class ErrorPart(Frozen):
    """An artefact behind the dossier that cannot be read or is not what was recorded."""

    asset: str
    partition: str | None
    found: str
    needed: str


class SourcePart(Frozen):
    """A raw file: its trace, its path in data/raw, and its bytes' SHA-256."""

    trace_id: str
    source_file: str
    sha256: str


class InputPart(Frozen):
    """What an asset was made from."""

    asset: str
    data_version: str | None


class LineagePart(Frozen):
    """An asset as it was made: by which code and decisions, from what, and what came of it."""

    asset: str
    partition: str | None
    code_version: str | None
    data_version: str | None
    rows_count: int | None
    inputs: tuple[InputPart, ...]


class RecordPart(Frozen):
    """When an asset was made, and in which run."""

    asset: str
    partition: str | None
    record_id: int
    made_at: str
    run_id: str


class ProvenancePart(Frozen):
    """What differs between two runs of the same commit on the same inputs; nothing else in the file does.

    `pseudonyms` says which of the site's pseudonyms, as they stand on the page, a number in the file means.
    """

    generated_at: str
    records: tuple[RecordPart, ...]
    pseudonyms: dict[str, str]
    environment: dict[str, str]


class DossierFile(Frozen):
    """A dossier as data. `substance_sha256` is over everything before it."""

    format_version: Literal[1] = 1
    kind: DossierKind
    name: str
    title: str
    errors: tuple[ErrorPart, ...]
    content: tuple[Part, ...]
    tables: tuple[DataTable, ...]
    configuration: dict[str, Any]
    seeds: dict[str, int]
    sources: tuple[SourcePart, ...]
    substance_sha256: str
    lineage: tuple[LineagePart, ...]
    provenance: ProvenancePart
