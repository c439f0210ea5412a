"""Two tables agree or differ, and the first difference is named as one would look for it."""

from __future__ import annotations

import polars as pl
import pytest

from hpcopt_assets.bundle.comparing import State, compare
from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.makers import count, real, text

TABLE = Table(
    "made",
    "made",
    (text("policy", "x"), count("n", "x", nullable=True), real("x", "x", "s")),
    key=("policy",),
)


def frame(*rows: tuple[str, int | None, float | None]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=TABLE.polars_schema(), orient="row")


GIVEN = frame(("a", 1, 1.0), ("b", None, None), ("c", 3, 0.0))


def test_the_same_is_the_same() -> None:
    found = compare("made", TABLE, GIVEN, GIVEN.clone())
    assert (found.state, found.note) == (State.AGREES, "3 rows")
    assert compare("made", TABLE, GIVEN.clear(), GIVEN.clear()).state is State.AGREES


@pytest.mark.parametrize(
    ("again", "said"),
    [
        (frame(("a", 1, 1.0), ("b", 2, None), ("c", 3, 0.0)), "1 value; first: policy b: n is nothing"),
        (frame(("a", 1, 1.0), ("b", None, None), ("c", 4, 0.5)), "2 values; first: policy c: n is 3"),
        (frame(("a", 1, 1.1), ("b", 2, None), ("c", 3, 0.0)), "2 values; first: policy a: x is 1.0"),
        (frame(("a", 1, None), ("b", None, None), ("c", 3, 0.0)), "bundle, nothing computed again"),
        (frame(("a", 1, float("nan")), ("b", None, None), ("c", 3, 0.0)), "x is 1.0 in the bundle, nan"),
        (frame(("a", 1, 1.0), ("c", 3, 0.0)), "first other row, number 2: b in the bundle, c computed again"),
        (frame(("a", 1, 1.0), ("d", None, None), ("c", 3, 0.0)), "number 2: b in the bundle, d"),
        (frame(("b", None, None), ("a", 1, 1.0), ("c", 3, 0.0)), "number 1: a in the bundle, b"),
        (frame(("a", 1, 1.0), ("b", None, None)), "number 3: c in the bundle, nothing computed again"),
        (frame(("a", 1, 1.0 + 1e-6), ("b", None, None), ("c", 3, 0.0)), "x is 1.0"),
    ],
)  # fmt: skip
def test_the_first_difference_is_named(again: pl.DataFrame, said: str) -> None:
    found = compare("made", TABLE, GIVEN, again)
    assert found.state is State.DIFFERS
    assert said in found.note


def test_a_word_of_ours_that_is_somebodys_name_is_no_difference() -> None:
    table = Table("made", "made", (count("n", "x"), text("reason", "x")), key=("n",))

    def said(*reasons: str) -> pl.DataFrame:
        return pl.DataFrame(list(enumerate(reasons)), schema=table.polars_schema(), orient="row")

    hidden = "1 user user_0123456789abcdef longer (1 h)"
    found = compare("made", table, said(hidden), said("1 user waits longer (1 h)"))
    assert (found.state, found.note) == (
        State.AGREES,
        "1 row, 1 sentence but for a pseudonym in place of a word",
    )
    for other in (
        "1 user waits, and so FAIL longer (1 h)",
        "1 user waits\nlonger longer (1 h)",
        "1 user waits longer (2 h)",
        "1 waits longer (1 h)",
        "2 user waits longer (1 h)",
        "1 user  (1 h)",
    ):
        assert compare("made", table, said(hidden), said(other)).state is State.DIFFERS
    assert compare("made", table, said("1 user waits"), said(hidden)).state is State.DIFFERS


def test_rounding_is_told_and_no_difference() -> None:
    again = frame(("a", 1, 1.0 + 1e-12), ("b", None, None), ("c", 3, 1e-15))
    found = compare("made", TABLE, GIVEN, again)
    assert found.state is State.AGREES
    assert "some numbers to 1e-09 (of their size, where above 1) only" in found.note
