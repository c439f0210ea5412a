"""Rows become arrays: every column checked before anything is scored.

In:  a frame, a `Layout`.   Out: blocks, scalars and vectors, or a refusal with found, needed, where.
Not here: what goes to which input (layout.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.placement.bundles import SCALARS
from hpcopt_assets.placement.layout import Layout

FloatArray = npt.NDArray[np.float32]


def blocks_of(frame: pl.DataFrame, layout: Layout, where: str) -> dict[str, FloatArray]:
    """`scalars` (rows, columns), float32, and each vector (rows, length); columns of no use are ignored.

    InputError for a column that is missing, a null, NaN or infinity, a word that is no number, a vector of
    another length.
    """
    needed = [name for name in (*layout.columns, *layout.vectors) if name not in layout.categories]
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise InputError(
            f"no column {', '.join(missing)}",
            f"the {len(needed)} columns of the bundle",
            where,
            "Use the rows that the model is for, or the bundle of these rows.",
        )
    scalars = np.empty((frame.height, len(layout.columns)), np.float32)
    for i, name in enumerate(layout.columns):
        scalars[:, i] = (
            _codes(frame, name, layout, where) if name in layout.categories else _numbers(frame[name], where)
        )
    return {SCALARS: scalars} | {
        name: _vector(frame[name], length or 0, where) for name, length in layout.vectors.items()
    }


def scaled(blocks: Mapping[str, FloatArray], layout: Layout) -> dict[str, npt.NDArray[Any]]:
    """The inputs of the model: blocks joined and, where the bundle has a scaler to apply, scaled."""
    mean, scale = (np.array(values or (), np.float32) for values in (layout.mean, layout.scale))
    if layout.mean is not None and not layout.scales_vectors:
        blocks = dict(blocks) | {SCALARS: (blocks[SCALARS] - mean) / scale}
    joined = {
        name: np.concatenate([blocks[block] for block in some], axis=1) if len(some) > 1 else blocks[some[0]]
        for name, some in layout.inputs.items()
    }
    if layout.mean is not None and layout.scales_vectors:
        edges = np.cumsum([0, *(values.shape[1] for values in joined.values())])
        for (name, values), lo, hi in zip(joined.items(), edges, edges[1:], strict=False):
            joined[name] = (values - mean[lo:hi]) / scale[lo:hi]
    return {
        name: values.astype(np.float64 if name in layout.doubles else np.float32, copy=False)
        for name, values in joined.items()
    }


def _numbers(column: pl.Series, where: str) -> FloatArray:
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise unfit(column, "a number", where, f"type {column.dtype}")
    values = column.cast(pl.Float64)
    bad = (values.is_null() | ~values.is_finite()).fill_null(True)
    if bad.any():
        raise unfit(column, "a finite number in every row", where, at_first(column, bad))
    return values.to_numpy().astype(np.float32)


def _codes(frame: pl.DataFrame, name: str, layout: Layout, where: str) -> FloatArray:
    """Codes of words; what the map lacks is never the code of another word."""
    words = (
        frame[name].cast(pl.String)
        if name in frame.columns
        else pl.repeat(None, frame.height, eager=True, dtype=pl.String)
    )
    column = words.rename(name) if isinstance(words, pl.Series) else words
    codes = column.replace_strict(dict(layout.categories[name]), default=None, return_dtype=pl.Float64)
    unseen = codes.is_null() & column.is_not_null()
    for is_bad, code, what in (
        (unseen, layout.unknown, "unknown"),
        (column.is_null(), layout.missing, "missing"),
    ):
        if is_bad.any():
            if code is None:
                raise unfit(
                    column,
                    f"a word of the bundle's categories (it has no {what}_value)",
                    where,
                    at_first(column, is_bad),
                )
            codes = pl.select(pl.when(is_bad).then(pl.lit(float(code))).otherwise(codes)).to_series()
    return codes.to_numpy().astype(np.float32)


def _vector(column: pl.Series, length: int, where: str) -> FloatArray:
    if not isinstance(column.dtype, pl.List | pl.Array):
        raise unfit(column, f"a list of {length} numbers", where, f"type {column.dtype}")
    lengths = column.arr.len() if isinstance(column.dtype, pl.Array) else column.list.len()
    other = (lengths != length).fill_null(True)
    if other.any():
        row = int(other.arg_true()[0])
        raise unfit(column, f"a list of {length} numbers", where, f"{lengths[row]} in row {row}")
    inner = column.dtype.inner
    kept = inner if inner == pl.UInt8 else pl.Float32()  # bits stay as small as they are
    fixed = column.cast(pl.Array(kept, length))
    bad = fixed.arr.eval(pl.element().is_null()).arr.any().to_numpy()
    values = np.asarray(fixed.to_numpy()).reshape(-1, length)
    bad |= ~np.isfinite(values).all(axis=1)
    if bad.any():
        raise unfit(column, "finite numbers", where, f"NaN, null or infinity in row {int(bad.argmax())}")
    return values


def at_first(column: pl.Series, bad: pl.Series) -> str:
    """The first of the bad values, and its row."""
    row = int(bad.arg_true()[0])
    return f"{column[row]!r} in row {row}"


def unfit(column: pl.Series, needed: str, where: str, found: str) -> InputError:
    """The error that a column cannot be used."""
    return InputError(
        f"column {column.name}: {found}", needed, where, "Repair these rows, or leave them out."
    )
