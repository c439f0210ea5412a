"""Each distinct text of a column is read once: values of sacct repeat a lot.

In:  a text column and what reads one value.   Out: typed columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl


def looked_up(
    text: pl.Series, read: Callable[[str], tuple[Any, ...]], schema: Mapping[str, Any]
) -> pl.DataFrame:
    """The columns of `schema` for each row: what `read` makes of its text, null where there is none."""
    distinct = text.drop_nulls().unique()
    values = list(zip(*(read(value) for value in distinct.to_list()), strict=True)) or [()] * len(schema)
    columns = dict(zip(schema, values, strict=True))
    table = pl.DataFrame(columns, schema=dict(schema))
    keyed = text.alias("text").to_frame()
    return keyed.join(
        table.with_columns(distinct.alias("text")), on="text", how="left", maintain_order="left"
    ).drop("text")
