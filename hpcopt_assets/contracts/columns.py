"""What a column is: a name with its unit, a type, a domain and a meaning, stated once.

In:  nothing.   Out: `Column`, `Rule`, `Table`, and the bounds that keep int64 sums from wrapping.
Not here: the tables themselves (tables.py) and what is generated from them (schemas.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

TIME_MAX_S = 2**40
# A replay may set thousands of long jobs one after another: int64 holds their instants (8 million jobs of the
# longest kind), and the engine refuses a trace whose schedule ends beyond this bound. Processor-seconds of
# one job stay below 2^40 * 2^24 = 2^64; sums over jobs are taken in float64 or over bounded windows.
PROCS_MAX = 2**24
COUNT_MAX = 2**40
BYTES_MAX = 2**62


class DType(StrEnum):
    """The few types a column may have."""

    INT64 = "int64"
    FLOAT64 = "float64"
    BOOL = "bool"
    STRING = "string"
    STRINGS = "list[string]"
    INT64S = "list[int64]"
    UINT8_ARRAY = "array[uint8]"
    FLOAT32_ARRAY = "array[float32]"
    # Lists of one length in all rows, which the table's maker decides: a cluster's servers, say.
    BINARY = "binary"

    @property
    def polars(self) -> pl.DataType:
        """The polars type that stores it."""
        return {
            DType.INT64: pl.Int64(),
            DType.FLOAT64: pl.Float64(),
            DType.BOOL: pl.Boolean(),
            DType.STRING: pl.String(),
            DType.STRINGS: pl.List(pl.String()),
            DType.INT64S: pl.List(pl.Int64()),
            DType.UINT8_ARRAY: pl.Array(pl.UInt8(), 1),
            DType.FLOAT32_ARRAY: pl.Array(pl.Float32(), 1),
            DType.BINARY: pl.Binary(),
        }[self]

    @property
    def is_array(self) -> bool:
        """Whether all rows have lists of one length."""
        return self in (DType.UINT8_ARRAY, DType.FLOAT32_ARRAY)

    def like(self, found: pl.DataType | None) -> pl.DataType:
        """The polars type that stores it; of an array, as long as `found`, where that is one."""
        stored = self.polars
        if isinstance(stored, pl.Array) and isinstance(found, pl.Array):
            return pl.Array(stored.inner, found.size)
        return stored


@dataclass(frozen=True)
class Column:
    """One column. `lo` and `hi` are inclusive; `words` closes a string's (or a list's) vocabulary."""

    name: str
    dtype: DType
    means: str
    unit: str | None = None
    nullable: bool = False
    lo: float | None = None
    hi: float | None = None
    words: tuple[str, ...] | None = None

    @property
    def description(self) -> str:
        """Meaning and unit in one line, as catalogues show it."""
        return f"{self.means} [{self.unit}]" if self.unit else self.means


@dataclass(frozen=True)
class Rule:
    """A relation between columns that every row keeps; a null result counts as kept."""

    name: str
    means: str
    holds: Callable[[], pl.Expr]


@dataclass(frozen=True)
class Table:
    """One table: what a row is, its columns in order, the columns that identify a row, and its rules."""

    name: str
    means: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    rules: tuple[Rule, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    def polars_schema(self) -> pl.Schema:
        """Names and types, for making and casting frames."""
        return pl.Schema({column.name: column.dtype.polars for column in self.columns})

    def empty(self) -> pl.DataFrame:
        """A frame with the right columns and no rows."""
        return pl.DataFrame(schema=self.polars_schema())

    def shape(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame's columns in the contract's order and types; a missing or foreign column raises.

        Values are not judged here: that is `schemas.validate`.
        """
        from hpcopt_assets.contracts.errors import ContractError

        missing = [name for name in self.names if name not in frame.columns]
        foreign = [name for name in frame.columns if name not in self.names]
        if missing or foreign:
            raise ContractError(
                found=f"columns missing {missing}, not in the contract {foreign}",
                needed=f"exactly {len(self.columns)} columns {list(self.names)}",
                where=f"table {self.name}",
                next_step="Make the producing function return these columns, or change the contract.",
            )
        return frame.select(
            pl.col(column.name).cast(column.dtype.like(frame.schema[column.name])) for column in self.columns
        )
