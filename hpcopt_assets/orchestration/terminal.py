"""Tables in the terminal.

In:  columns and rows of text.   Out: a table on standard output; rows are never folded when it is piped.
"""

from __future__ import annotations

import sys

PIPED_WIDTH = 10_000


def say(text: str = "") -> None:
    """A line on standard output."""
    sys.stdout.write(f"{text}\n")


def print_table(columns: list[str], rows: list[list[str]]) -> None:
    """Print rows under columns; columns whose cells are all numbers are right-aligned."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, pad_edge=False)
    for index, column in enumerate(columns):
        cells = [row[index] for row in rows if row[index] not in ("", "-")]
        numeric = bool(cells) and all(cell.lstrip("+-")[:1].isdigit() for cell in cells)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else PIPED_WIDTH).print(table)
