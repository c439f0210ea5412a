"""The DuckDB catalog: one commented view a table, over the parquet of all traces.

In:  the store folder, table contracts, the asset folders each table is kept in.
Out: a DuckDB file that is swapped in whole; what it holds and which partitions lack a table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from hpcopt_assets.contracts.columns import DType, Table

PART = "part.parquet"
DUCKDB_TYPE = {
    DType.INT64: "BIGINT",
    DType.FLOAT64: "DOUBLE",
    DType.BOOL: "BOOLEAN",
    DType.STRING: "VARCHAR",
    DType.STRINGS: "VARCHAR[]",
    DType.INT64S: "BIGINT[]",
    DType.UINT8_ARRAY: "UTINYINT[]",
    DType.FLOAT32_ARRAY: "FLOAT[]",
    # Not DuckDB's ARRAY: its length would be part of the type, and a view must do for any cluster.
    DType.BINARY: "BLOB",
}


@dataclass(frozen=True)
class View:
    """One view of the catalog: its rows, and what (`folder/trace=id`, or `folder`) has no file."""

    name: str
    rows_count: int
    missing: tuple[str, ...]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _glob(folder: Path, below: str) -> str:
    # The folder's own brackets, stars and question marks must not act as patterns.
    return re.sub(r"([\[*?])", r"[\1]", str(folder)) + f"/{below}"


def _view_sql(table: Table, globs: list[str]) -> str:
    if globs:
        columns = [f'CAST("{c.name}" AS {DUCKDB_TYPE[c.dtype]}) AS "{c.name}"' for c in table.columns]
        files = ", ".join(_text(glob) for glob in globs)
        source = f"FROM read_parquet([{files}], union_by_name = true, hive_partitioning = false)"
    else:
        # A view over a glob that matches nothing fails at creation; this one has the types and no rows.
        columns = [f'CAST(NULL AS {DUCKDB_TYPE[c.dtype]}) AS "{c.name}"' for c in table.columns]
        source = "WHERE false"
    return f'CREATE VIEW "{table.name}" AS SELECT {", ".join(columns)} {source}'


def build_catalog(
    target: Path,
    *,
    store: Path,
    folders: Mapping[str, tuple[str, ...]],
    tables: Mapping[str, Table],
    traces: frozenset[str],
    whole: frozenset[str] = frozenset(),
) -> tuple[View, ...]:
    """Write the catalog to `target`, a path that does not exist yet; the caller swaps it in.

    `folders` names, for each table, the folders below `store` that hold one `trace=<id>` folder a
    partition (schedules have one folder a policy). `traces` are the partitions expected in each; those
    without a file are reported. Folders in `whole` hold one file and no partitions. Views keep absolute
    paths: they work from any directory.
    """
    views = []
    with duckdb.connect(str(target)) as connection:
        for name, table in tables.items():
            found: list[str] = []
            missing: list[str] = []
            for folder in folders[name]:
                if folder in whole:
                    if (store / folder / PART).is_file():
                        found.append(_glob(store.resolve() / folder, PART))
                    else:
                        missing.append(folder)
                    continue
                have = {
                    path.parent.name.removeprefix("trace=") for path in store.glob(f"{folder}/trace=*/{PART}")
                }
                missing += [f"{folder}/trace={trace}" for trace in sorted(traces - have)]
                found += [_glob(store.resolve() / folder, f"trace=*/{PART}")] if have else []
            connection.execute(_view_sql(table, found))
            connection.execute(f'COMMENT ON VIEW "{name}" IS {_text(table.means)}')
            for column in table.columns:
                connection.execute(
                    f'COMMENT ON COLUMN "{name}"."{column.name}" IS {_text(column.description)}'
                )
            rows = connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()  # noqa: S608 -- our own names
            views.append(View(name, int(rows[0]) if rows else 0, tuple(missing)))
    return tuple(views)
