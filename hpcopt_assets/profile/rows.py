"""One row of the profile, and how rows become the table.

In:  findings of one topic after another.   Out: trace_profile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from hpcopt_assets.contracts.tables import TRACE_PROFILE
from hpcopt_assets.contracts.vocabulary import ProfileMeasure, ProfileTopic, Unit

ALL = "all"
_RATIO = "ratio"
SIZE_UNIT = {Unit.PROCS: "processors", Unit.NODES: "nodes"}
_WORK = {Unit.PROCS: "processor-seconds", Unit.NODES: "node-seconds"}
_UNIT = {
    ProfileMeasure.RUNTIME: "s",
    ProfileMeasure.GAP: "s",
    ProfileMeasure.TAIL_INDEX: "exponent",
    ProfileMeasure.QUEUE_LENGTH: "jobs",
    ProfileMeasure.USERS: "users",
    ProfileMeasure.FLURRIES: "flurries",
}


class Row(NamedTuple):
    """One finding. `value` None needs a `note`; stretches of time are half-open."""

    topic: ProfileTopic
    measure: ProfileMeasure
    item: str
    value: float | None
    evidence_count: int
    note: str | None = None
    lower: float | None = None
    upper: float | None = None
    user: str | None = None
    start_s: int | None = None
    end_s: int | None = None


def unknown(topic: ProfileTopic, measure: ProfileMeasure, why: str, evidence_count: int = 0) -> Row:
    """A measure that cannot be known of this trace."""
    return Row(topic, measure, ALL, None, evidence_count, why)


def as_table(rows: Iterable[Row], *, trace_id: str, unit: Unit) -> pl.DataFrame:
    """`trace_profile`, in the order of `rows`; an item's position is its place within topic and measure."""
    place: Counter[tuple[str, str]] = Counter()

    def full(row: Row) -> dict[str, object]:
        place[row.topic, row.measure] += 1
        return row._asdict() | {
            "trace_id": trace_id,
            "topic": row.topic.value,
            "measure": row.measure.value,
            "position": place[row.topic, row.measure],
            "unit": _unit(row.measure, unit),
        }

    schema = TRACE_PROFILE.polars_schema()
    return TRACE_PROFILE.shape(pl.DataFrame([full(row) for row in rows], schema=schema))


def _unit(measure: ProfileMeasure, unit: Unit) -> str:
    if measure is ProfileMeasure.SIZE:
        return SIZE_UNIT[unit]
    if measure is ProfileMeasure.WORK:
        return _WORK[unit]
    return _UNIT.get(measure, _RATIO)
