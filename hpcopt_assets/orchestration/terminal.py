"""What is said in the terminal.

In:  sentences, or columns and rows of text.
Out: lines and tables on standard output (rows are never folded when it is piped), mistakes on standard error.
"""

from __future__ import annotations

import os
import sys

PIPED_WIDTH = 10_000


def say(text: str = "") -> None:
    """A line on standard output; a reader that has seen enough ends the command, quietly."""
    try:
        sys.stdout.write(f"{text}\n")
    except BrokenPipeError:
        sys.exit(reader_has_gone())


def reader_has_gone() -> int:
    """What is still held back goes nowhere; exit code of a command whose reader closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def complain(text: str) -> None:
    """One line on standard error; characters that would break the line are escaped."""
    sys.stderr.write(f"hpcopt: {one_line(text)}\n")


def one_line(text: str) -> str:
    """Text of others as one line: characters that break a line, or command a terminal, are escaped."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def plural(count: int, noun: str) -> str:
    """A count with its noun: `1 job`, `2,000 jobs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def cell(value: object) -> str:
    """A value as a table shows it: at most four decimals, a dash for what is unknown."""
    if value is None:
        return "-"
    return f"{value:,.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def print_table(columns: list[str], rows: list[list[str]]) -> None:
    """Print rows under columns; columns whose cells are all numbers are right-aligned."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, pad_edge=False)
    for index, column in enumerate(columns):
        cells = [row[index] for row in rows if row[index] not in ("", "-")]
        numeric = bool(cells) and all(text.lstrip("+-")[:1].isdigit() for text in cells)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(width=None if sys.stdout.isatty() else PIPED_WIDTH).print(table)
