"""Blocks as Markdown (GitHub's tables), readable as plain text. Figures are files under `figures/`.

In:  blocks.   Out: Markdown. Text is data: nothing in it can become mark-up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hpcopt_assets.dossier.blocks import (
    VERDICT_WORDS,
    Block,
    Bullets,
    Figure,
    Heading,
    Item,
    Kind,
    Links,
    Paragraph,
    Table,
    Tone,
    caption_of,
)

FIGURES_FOLDER = "figures"


def escape(text: str) -> str:
    """One line of plain text that no Markdown reader takes for mark-up."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    line = re.sub(r"&(?=[#\w]+;)", "&amp;", line).replace("<", "&lt;")
    line = re.sub(r"([\\`*\[\]|~$])", r"\\\1", line)
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", line)  # inside a word `_` is no emphasis


def markdown(blocks: Iterable[Block]) -> str:
    """All blocks, separated by blank lines."""
    return "\n\n".join(_block(block) for block in blocks) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {escape(text)}"
        case Paragraph(text, Tone.CAVEAT | Tone.ERROR):
            return f"> **{escape(text)}**"
        case Paragraph(text):
            return _opening(text)
        case Bullets(items):
            return "\n".join(f"- {_item(item)}" for item in items)
        case Links(links):
            return "\n".join(f"- [{escape(link.text)}]({link.href})" for link in links)
        case Table():
            return _table(block)
        case Figure(file_name=file_name, title=title):
            shown = f"![{escape(title)}]({FIGURES_FOLDER}/{file_name})"
            return f"{shown}\n\n*{escape(title)}.* {escape(caption_of(block))}"


def _opening(text: str) -> str:
    """Text that opens a line, where some signs and numbers would begin a list, a heading or a rule."""
    line = re.sub(r"^([#+=>-])", r"\\\1", escape(text))
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", line)


def _item(item: Item) -> str:
    return f"**{escape(item.lead)}** {escape(item.text)}" if item.lead else _opening(item.text)


def _table(table: Table) -> str:
    rules = ["---:" if column.kind is Kind.NUMBER else "---" for column in table.columns]
    lines = [[escape(column.name) for column in table.columns], rules]
    lines += [
        [_cell(text, column.kind) for text, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    return f"*{escape(caption_of(table))}*\n\n" + "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(text: str, kind: Kind) -> str:
    is_verdict = kind is Kind.VERDICT and text in VERDICT_WORDS
    return f"**{escape(text)}**" if is_verdict else escape(text)
