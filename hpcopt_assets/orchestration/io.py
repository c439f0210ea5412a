"""The one IO manager: a table's frame becomes parquet under data/store, and back.

In:  polars frames of assets whose metadata names their table.
Out: data/store/<asset key>/trace=<partition>/part.parquet, written beside and renamed; its SHA-256 as
     the data version, so that an unchanged result leaves downstream fresh.
Not here: judging values (assets/checks.py).
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import dagster as dg
import polars as pl

from hpcopt_assets.contracts.columns import Column, Table
from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.orchestration.files import beside

TABLE_METADATA = "table"
PREVIEW_ROWS = 5
PREVIEW_COLUMNS = 12
PREVIEW_CHARACTERS = 300


def part_path(store: Path, asset_path: tuple[str, ...], partition: str | None) -> Path:
    """Where the parquet of one partition of an asset stands."""
    folder = store.joinpath(*asset_path)
    return (folder / f"trace={partition}" if partition is not None else folder) / "part.parquet"


class StoreIOManager(dg.ConfigurableIOManager):
    """Keeps tables as parquet under `store`."""

    store: str

    def _path(self, context: dg.OutputContext | dg.InputContext) -> Path:
        partition = context.asset_partition_key if context.has_asset_partitions else None
        return part_path(Path(self.store), tuple(context.asset_key.path), partition)

    def handle_output(self, context: dg.OutputContext, obj: pl.DataFrame | Path) -> None:
        """Write a frame in its contract's shape, or take over a parquet file, and record what is kept.

        A table too large for memory comes as the path of a file that its room wrote, which is moved.
        """
        table = TABLES[context.definition_metadata[TABLE_METADATA]]
        target = self._path(context)
        with beside(target) as temporary:
            if isinstance(obj, Path):
                shutil.move(obj, temporary)
            else:
                table.shape(obj).write_parquet(temporary, compression="zstd", statistics=True)
            stored = pl.scan_parquet(temporary, hive_partitioning=False, glob=False)
            rows = stored.select(pl.len()).collect().item()
            first_rows = stored.head(PREVIEW_ROWS).collect()
            size = temporary.stat().st_size
            with temporary.open("rb") as handle:
                version = hashlib.file_digest(handle, "sha256").hexdigest()
        context.step_context.set_data_version(context.asset_key, dg.DataVersion(version))
        context.add_output_metadata(
            {
                "dagster/row_count": rows,
                "dagster/uri": dg.MetadataValue.path(str(target)),
                "size_bytes": size,
                "first_rows": dg.MetadataValue.md(markdown_table(first_rows)),
            }
        )

    def load_input(self, context: dg.InputContext) -> pl.DataFrame:
        """Read one partition of an upstream table."""
        path = self._path(context)
        if not path.is_file():
            raise EvidenceError(
                found="no parquet file",
                needed="the upstream asset's table",
                where=str(path),
                next_step=f"Materialize {context.asset_key.to_user_string()} for this partition first.",
            )
        return pl.read_parquet(path, hive_partitioning=False, glob=False)


def column_schema(table: Table) -> dg.TableSchema:
    """A table's contract as the UI's Columns panel shows it."""

    def constraints(column: Column) -> dg.TableColumnConstraints:
        other = []
        if column.lo is not None or column.hi is not None:
            other.append(f"{column.lo} <= value <= {column.hi}")
        if column.words is not None:
            other.append(f"one of {', '.join(column.words)}")
        return dg.TableColumnConstraints(nullable=column.nullable, other=other)

    return dg.TableSchema(
        columns=[
            dg.TableColumn(column.name, column.dtype.value, column.description, constraints(column))
            for column in table.columns
        ],
        constraints=dg.TableConstraints(
            other=[f"unique: {', '.join(table.key)}", *(rule.means for rule in table.rules)]
        ),
    )


def markdown_table(frame: pl.DataFrame) -> str:
    """A few rows as a Markdown table; wide tables show their first columns and say so."""
    shown = frame.select(frame.columns[:PREVIEW_COLUMNS])

    def cell(value: object) -> str:
        if value is None:
            return ""
        if isinstance(value, bytes):
            return f"{len(value):,} bytes"
        text = f"{value:,.6g}" if isinstance(value, float) else str(value)
        short = text if len(text) <= PREVIEW_CHARACTERS else f"{text[:PREVIEW_CHARACTERS]}..."
        return short.replace("|", "\\|").replace("\n", " ")

    lines = [
        "| " + " | ".join(shown.columns) + " |",
        "|" + "---|" * shown.width,
        *("| " + " | ".join(cell(value) for value in row) + " |" for row in shown.iter_rows()),
    ]
    if frame.width > shown.width:
        lines += ["", f"... and {frame.width - shown.width} more columns"]
    return "\n".join(lines)
