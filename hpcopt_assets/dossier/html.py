"""Blocks as one HTML page that needs nothing else: style and figures inside, no script, no request.

In:  a title and blocks.   Out: HTML. Text is data: everything in it is escaped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from hpcopt_assets.contracts.vocabulary import Outcome, Verdict
from hpcopt_assets.dossier.blocks import (
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

STYLE = """
:root { color-scheme: light; --ink: #222; --soft: #555; --rule: #ccc; --wash: #f5f5f2; }
* { box-sizing: border-box; }
body { margin: 2rem auto; padding: 0 1.25rem; max-width: 74rem; color: var(--ink); background: #fff;
  font: 1rem/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; padding-top: .5rem; border-top: 2px solid var(--ink); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; }
p, ul { margin: .6rem 0; max-width: 48rem; overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; }
li { margin: .35rem 0; }
.caveat { border-left: 4px solid #D55E00; background: var(--wash); padding: .5rem .8rem; font-weight: 600; }
.error { border: 2px solid #a03f00; padding: .5rem .8rem; font-weight: 600; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .86rem; line-height: 1.35; }
caption { caption-side: top; text-align: left; color: var(--soft); padding-bottom: .35rem; }
th, td { padding: .28rem .55rem; text-align: left; vertical-align: top; }
td { border-bottom: 1px solid var(--rule); }
th { border-bottom: 1.5px solid var(--ink); vertical-align: bottom; }
td { overflow-wrap: anywhere; min-width: 5.5rem; }
td:first-child { min-width: 11rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number, td.verdict { white-space: nowrap; min-width: 0; }
.code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em; }
.word { font-weight: 700; border: 1.5px solid; border-radius: 3px; padding: 0 .35em; font-size: .92em; }
.good { color: #00563f; }
.bad { color: #fff; background: #a03f00; border-color: #a03f00; }
.open { color: var(--ink); border-style: dashed; }
figure { margin: 1.25rem 0; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .86rem; max-width: 48rem; }
@page { size: A4; margin: 16mm 15mm; }
@media print {
  html { font-size: 9.5pt; }
  body { margin: 0; padding: 0; max-width: none; }
  h2, h3, caption, p:has(+ .scroll), h3 + p { break-after: avoid; }
  figure, .scroll, table, tr, li, p { break-inside: avoid; }
  .long, .long table { break-inside: auto; }
  thead { display: table-header-group; }
  .scroll { overflow: visible; }
  table { font-size: 7.8pt; }
  th, td { padding: .2rem .35rem; }
  td.number { white-space: normal; }
  .bad { color: var(--ink); background: none; border-width: 2.5px; }
}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
# Content-Security-Policy: should anything ever slip in, a browser will neither run nor fetch it.
LONG_ROWS = 15
# A table of more may be broken over pages, between rows and with its head repeated.
LOOKS = {
    Verdict.PASS.value: "good",
    Verdict.FAIL.value: "bad",
    Verdict.NOT_ASSESSED.value: "open",
    Outcome.ACCEPTED.value: "good",
    Outcome.CONDITIONAL.value: "open",
    Outcome.BLOCKED.value: "bad",
}


def page(title: str, blocks: Iterable[Block]) -> str:
    """The whole page."""
    body = "\n".join(_block(block) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        "</body>\n</html>\n"
    )


def _text(text: str) -> str:
    return html.escape("".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text))


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{_text(text)}</h{level}>"
        case Paragraph(text, (Tone.CAVEAT | Tone.ERROR) as tone):
            return f'<p class="{tone}">{_text(text)}</p>'
        case Paragraph(text):
            return f"<p>{_text(text)}</p>"
        case Bullets(items):
            return "<ul>\n" + "\n".join(f"<li>{_item(item)}</li>" for item in items) + "\n</ul>"
        case Links(links):
            listed = (f'<li><a href="{html.escape(link.href)}">{_text(link.text)}</a></li>' for link in links)
            return "<ul>\n" + "\n".join(listed) + "\n</ul>"
        case Table():
            return _table(block)
        case Figure(svg=svg, title=title):
            return (
                f"<figure>\n{_inline(svg)}\n<figcaption><strong>{_text(title)}.</strong> "
                f"{_text(caption_of(block))}</figcaption>\n</figure>"
            )


def _item(item: Item) -> str:
    return f"<strong>{_text(item.lead)}</strong> {_text(item.text)}" if item.lead else _text(item.text)


def _table(table: Table) -> str:
    head = "".join(
        f'<th scope="col" class="{column.kind}">{_breakable(column.name)}</th>' for column in table.columns
    )
    rows = "\n".join(
        "<tr>"
        + "".join(
            f'<td class="{column.kind}">{_cell(text, column.kind)}</td>'
            for text, column in zip(row, table.columns, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    length = " long" if len(table.rows) > LONG_ROWS else ""
    return (
        f'<div class="scroll{length}"><table>\n<caption>{_text(caption_of(table))}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _cell(text: str, kind: Kind) -> str:
    look = LOOKS.get(text) if kind is Kind.VERDICT else None
    return f'<span class="word {look}">{_text(text)}</span>' if look else _breakable(text)


def _breakable(text: str) -> str:
    """Names of policies and measures may break after an underscore, and are copied without a trace of it."""
    return _text(text).replace("_", "_<wbr>")


def _inline(svg: str) -> str:
    """SVG inside HTML needs no namespace; without it the page names no address at all."""
    return re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).strip()
