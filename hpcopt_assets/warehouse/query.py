"""Asking the catalog: read-only, from any directory.

In:  the DuckDB file and one SELECT.   Out: an Arrow table.
Not here: how an answer is written (answer.py).
"""

from __future__ import annotations

from itertools import count
from pathlib import Path

import duckdb
import pyarrow as pa

from hpcopt_assets.contracts.errors import InputError

READING = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}


def query(catalog: Path, sql: str) -> pa.Table:
    """The rows of one reading statement; of columns with one name, the later ones are numbered.

    InputError for anything that writes, fails or has no catalog.
    """
    if not catalog.is_file():
        raise InputError(
            found="no catalog",
            needed="a DuckDB file made by the publish job",
            where=str(catalog),
            next_step="Run `hpcopt run` (or `make run` for the demo), which builds it.",
        )
    try:
        statements = duckdb.extract_statements(sql)
        if len(statements) != 1 or statements[0].type not in READING:
            raise InputError(
                found=_counted(statements),
                needed="one SELECT",
                where="the query",
                next_step="The catalog is read-only; for other work open it in your own DuckDB session.",
            )
        with duckdb.connect(str(catalog), read_only=True) as connection:
            rows = connection.sql(sql).to_arrow_table()
            return rows.rename_columns(distinct(rows.column_names))
    except duckdb.Error as error:
        raise InputError(
            found=" ".join(str(error).split()),
            needed="a query DuckDB can answer",
            where="the query",
            next_step="`SHOW TABLES` lists what there is; words of SQL (user, group) need double quotes.",
        ) from error


def _counted(statements: list[duckdb.Statement]) -> str:
    number = f"{len(statements)} statement{'' if len(statements) == 1 else 's'}"
    return f"{number}, the first of kind {statements[0].type.name}" if statements else number


def distinct(names: list[str]) -> list[str]:
    """The names, where a repeated one gets the next free number: a, a, b becomes a, a_1, b."""
    taken = set(names)
    out: list[str] = []
    for name in names:
        if name in out:
            name = next(made for number in count(1) if (made := f"{name}_{number}") not in taken)
            taken.add(name)
        out.append(name)
    return out
