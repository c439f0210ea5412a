"""Hiding: names in tables become pseudonyms, text that may hold names is left out.

In:  tables by their contracts, `Pseudonyms`.   Out: tables, entries, lineage.
Not here: whom a column may name (contracts/identities.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import polars as pl

from hpcopt_assets.bundle.key import DIGITS, Pseudonyms
from hpcopt_assets.contracts.columns import Column, DType, Table
from hpcopt_assets.contracts.identities import Holds, holds
from hpcopt_assets.contracts.lineage import InputVersion, Materialization
from hpcopt_assets.contracts.tables import RAW_TRACE, TRACE_JOBS

LEFT_OUT = "(left out: it may hold names)"
BEFORE_A_NAME = "user "
# How our own sentences name a user.
WRITTEN_BY_PEOPLE = ("url", "note", "licence")
# Of a registry entry: an address may hold a path, the others are prose.
Made = TypeVar("Made", Materialization, InputVersion)


def keyed(
    records: Iterable[Materialization], plain: Set[str], told: Callable[[str], str]
) -> tuple[Materialization, ...]:
    """The records, `told` in place of all data versions but those in `plain`, of tables that name nobody."""

    def shown(made: Made) -> Made:
        version = made.data_version
        return made if version is None or version in plain else replace(made, data_version=told(version))

    return tuple(shown(replace(one, inputs=tuple(map(shown, one.inputs)))) for one in records)


@dataclass
class Hider:
    """Hides one trace's names.

    `users` are all who may stand in a sentence; where they are not known (None), a sentence that names
    anybody is left out whole. `left_out` grows as text goes.
    """

    pseudonyms: Pseudonyms
    users: frozenset[str] | None
    left_out: set[str] = field(default_factory=set)

    @classmethod
    def of_trace(cls, pseudonyms: Pseudonyms, tables: Mapping[str, pl.DataFrame]) -> Hider:
        """Hides all who stand in the trace's jobs or whom its registry entry excludes; tables by asset."""
        if not tables.keys() >= {TRACE_JOBS.name, RAW_TRACE.name}:
            return cls(pseudonyms, None)
        users = tables[TRACE_JOBS.name]["user"].cast(pl.String).drop_nulls().unique()
        entries = tables[RAW_TRACE.name]["entry"].drop_nulls().unique()
        excluded = {one["user"] for entry in entries for one in json.loads(entry).get("exclude", ())}
        return cls(pseudonyms, frozenset(users) | excluded)

    def table(self, contract: Table, frame: pl.DataFrame) -> pl.DataFrame:
        """The table with every name replaced; equal to `frame` where it names nobody."""
        return frame.with_columns(
            self._column(contract, column, frame[column.name]) for column in contract.columns
        )

    def entry(self, entry: dict[str, Any], where: str) -> dict[str, Any]:
        """A registry entry: users whose jobs it excludes by pseudonyms, prose and addresses left out."""
        kept = {key: value for key, value in entry.items() if key not in WRITTEN_BY_PEOPLE}
        self.left_out |= {f"{where}.{key}" for key in entry.keys() - kept.keys()}
        if kept.get("exclude"):
            kept["exclude"] = [
                one | {"user": self.pseudonyms.of(Holds.USER, one["user"])} for one in kept["exclude"]
            ]
        return kept

    def version(self, sha256: str | None) -> str | None:
        """What stands for the hash of a table that names people."""
        return None if sha256 is None else self.pseudonyms.version(sha256)

    def sentence(self, text: str) -> str:
        """A sentence of ours; after the word `user` the longest known name gives way to its pseudonym."""
        if self.users is None:
            return LEFT_OUT if BEFORE_A_NAME in text else text
        done, rest = "", text
        while BEFORE_A_NAME in rest:
            before, rest = rest.split(BEFORE_A_NAME, 1)
            done += before + BEFORE_A_NAME
            name = self._name_at_start(rest)
            if name is not None:
                done += self.pseudonyms.of(Holds.USER, name)
                rest = rest[len(name) :]
        return done + rest

    def _name_at_start(self, text: str) -> str | None:
        users = self.users or frozenset()
        for end in range(min(len(text), self._longest), 0, -1):
            follows = text[end : end + 1]
            if text[:end] in users and not (follows.isalnum() or follows == "_"):
                return text[:end]
        return None

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.users or ()), default=0)

    def _column(self, table: Table, column: Column, values: pl.Series) -> pl.Series:
        kind, where = holds(table, column), f"{table.name}.{column.name}"
        if kind is Holds.NOBODY:
            return values
        if column.dtype is not DType.STRING:
            return self._lists(values, where) if column.dtype is DType.STRINGS else self._bytes(values, where)
        if kind.is_identity:
            if kind is Holds.UNKNOWN:
                self._note(f"{where} (pseudonyms, for nobody says whom it may name)", is_any=True)
            return self.pseudonyms.of_all(kind, values)
        if kind is Holds.FOREIGN:
            self._note(where, is_any=values.null_count() < values.len())
            return pl.select(
                pl.when(values.is_not_null()).then(pl.lit(LEFT_OUT)).alias(values.name)
            ).to_series()
        hide = self.sentence if kind is Holds.SENTENCE else lambda text: self._entry_text(text, where)
        known = values.drop_nulls().unique().to_list()
        changed = {text: new for text in known if (new := hide(text)) != text}
        if kind is Holds.SENTENCE:
            self._note(f"{where} (names of users in sentences)", is_any=bool(changed))
        return values.replace(changed) if changed else values

    def _entry_text(self, text: str, where: str) -> str:
        return json.dumps(self.entry(json.loads(text), where), separators=(",", ":"))

    def _lists(self, values: pl.Series, where: str) -> pl.Series:
        """Lists of foreign text: one item in place of however many there are."""
        self._note(where, is_any=bool((values.list.len() > 0).any()))
        return pl.Series(
            values.name, [None if row is None else [LEFT_OUT][: len(row)] for row in values], values.dtype
        )

    def _bytes(self, values: pl.Series, where: str) -> pl.Series:
        self._note(where, is_any=values.null_count() < values.len())
        return pl.Series(values.name, [None if value is None else b"" for value in values], values.dtype)

    def _note(self, where: str, *, is_any: bool) -> None:
        if is_any:
            self.left_out.add(where)


def first_name(contract: Table, frame: pl.DataFrame) -> str | None:
    """The first column of a table that is not hidden as it should be; None where all are."""
    for column in contract.columns:
        kind, values = holds(contract, column), frame[column.name]
        if column.dtype is not DType.STRING or not (kind.is_identity or kind is Holds.FOREIGN):
            continue
        shown = f"^{kind.value}_[0-9a-f]{{{DIGITS}}}$" if kind.is_identity else f"^{re.escape(LEFT_OUT)}$"
        if not values.cast(pl.String).str.contains(shown).all(ignore_nulls=True):
            return column.name
    return None
