"""Columns of a parquet log by any of their published names, read piece by piece.

In:  a parquet file, and the fields its format has (fields.py).   Out: pieces of rows, as the file has them.
Not here: what a value means. Columns that no field names are never read, however large they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.ingest.parquet.fields import RAW, Field
from hpcopt_assets.ingest.parsed import SourceFile

PIECE_ROWS = 20_000
# Row groups of published files have up to a million rows; a piece of them takes a few MB.
UNREADABLE = (pa.ArrowException, OSError, ValueError)
# What pyarrow raises on damaged files; ValueError where a column's name is no text.


@dataclass(frozen=True)
class Columns:
    """A file's columns that are read: field -> name in the file, that name -> type; and its rows."""

    file: SourceFile
    spelled: dict[str, str]
    dtypes: dict[str, pl.DataType]
    rows: int

    def pieces(self) -> Iterator[pl.DataFrame]:
        """The rows in order: `source_line`, from 1, and each column under its name in the file after `raw:`.

        Raises `TraceError` where the file is damaged.
        """
        before = 0
        names = list(self.dtypes)
        try:
            with pq.ParquetFile(self.file.path) as parquet:
                for batch in parquet.iter_batches(PIECE_ROWS, columns=names):
                    after = before + batch.num_rows
                    _check_rows(after, self.rows, is_end=False)
                    lines = pl.int_range(before + 1, after + 1, dtype=pl.Int64, eager=True)
                    values = {RAW + name: pl.Series(_readable(batch.column(name))) for name in names}
                    yield pl.DataFrame({"source_line": lines, **values})
                    before = after
                _check_rows(before, self.rows, is_end=True)
        except UNREADABLE as error:
            raise _damaged(self.file.path, error) from error


def find_columns(file: SourceFile, fields: tuple[Field, ...]) -> Columns:
    """Which column each field is read from: the first of its spellings that the file has.

    Raises `TraceError` for a file that is no parquet, lacks a needed column, or has one of a type that holds
    no single values.
    """
    schema, rows = schema_of(file.path)
    spelled = {
        field.name: found
        for field in fields
        if (found := next((name for name in field.spellings if name in schema.names), None)) is not None
    }
    missing = [" or ".join(f.spellings) for f in fields if f.is_needed and f.name not in spelled]
    if missing:
        raise TraceError(
            found=f"no column {'; no column '.join(missing)} among {', '.join(schema.names[:60])}",
            needed="every needed column under one of its published names",
            where=str(file.path),
            next_step="Rename the column, or check that the file is of this format.",
        )
    types = {name: schema.field(name).type for name in dict.fromkeys(spelled.values())}
    dtypes = {name: pl.Series(_readable(pa.array([], found))).dtype for name, found in types.items()}
    for field in fields:
        name = spelled.get(field.name)
        if name is not None and not field.accepts(dtypes[name]):
            raise TraceError(
                found=f"column {name} has values of type {types[name]}",
                needed=f"{field.kind} in each row",
                where=str(file.path),
                next_step="Write the column as published, then ingest again.",
            )
    return Columns(file, spelled, dtypes, rows)


def schema_of(path: Path) -> tuple[pa.Schema, int]:
    """The columns of a parquet file and the number of its rows. Raises `TraceError` for a damaged file."""
    try:
        with pq.ParquetFile(path) as parquet:
            schema, rows = parquet.schema_arrow, parquet.metadata.num_rows
            _check_rows(0, rows, is_end=False)
            _ = schema.names  # which are decoded when they are asked for
    except UNREADABLE as error:
        raise _damaged(path, error) from error
    return schema, rows


def _check_rows(found: int, stated: int, *, is_end: bool) -> None:
    if found > stated or (is_end and found < stated):
        raise ValueError(f"{found} rows found, {stated} stated")


def _readable(column: pa.Array) -> pa.Array:
    """The column as plain values; bytes of a text that are no UTF-8 become U+FFFD."""
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raw = column.cast(pa.large_binary()).to_pylist()
        return pa.array(
            [None if text is None else text.decode("utf-8", "replace") for text in raw], pa.string()
        )
    return column


def _damaged(path: Path, error: Exception) -> TraceError:
    return TraceError(
        found=f"the parquet data cannot be read ({str(error).splitlines()[0][:200]})",
        needed="a complete parquet file",
        where=str(path),
        next_step="Copy or fetch the file again.",
    )
