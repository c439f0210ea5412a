"""Hours, weekdays, weeks and quarters as the machine's users live them: in its time zone.

In:  instants (s since the epoch), an IANA zone.   Out: local hours, weekdays, dates; weeks and quarters as
     instants.
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


class Quarter(NamedTuple):
    """A calendar quarter between local midnights; `name` is like `2003-Q2`."""

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
    ends_on = pl.DataFrame({"monday": ends.dt.replace_time_zone(None).dt.truncate("1w")})
    # Named inside polars: Python's own dates end with the year 9999, a broken clock may not.
    every = pl.datetime_range(pl.col("monday").first(), pl.col("monday").last(), interval="1w")
    begin_on = ends_on.select(every).to_series()
    cuts = _begins(begin_on, zone)[1:].tolist()
    names = begin_on.dt.strftime("%Y-%m-%d").to_list()
    edges = [span.start_s, *cuts, span.end_s]
    return [Week(name, Span(*edge)) for name, edge in zip(names, pairwise(edges), strict=True)]


def mondays(at_s: IntArray, zone: Zone) -> IntArray:
    """For each instant the Monday of its local week, in days since 1970-01-01, which was a Thursday."""
    date = days(at_s, zone)
    return date - (date + 3) % 7


def date_name(day: int) -> str:
    """A day since 1970-01-01 as a date; polars knows also those after the year 9999."""
    return str(pl.select(pl.lit(day).cast(pl.Int32).cast(pl.Date).dt.strftime("%Y-%m-%d")).item())


def quarters(at_s: IntArray, zone: Zone) -> list[Quarter]:
    """The calendar quarters in which any of the instants lies, whole, in order of time."""
    local = _local(at_s, zone.name).dt
    numbers = np.unique((local.year().cast(pl.Int64) * 4 + local.quarter() - 1).to_numpy())
    first, after = (_begins(_first_days(number), zone).tolist() for number in (numbers, numbers + 1))
    names = [f"{number // 4:04}-Q{number % 4 + 1}" for number in numbers.tolist()]
    return [Quarter(name, Span(*edges)) for name, *edges in zip(names, first, after, strict=True)]


def _first_days(quarter: IntArray) -> pl.Series:
    """Midnight of the first day of quarters, which are counted from the year 0."""
    numbers = pl.DataFrame({"year": quarter // 4, "month": quarter % 4 * 3 + 1})
    return numbers.select(pl.datetime("year", "month", 1)).to_series()


def _begins(midnights: pl.Series, zone: Zone) -> IntArray:
    """Instants of local midnights; a day on which clocks go forward at midnight begins at one."""
    begins = pl.select(
        pl.coalesce(
            (midnights + pl.duration(hours=late)).dt.replace_time_zone(
                zone.name, ambiguous="earliest", non_existent="null"
            )
            for late in (0, 1)
        )
    ).to_series()
    return begins.dt.epoch("s").to_numpy()


def _local(at_s: IntArray, zone: str) -> pl.Series:
    return pl.from_epoch(pl.Series(at_s), time_unit="s").dt.replace_time_zone(UTC).dt.convert_time_zone(zone)
