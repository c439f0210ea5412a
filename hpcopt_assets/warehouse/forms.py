"""In which form an answer goes out: a table in the terminal, or CSV, JSON or parquet.

In:  what was asked for, and the file to write to.   Out: `Form`, `form_of`.
Not here: the writing (answer.py), whose imports are heavy.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from hpcopt_assets.contracts.errors import InputError


class Form(StrEnum):
    """How `hpcopt query` prints or writes rows."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


ENDINGS = {f".{form}": form for form in Form if form is not Form.TABLE}


def form_of(asked: Form | None, out: Path | None, *, is_terminal: bool) -> Form:
    """The form asked for, else the one that the file's ending names, else a table.

    InputError where both are there and differ, where the file has no form, or for parquet in a terminal.
    """
    if out is None:
        if asked is Form.PARQUET and is_terminal:
            raise InputError(
                "a terminal", "a file for parquet", "--format parquet", "Give --out FILE, or redirect."
            )
        return asked or Form.TABLE
    form = ENDINGS.get(out.suffix.lower(), asked)
    if form is None or asked is Form.TABLE:
        raise InputError(
            f"{out.name} as a {asked}" if asked else out.name,
            f"a name ending in one of {', '.join(ENDINGS)}",
            "--out",
            "Rename it, or give --format csv, json or parquet.",
        )
    if asked not in (None, form):
        raise InputError(
            f"{out.name} as {asked}", "one format", "--out", "Leave --format out, or rename the file."
        )
    return form
