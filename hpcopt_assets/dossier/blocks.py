"""The content of a document, before it is Markdown or HTML: a list of a few kinds of block.

In:  text, already formatted for people but not escaped.   Out: `Document`, which both renderers read.
Not here: any mark-up. What one format shows, the other shows, because neither adds content.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hpcopt_assets.contracts.vocabulary import Outcome, Verdict
from hpcopt_assets.plots.style import Drawing

VERDICT_WORDS = frozenset((*Verdict.words(), *Outcome.words()))
# Set off from other words in a verdict column; words, so that no colour is needed to read them.


class Tone(StrEnum):
    """How a paragraph is meant."""

    PLAIN = "plain"
    CAVEAT = "caveat"
    ERROR = "error"


class Kind(StrEnum):
    """What a table's column holds, which decides its alignment and type."""

    TEXT = "text"
    NUMBER = "number"
    CODE = "code"
    VERDICT = "verdict"


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the document's title."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Item:
    """One point of a list: what it is about, in a word or two with their full stop (or ""), and the point."""

    lead: str
    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of points."""

    items: tuple[Item, ...]


@dataclass(frozen=True)
class Column:
    """A table's column."""

    name: str
    kind: Kind = Kind.TEXT


@dataclass(frozen=True)
class Table:
    """A table with a caption; every row has one cell per column. `assets` are what its numbers stand in."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    assets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        uneven = [row for row in self.rows if len(row) != len(self.columns)]
        if uneven:
            raise ValueError(f"table {self.caption!r}: {len(self.columns)} columns, but a row is {uneven[0]}")


@dataclass(frozen=True)
class Figure:
    """A picture: file name without folder, SVG text, title, caption and the assets it is drawn from."""

    file_name: str
    svg: str
    title: str
    caption: str
    assets: tuple[str, ...] = ()

    @classmethod
    def of(cls, drawing: Drawing, *assets: str) -> Figure:
        """A drawing, and the assets it is drawn from."""
        return cls(drawing.file_name, drawing.svg, drawing.title, drawing.caption, assets)


@dataclass(frozen=True)
class Link:
    """A document beside this one: what it is called, and its relative address, already quoted."""

    text: str
    href: str


@dataclass(frozen=True)
class Links:
    """A list of links."""

    links: tuple[Link, ...]


Block = Heading | Paragraph | Bullets | Table | Figure | Links


def caption_of(block: Table | Figure) -> str:
    """The caption, and where in the lineage its numbers are found."""
    return f"{block.caption} From {', '.join(block.assets)}." if block.assets else block.caption


@dataclass(frozen=True)
class Document:
    """`substance` is what the evidence says; `lineage` is when, by what and from what it was made."""

    title: str
    substance: tuple[Block, ...]
    lineage: tuple[Block, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Everything, in reading order."""
        return (*self.substance, *self.lineage)

    @property
    def figures(self) -> dict[str, str]:
        """File name -> SVG text."""
        return {block.file_name: block.svg for block in self.blocks if isinstance(block, Figure)}
