"""Profiles of made traces, and single numbers out of them.

In:  rows of `builders.trace`.   Out: valid `trace_profile` frames; values by name.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
from hypothesis import strategies as st

from hpcopt_assets.contracts.config import ProfileConfig
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import TRACE_PROFILE
from hpcopt_assets.contracts.vocabulary import JobState
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.profile.trace import profile_trace
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import shipped

CONFIG = shipped(ProfileConfig)
MONDAY_S = 1_704_067_200
# 2024-01-01T00:00:00Z, a Monday.


def profile(jobs: pl.DataFrame, **options: Any) -> pl.DataFrame:
    """The profile of a frame, held against its contract."""
    known: dict[str, Any] = {
        "trace_id": "made",
        "capacity": Capacity(10),
        "timezone": "UTC",
        "config": CONFIG,
    }
    found = profile_trace(jobs, **(known | options))
    validate(TRACE_PROFILE, found)
    return found


def row(table: pl.DataFrame, topic: str, measure: str, item: str = "all") -> dict[str, Any]:
    """The one row of that key."""
    return table.filter(topic=topic, measure=measure, item=item).row(0, named=True)


def value(table: pl.DataFrame, topic: str, measure: str, item: str = "all") -> float | None:
    """The value of the one row of that key."""
    return row(table, topic, measure, item)["value"]


def at(text: str, zone: str = "UTC") -> int:
    """Local time as seconds since the epoch."""
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp())


def _job(facts: tuple[Any, ...]) -> dict[str, Any]:
    submit, wait, procs, runtime, request, user, state, allocated = facts
    return job(
        0,
        MONDAY_S + submit,
        procs,
        runtime,
        request,
        wait_s=None if runtime is None else wait,
        user=user,
        state=state,
        allocated_procs=allocated if procs is not None else None,
    )


def _numbered(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return trace([made | {"job_id": str(i)} for i, made in enumerate(rows, start=1)])


def maybe(known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value that the log may not tell."""
    return st.none() | known


JOBS = st.lists(
    st.tuples(
        st.integers(0, 40 * 86400),
        maybe(st.integers(0, 90_000)),
        maybe(st.integers(1, 20)),
        maybe(st.integers(0, 200_000)),
        maybe(st.integers(0, 300_000)),
        maybe(st.sampled_from(["anna", "bo", "cy"])),
        st.sampled_from([JobState.COMPLETED, JobState.CANCELLED, JobState.RUNNING]),
        maybe(st.integers(1, 20)),
    ).map(_job),
    max_size=12,
).map(_numbered)
# Traces with everything that may be missing missing somewhere.
