"""Comparing: a table of a bundle against the same table computed again.

In:  two frames of one contract.   Out: `Finding`, which names the first difference.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from hpcopt_assets.contracts.columns import DType, Table
from hpcopt_assets.contracts.sentences import plural

TOLERANCE = 1e-9
# Of a number that is not whole, as a part of it or, below one, as it is: another processor, or another
# version of numpy, may sum in another order. A schedule has none: its instants are whole seconds.
SHOWN_CHARACTERS = 80
NAMED = re.compile(r"user user_[0-9a-f]{16}")
# What hiding makes of a name in a sentence.


class State(StrEnum):
    """What came of checking one thing."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Finding:
    """One thing that was checked, or could not be, and what is to be said of it."""

    what: str
    state: State
    note: str


def compare(what: str, table: Table, given: pl.DataFrame, again: pl.DataFrame, told: str = "") -> Finding:
    """Row by row in order, column by column; numbers that are not whole within `TOLERANCE`.

    The first difference is that of the earliest row. `told` says what was computed, where it is not all.
    """
    key = list(table.key)
    if given.height != again.height or not given.select(key).equals(again.select(key)):
        return Finding(what, State.DIFFERS, _other_rows(given.select(key), again.select(key)))
    first: tuple[int, str] | None = None
    count, hidden, is_exact = 0, 0, True
    for column in table.columns:
        left, right = given[column.name], again[column.name]
        if left.equals(right, null_equal=True):
            continue
        if column.dtype is DType.FLOAT64:
            is_other = _is_other(left, right)
            is_exact = False
        else:
            is_other = left.ne_missing(right)
            if column.dtype is DType.STRING:
                is_word = _is_hidden(left, right)
                hidden += int(is_word.sum())
                is_other &= ~is_word
        count += int(is_other.sum())
        if is_other.any():
            at = int(is_other.arg_true()[0])
            first = (at, column.name) if first is None or at < first[0] else first
    if first is not None:
        at, name = first
        place = ", ".join(f"{part} {_short(given[part][at])}" for part in key if part != "trace_id")
        return Finding(
            what,
            State.DIFFERS,
            f"{plural(count, 'value')}; first: {place}: {name} is {_short(given[name][at])} in the bundle, "
            f"{_short(again[name][at])} computed again",
        )
    rows = plural(given.height, "row")
    closeness = "" if is_exact else f", some numbers to {TOLERANCE:g} (of their size, where above 1) only"
    but = f", {plural(hidden, 'sentence')} but for a pseudonym in place of a word" if hidden else ""
    return Finding(what, State.AGREES, f"{told or rows}{closeness}{but}")


def _is_hidden(given: pl.Series, again: pl.Series) -> pl.Series:
    """Whether two sentences differ by nothing but a pseudonym in the bundle's.

    A user may be called `day`, and a sentence speak of a user day: one word that named nobody was replaced.
    More than a word is not given up, or a forger would hide half a sentence behind a pseudonym.
    """

    def is_alike(one: str | None, other: str | None) -> bool:
        if one is None or other is None or not NAMED.search(one):
            return False
        parts = [re.escape(part) for part in NAMED.split(one)]
        return re.fullmatch(r"user \S+".join(parts), other) is not None

    return pl.Series([is_alike(*pair) for pair in zip(given, again, strict=True)], dtype=pl.Boolean)


def _is_other(left: pl.Series, right: pl.Series) -> pl.Series:
    """Where two columns of numbers differ by more than rounding explains; unknown equals unknown alone."""
    pairs = zip(left.to_list(), right.to_list(), strict=True)
    return pl.Series(
        [
            (a is None) != (b is None)
            or (
                a is not None
                and b is not None
                and not (a == b or math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE))
                and not (math.isnan(a) and math.isnan(b))
            )
            for a, b in pairs
        ],
        dtype=pl.Boolean,
    )


def _other_rows(given: pl.DataFrame, again: pl.DataFrame) -> str:
    """The first row that one of the two lacks, or has elsewhere."""
    shared = min(given.height, again.height)
    for at in range(shared):
        if given.row(at) != again.row(at):
            break
    else:
        at = shared
    here, there = (
        ", ".join(map(_short, frame.row(at))) if at < frame.height else "nothing" for frame in (given, again)
    )
    return (
        f"{plural(given.height, 'row')} in the bundle, {again.height:,} computed again; first other row, "
        f"number {at + 1:,}: {here} in the bundle, {there} computed again"
    )


def _short(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."
