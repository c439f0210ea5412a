"""Records that are made piece by piece while they are being read, so that they are never all in memory.

In:  a function that yields pieces, each time from the first.   Out: a lazy frame of `RECORD_SCHEMA`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl
from polars.io.plugins import register_io_source

from hpcopt_assets.ingest.parsed import RECORD_SCHEMA


def lazy_records(pieces: Callable[[], Iterator[pl.DataFrame]]) -> pl.LazyFrame:
    """The records of all pieces; a column that a piece lacks is null."""

    def scan(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        rows: int | None,
        batch_rows: int | None,  # noqa: ARG001 -- pieces have their own size
    ) -> Iterator[pl.DataFrame]:
        left = rows
        for piece in pieces():
            records = piece.select(
                (pl.col(name) if name in piece.columns else pl.lit(None, dtype=dtype)).cast(dtype).alias(name)
                for name, dtype in RECORD_SCHEMA.items()
                if columns is None or name in columns
            )
            if predicate is not None:
                records = records.filter(predicate)
            if left is not None:
                records = records.head(left)
                left -= records.height
            yield records
            if left == 0:
                return

    return register_io_source(scan, schema=RECORD_SCHEMA)
