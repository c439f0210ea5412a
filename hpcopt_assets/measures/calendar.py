"""Hours, weekdays and weeks as the machine's users live them: in its time zone.

In:  instants (s since the epoch), an IANA zone.   Out: local hours, weekdays, dates; weeks as instants.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl

from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.measures.window import Span

UTC = "UTC"


class Zone(NamedTuple):
    """A time zone that polars knows, and what to say of it."""

    name: str
    note: str


class Week(NamedTuple):
    """What lies in a span of the week that begins on a Monday at local midnight; `name` is that date."""

    name: str
    span: Span


def zone_of(timezone: str | None) -> Zone:
    """The zone of that IANA name; UTC, and a note that says so, where it is not known or no such name."""
    if not timezone:
        return Zone(UTC, "time zone not known: UTC")
    try:
        _local(np.zeros(1, dtype=np.int64), timezone)
    except pl.exceptions.ComputeError:
        return Zone(UTC, f"{timezone!r} is no IANA time zone: UTC")
    return Zone(timezone, f"time zone {timezone}")


def hours_and_weekdays(at_s: IntArray, zone: Zone) -> tuple[IntArray, IntArray]:
    """For each instant its local hour (0 to 23) and weekday (0 is Monday)."""
    local = _local(at_s, zone.name).dt
    return local.hour().cast(pl.Int64).to_numpy(), local.weekday().cast(pl.Int64).to_numpy() - 1


def days(at_s: IntArray, zone: Zone) -> IntArray:
    """For each instant its local date, in days since 1970-01-01."""
    return _local(at_s, zone.name).dt.date().cast(pl.Int64).to_numpy()


def weeks(span: Span, zone: Zone) -> list[Week]:
    """The span (not empty) cut at the Mondays' local midnights; weeks of a clock change are an hour off."""
    ends = _local(np.array([span.start_s, span.end_s - 1], dtype=np.int64), zone.name)
    days = pl.DataFrame({"monday": ends.dt.replace_time_zone(None).dt.truncate("1w")})
    # Named inside polars: Python's own dates end with the year 9999, a broken clock may not.
    every = pl.datetime_range(pl.col("monday").first(), pl.col("monday").last(), interval="1w")
    mondays = days.select(every).to_series()
    # Where clocks go forward at midnight there is none: the day begins at one.
    begins = pl.select(
        pl.coalesce(
            (mondays + pl.duration(hours=late)).dt.replace_time_zone(
                zone.name, ambiguous="earliest", non_existent="null"
            )
            for late in (0, 1)
        )
    ).to_series()
    cuts = begins.dt.epoch("s").to_numpy()[1:].tolist()
    names = mondays.dt.strftime("%Y-%m-%d").to_list()
    edges = [span.start_s, *cuts, span.end_s]
    return [Week(name, Span(*edge)) for name, edge in zip(names, pairwise(edges), strict=True)]


def _local(at_s: IntArray, zone: str) -> pl.Series:
    return pl.from_epoch(pl.Series(at_s), time_unit="s").dt.replace_time_zone(UTC).dt.convert_time_zone(zone)
