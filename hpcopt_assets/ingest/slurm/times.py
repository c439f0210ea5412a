"""Times of an sacct dump as instants: local times, times with an offset, seconds since the epoch.

In:  text columns and the machines' time zone.   Out: seconds since the Unix epoch, UTC.
Not here: durations (values.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import product
from typing import NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from hpcopt_assets.contracts.columns import TIME_MAX_S

LOCAL_FORMS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")
OFFSET_FORM = "%Y-%m-%dT%H:%M:%S%z"
UNKNOWN_WORDS = ("unknown", "none", "n/a", "invalid")
FIRST_CREDIBLE_S = 2 * 86400
# Slurm writes an unset time as 0, which a time zone shifts by less than a day.
ORDER = ("submit", "eligible", "start", "end")


class Instants(NamedTuple):
    """A column of times: `seconds`, null where unknown; `unsettled`: local times that are not one instant."""

    seconds: pl.Series
    is_bad: pl.Series
    unsettled: pl.Series


def instants(text: pl.Series, zone: str) -> Instants:
    """Read a column of times; `is_bad` where a text is neither a time nor a word for none."""
    frame = pl.DataFrame({"text": text})
    local = pl.col("text").str.to_datetime(LOCAL_FORMS[0], strict=False, time_unit="us")
    frame = frame.with_columns(local=local, absolute=pl.lit(None, pl.Int64), is_bad=pl.lit(False))
    other = pl.when(pl.col("local").is_null()).then(pl.col("text"))
    if frame.select(other.is_not_null().any()).item():
        frame = frame.with_columns(other=other).with_columns(
            local=pl.coalesce(
                "local", pl.col("other").str.to_datetime(LOCAL_FORMS[1], strict=False, time_unit="us")
            ),
            absolute=pl.coalesce(
                pl.col("other").cast(pl.Int64, strict=False),
                pl.col("other")
                .str.replace("Z$", "+0000")
                .str.to_datetime(OFFSET_FORM, strict=False, time_unit="us")
                .dt.epoch("s"),
            ),
        )
        is_told = pl.col("local").is_not_null() | pl.col("absolute").is_between(0, TIME_MAX_S)
        is_word = pl.col("other").str.to_lowercase().is_in(UNKNOWN_WORDS)
        frame = frame.with_columns(
            is_bad=pl.col("other").is_not_null() & ~is_told.fill_null(False) & ~is_word.fill_null(False)
        )
    placed = pl.col("local").dt.replace_time_zone(zone, ambiguous="null", non_existent="null")
    seconds = pl.coalesce("absolute", placed.dt.epoch("s"))
    frame = frame.select(
        pl.when(seconds.is_between(FIRST_CREDIBLE_S, TIME_MAX_S)).then(seconds).alias("seconds"),
        "is_bad",
        pl.when(placed.is_null()).then("local").alias("unsettled"),
    )
    return Instants(*frame.get_columns())


class Settled(NamedTuple):
    """One row's times (None where unknown), and whether a choice was left or a time never was."""

    times: dict[str, int | None]
    is_ambiguous: bool


def _candidates(local: datetime, zone: ZoneInfo) -> tuple[list[int], bool]:
    """The instants that a local time may mean, and whether the clocks ever showed it."""
    found = [local.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
    seconds = sorted({int(moment.timestamp()) for moment in found})
    is_shown = any(datetime.fromtimestamp(second, zone).replace(tzinfo=None) == local for second in seconds)
    return seconds, is_shown


def settle(
    known: Mapping[str, int | None], unsettled: Mapping[str, datetime], held_s: int | None, zone: ZoneInfo
) -> Settled:
    """Choose instants for one row's local times that the clocks showed twice, or never.

    The choice must make end minus start the time held, then keep submit, eligible, start and end in order;
    of what is left, the earliest.
    """
    options: list[list[int | None]] = []
    is_ambiguous = False
    for name in ORDER:
        if name in unsettled:
            seconds, is_shown = _candidates(unsettled[name], zone)
            options.append(list(seconds))
            is_ambiguous |= not is_shown
        else:
            options.append([known.get(name)])
    choices = list(product(*options))

    def fits(choice: tuple[int | None, ...]) -> bool:
        start, end = choice[2], choice[3]
        return start is None or end is None or held_s is None or end - start == held_s

    def is_ordered(choice: tuple[int | None, ...]) -> bool:
        told = [second for second in choice if second is not None]
        return told == sorted(told)

    for rule in (fits, is_ordered):
        choices = [choice for choice in choices if rule(choice)] or choices
    return Settled(dict(zip(ORDER, choices[0], strict=True)), is_ambiguous or len(choices) > 1)
