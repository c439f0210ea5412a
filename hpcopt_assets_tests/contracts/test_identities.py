"""Every column of text says whom it may name, so that no table leaves a site with names nobody thought of."""

from __future__ import annotations

import pytest

from hpcopt_assets.contracts.columns import Column, DType, Table
from hpcopt_assets.contracts.identities import Holds, holds
from hpcopt_assets.contracts.makers import text, word
from hpcopt_assets.contracts.tables import TABLES, TRACE_JOBS, TRACE_REJECTS


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_every_column_of_text_is_classified(table: Table) -> None:
    unknown = [column.name for column in table.columns if holds(table, column) is Holds.UNKNOWN]
    assert unknown == [], "say in contracts/identities.py whom these may name"


def test_people_and_their_files_are_identities() -> None:
    found = {column.name: holds(TRACE_JOBS, column) for column in TRACE_JOBS.columns}
    assert {name for name, kind in found.items() if kind.is_identity} == {
        *("user", "group", "account", "name", "source_file")
    }
    assert {
        holds(TRACE_REJECTS, column) for column in TRACE_REJECTS.columns if column.name in ("text", "reason")
    } == {Holds.FOREIGN}


def test_a_column_that_nobody_classified_is_an_identity() -> None:
    table = Table("made", "made", (text("nickname", "made"), word("kind", "made", ("a",))), key=("kind",))
    assert [holds(table, column) for column in table.columns] == [Holds.UNKNOWN, Holds.NOBODY]
    assert Holds.UNKNOWN.is_identity
    assert holds(table, Column("many", DType.STRINGS, "made")) is Holds.UNKNOWN
