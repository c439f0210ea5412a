"""How an asset is declared: the arguments that every table asset shares, said once.

In:  a table's contract, the rooms whose code makes it, the config models and files it reads.
Out: keyword arguments for `dg.asset` and `dg.AssetOut`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.frozen import Frozen
from hpcopt_assets.orchestration.io import TABLE_METADATA, column_schema
from hpcopt_assets.orchestration.provenance import code_version

OWNER = "team:hpcopt"


def declared(
    table: Table,
    *,
    group: str,
    rooms: tuple[str, ...],
    reads: tuple[Frozen, ...] = (),
    files: tuple[Path, ...] = (),
    kinds: Iterable[str] = ("polars",),
) -> dict[str, Any]:
    """Description, group, owner, kinds, columns and code version of an asset that makes `table`."""
    return {
        "description": table.means,
        "group_name": group,
        "owners": [OWNER],
        "kinds": {*kinds, "parquet"},
        "code_version": code_version(rooms, reads, files),
        "metadata": {TABLE_METADATA: table.name, "dagster/column_schema": column_schema(table)},
    }
