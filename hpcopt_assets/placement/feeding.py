"""Rows become arrays: every column checked before anything is scored.

In:  a frame, a `Layout`.   Out: blocks, scalars and vectors, or a refusal with found, needed, where.
Not here: what goes to which input (layout.py), columns of words (categories.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.placement.bundles import SCALARS
from hpcopt_assets.placement.categories import at_first, codes_of, unfit
from hpcopt_assets.placement.layout import Layout

Array = npt.NDArray[Any]


def blocks_of(frame: pl.DataFrame, layout: Layout, where: str) -> dict[str, Array]:
    """`scalars` (rows, columns), float64, and each vector (rows, length); columns of no use are ignored.

    InputError for a column that is missing, a null, NaN or infinity, a word that is no number, a vector of
    another length, a number that is too large for the model's input.
    """
    maps = layout.categories.maps
    needed = [name for name in (*layout.columns, *layout.vectors) if name not in maps]
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise InputError(
            f"no column {', '.join(missing)}",
            f"the {len(needed)} columns of the bundle",
            where,
            "Use the rows that the model is for, or the bundle of these rows.",
        )
    scalars = np.empty((frame.height, len(layout.columns)), np.float64)
    for i, name in enumerate(layout.columns):
        scalars[:, i] = (
            codes_of(frame, name, layout.categories, where) if name in maps else _numbers(frame[name], where)
        )
    blocks = {SCALARS: scalars} | {
        name: _vector(frame[name], length, where) for name, length in layout.vectors.items()
    }
    _refuse_what_is_too_large(frame, blocks, layout, where)
    return blocks


def scaled(blocks: Mapping[str, Array], layout: Layout) -> dict[str, Array]:
    """The inputs of the model: blocks scaled where the bundle has a scaler to apply, and joined."""
    ready = {name: _scaled(values, layout, name) for name, values in blocks.items()}
    return {
        name: (
            np.concatenate([ready[block] for block in some], axis=1) if len(some) > 1 else ready[some[0]]
        ).astype(_type(layout, name), copy=False)
        for name, some in layout.inputs.items()
    }


def _scaled(values: Array, layout: Layout, block: str) -> Array:
    return layout.scalers[block].of(values) if block in layout.scalers else values


def _type(layout: Layout, name: str) -> type[np.floating[Any]]:
    return np.float64 if name in layout.doubles else np.float32


def _refuse_what_is_too_large(
    frame: pl.DataFrame, blocks: Mapping[str, Array], layout: Layout, where: str
) -> None:
    """A number may be finite as it stands and infinite once it is scaled or as the input's type."""
    for name, some in layout.inputs.items():
        for block in some:
            values = blocks[block]
            if values.dtype != np.float64 and block not in layout.scalers:
                continue
            with np.errstate(over="ignore"):
                bad = ~np.isfinite(_scaled(values, layout, block).astype(_type(layout, name)))
            if bad.any():
                row, at = (int(i) for i in np.argwhere(bad)[0])
                column = frame[layout.columns[at] if block == SCALARS else block]
                found = f"{values[row, at]:g} in row {row}"
                raise unfit(column, f"a number that {_type(layout, name).__name__} holds", where, found)


def _numbers(column: pl.Series, where: str) -> Array:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise unfit(column, "a number", where, f"type {column.dtype}")
    values = column.cast(pl.Float64)
    bad = (values.is_null() | ~values.is_finite()).fill_null(True)
    if bad.any():
        raise unfit(column, "a finite number in every row", where, at_first(column, bad))
    return values.to_numpy()


def _vector(column: pl.Series, length: int, where: str) -> Array:
    if not isinstance(column.dtype, pl.List | pl.Array):
        raise unfit(column, f"a list of {length} numbers", where, f"type {column.dtype}")
    inner = column.dtype.inner
    if not (inner.is_numeric() or inner == pl.Boolean):
        raise unfit(column, f"a list of {length} numbers", where, f"type {column.dtype}")
    lengths = column.arr.len() if isinstance(column.dtype, pl.Array) else column.list.len()
    other = (lengths != length).fill_null(True)
    if other.any():
        row = int(other.arg_true()[0])
        raise unfit(column, f"a list of {length} numbers", where, f"{lengths[row]} in row {row}")
    kept = inner if inner in (pl.UInt8, pl.Float32) else pl.Float64()  # what is exact stays small
    fixed = column.cast(pl.Array(kept, length))
    bad = fixed.arr.eval(pl.element().is_null()).arr.any().to_numpy()
    values = np.asarray(fixed.to_numpy()).reshape(-1, length)
    bad |= ~np.isfinite(values).all(axis=1)
    if bad.any():
        raise unfit(column, "finite numbers", where, f"NaN, null or infinity in row {int(bad.argmax())}")
    return values
