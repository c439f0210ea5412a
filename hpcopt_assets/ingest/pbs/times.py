"""When records of a PBS log took place: by their own epochs, else by the clock of the machine.

In:  events: `number` (of the job id), `local_s`, `epoch_s`.   Out: the same with `time_s`, and what is odd
     about the clock.
"""

from __future__ import annotations

import polars as pl

QUARTER_S = 900
WRITING_MAX_S = 60
# Clocks differ from UTC by whole quarters of an hour; what differs otherwise was written later than it took
# place.
ZONE_MAX_S = 14 * 3600
# No place is further from UTC.
HOUR_S = 3600


def _shown(local_s: pl.Expr, timezone: str, *, is_earlier: bool) -> pl.Expr:
    """UTC of a local time that the clocks showed; null for one that a change of clocks skipped."""
    zoned = pl.from_epoch(local_s, time_unit="s").dt.replace_time_zone(
        timezone, ambiguous="earliest" if is_earlier else "latest", non_existent="null"
    )
    return zoned.dt.epoch("s")


def _nearest_known() -> pl.Expr:
    """By how much the clock is off, as the nearest record of the id tells: by another season it differs."""
    local_s, off_s = pl.col("local_s"), pl.col("off_s")
    known_at = pl.when(off_s.is_not_null()).then(local_s)
    before_s = local_s - known_at.forward_fill().over("number")
    after_s = known_at.backward_fill().over("number") - local_s
    before, after = (filled.over("number") for filled in (off_s.forward_fill(), off_s.backward_fill()))
    return pl.when((after_s < before_s).fill_null(before_s.is_null())).then(after).otherwise(before)


def with_times(events: pl.DataFrame, timezone: str) -> pl.DataFrame:
    """Adds `time_s`, `is_ambiguous`, and `is_other_clock`: the job's own epochs contradict `timezone`.

    An epoch counts where there is one. For other records the local time counts; where records of the same id
    have both, the nearest tells by how many quarters of an hour the clock is off, so that the events of a job
    stay in order even where `timezone` is not the machine's. A local time that was skipped is read by the
    clock after the change; it is as doubtful as one that comes twice.
    """
    local_s = pl.col("local_s")
    earlier = _shown(local_s, timezone, is_earlier=True)
    skipped = _shown(local_s + HOUR_S, timezone, is_earlier=True) - HOUR_S
    is_shown_once = (earlier == _shown(local_s, timezone, is_earlier=False)).fill_null(False)
    off_s = pl.col("epoch_s") - pl.col("utc_s")
    quarters_s = (off_s / QUARTER_S).round().cast(pl.Int64) * QUARTER_S
    is_zone = (off_s.abs() <= ZONE_MAX_S) & ((off_s - quarters_s).abs() <= WRITING_MAX_S)
    return (
        events.with_columns(utc_s=pl.coalesce(earlier, skipped), is_shown_once=is_shown_once)
        .with_columns(off_s=pl.when(is_zone).then(quarters_s))
        .sort("number", "local_s", "off_s", nulls_last=True)
        .with_columns(nearest_off_s=_nearest_known())
        .with_columns(
            time_s=pl.coalesce("epoch_s", pl.col("utc_s") + pl.col("nearest_off_s").fill_null(0)),
            is_ambiguous=pl.col("epoch_s").is_null()
            & pl.col("nearest_off_s").is_null()
            & ~pl.col("is_shown_once"),
            is_other_clock=pl.col("off_s").fill_null(0) != 0,
        )
        .drop("utc_s", "is_shown_once", "off_s", "nearest_off_s", "local_s", "epoch_s")
    )
