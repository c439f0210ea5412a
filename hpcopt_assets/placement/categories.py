"""Columns of words as numbers, by the maps of a bundle.

In:  what a bundle tells, a column.   Out: a code for each row; what the map lacks is never another's code.
Not here: columns of numbers (feeding.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.placement.bundles import Told, is_number

WORDS = (pl.String, pl.Categorical, pl.Enum, pl.Null)


class Categories(NamedTuple):
    """Column -> word -> code; the codes of a word that a map lacks and of a missing one, None to refuse."""

    maps: Mapping[str, Mapping[str, float]]
    unknown: float | None
    missing: float | None


def read_categories(told: Told, columns: Sequence[str]) -> Categories:
    """Raises InputError where they are no maps of scalar columns to numbers."""
    maps = told.keys.get("categories") or {}
    if not isinstance(maps, dict):
        raise told.refuse(f"categories: {maps!r}", "column -> {word: code}")
    for column, codes in maps.items():
        if column not in columns:
            raise told.refuse(f"categories of {column}", "categories of scalar_columns")
        if not isinstance(codes, dict) or not all(map(is_number, codes.values())):
            raise told.refuse(f"categories of {column}: {codes!r}", "{word: code}, codes being numbers")
    for key in ("unknown_value", "missing_value"):
        value = told.keys.get(key)
        if not (value is None or is_number(value)):
            raise told.refuse(f"{key}: {value!r}", "a number")
    return Categories(maps, told.keys.get("unknown_value"), told.keys.get("missing_value"))


def codes_of(frame: pl.DataFrame, name: str, told: Categories, where: str) -> npt.NDArray[np.float64]:
    """Code of each row; a column that is not there is missing in every row, as is NaN."""
    column = frame[name] if name in frame.columns else pl.Series(name, [None] * frame.height, pl.String)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    words, codes = _comparable(column, told.maps[name], where)
    found = words.replace_strict(codes, default=None, return_dtype=pl.Float64)
    for is_bad, code, what in (
        (found.is_null() & words.is_not_null(), told.unknown, "unknown"),
        (words.is_null(), told.missing, "missing"),
    ):
        if is_bad.any():
            if code is None:
                raise unfit(
                    column,
                    f"a word of the bundle's categories (it has no {what}_value)",
                    where,
                    at_first(column, is_bad),
                )
            found = pl.select(pl.when(is_bad).then(pl.lit(float(code))).otherwise(found)).to_series()
    return found.to_numpy()


def _comparable(
    column: pl.Series, codes: Mapping[str, float], where: str
) -> tuple[pl.Series, dict[str, float] | dict[float, float]]:
    """Column and map in one spelling: the words of a JSON object are text, whatever they were before.

    Numbers are compared as numbers (1 and 1.0 are one), truth values as true, True or 1.
    """
    if isinstance(column.dtype, WORDS):
        return column.cast(pl.String), dict(codes)
    known: dict[float, float] = {}
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        known = _by_number(column, codes, where)
    if not known:
        raise unfit(column, f"words such as {', '.join(list(codes)[:3])}", where, f"type {column.dtype}")
    return column.cast(pl.Float64), known


def _by_number(column: pl.Series, codes: Mapping[str, float], where: str) -> dict[float, float]:
    """The words that are numbers, for a column of truth values also true and false."""
    truths = {"true": 1.0, "false": 0.0} if column.dtype == pl.Boolean else {}
    known: dict[float, float] = {}
    for word, code in codes.items():
        number = truths.get(word.lower(), _number(word))
        if number is not None:
            if known.get(number, code) != code:
                raise unfit(column, "one code a number", where, f"two codes of {word} in the categories")
            known[number] = code
    return known


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def at_first(column: pl.Series, bad: pl.Series) -> str:
    """The first of the bad values, and its row."""
    row = int(bad.arg_true()[0])
    return f"{column[row]!r} in row {row}"


def unfit(column: pl.Series, needed: str, where: str, found: str) -> InputError:
    """The error that a column cannot be used."""
    return InputError(
        f"column {column.name}: {found}", needed, where, "Repair these rows, or leave them out."
    )
