"""The order of ids: numbers as numbers, text as bytes, whatever order the lines had."""

from __future__ import annotations

import random
import re

import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st

from hpcopt_assets.contracts.order import DIGITS, ROW_ORDER, job_order
from hpcopt_assets.contracts.tables import TRACE_JOBS

NATURAL = [
    "", "5", "5+0", "5+1", "7", "9", "9_", "10", "10_2", "10_11", "12.srv", "12[3].srv", "12[10].srv", "100",
    "a", "a-1", "a2", "a10", "jid_9", "jid_10", "é1",
]  # fmt: skip


def keys(ids: list[str]) -> list[str]:
    return (
        pl.DataFrame({"job_id": ids}, schema={"job_id": pl.String})
        .select(job_order(pl.col("job_id")))
        .to_series()
        .to_list()
    )


def in_order(ids: list[str]) -> list[str]:
    frame = pl.DataFrame({"job_id": ids}).with_columns(key=job_order(pl.col("job_id")))
    return frame.sort("key", "job_id")["job_id"].to_list()


def test_ids_come_in_their_natural_order() -> None:
    shuffled = NATURAL.copy()
    random.Random(1).shuffle(shuffled)  # noqa: S311 -- any order will do
    assert in_order(shuffled) == NATURAL
    assert sorted(NATURAL) != NATURAL


def test_leading_zeros_change_neither_the_number_nor_the_id() -> None:
    assert keys(["007"]) == keys(["7"])
    assert in_order(["7", "007", "8", "06"]) == ["06", "007", "7", "8"]


def test_a_null_id_has_no_order() -> None:
    assert (
        pl.DataFrame({"job_id": [None]}, schema={"job_id": pl.String})
        .select(job_order(pl.col("job_id")))
        .item()
        is None
    )


def parts(job_id: str) -> list[tuple[int, int | bytes]]:
    """The plain definition: text before a number where both could follow, as bytes would have it."""
    return [int(part) if part.isdigit() else part for part in re.findall(r"[0-9]+|[^0-9]+", job_id)]  # type: ignore[misc]


def is_before(left: str, right: str) -> bool | None:
    """By parts, one by one; None where they tie, or where a number stands against text."""
    for one, other in zip(parts(left), parts(right), strict=False):
        if type(one) is not type(other):
            return None
        if one != other:
            if isinstance(one, str) and (one.startswith(other) or other.startswith(one)):  # type: ignore[arg-type]
                return None  # what follows the shorter text stands against the rest of the longer
            return one < other if isinstance(one, int) else one.encode() < other.encode()  # type: ignore[union-attr]
    return len(parts(left)) < len(parts(right)) if parts(left) != parts(right) else None


piece = st.one_of(
    st.integers(0, 10**DIGITS - 1).map(str),
    st.integers(0, 99).map(lambda number: f"{number:04d}"),
    st.text("[]_+.-abz é", min_size=1, max_size=3),
)
job_ids = st.lists(piece, min_size=1, max_size=5).map("".join)


@given(left=job_ids, right=job_ids)
def test_the_key_orders_ids_as_their_parts_do(left: str, right: str) -> None:
    assume(all(len(number) <= DIGITS for number in re.findall("[0-9]+", left + " " + right)))
    expected = is_before(left, right)
    one, other = keys([left, right])
    if expected is not None:
        assert (one < other) == expected
        assert one != other


@given(ids=st.lists(job_ids, max_size=8))
def test_polars_sorts_the_keys_as_bytes(ids: list[str]) -> None:
    frame = pl.DataFrame({"job_id": ids}, schema={"job_id": pl.String}).with_columns(
        key=job_order(pl.col("job_id"))
    )
    assert frame.sort("key")["key"].to_list() == sorted(keys(ids), key=str.encode)


def test_the_row_order_names_columns_of_the_table() -> None:
    assert set(ROW_ORDER) - set(TRACE_JOBS.names) == {"job_order"}
    assert ROW_ORDER[:2] == ("release_s", "submit_s")
    assert {"job_id", "attempt"} <= set(ROW_ORDER)
