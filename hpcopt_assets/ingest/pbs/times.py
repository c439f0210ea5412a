"""When records of a PBS log took place: by their own epochs, else by the clock of the machine.

In:  events: `job`, `local_s`, `epoch_s`.   Out: the same with `time_s`, and what is odd about the clock.
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


def _utc(local_s: pl.Expr, timezone: str, *, is_earlier: bool) -> pl.Expr:
    """UTC of a local time; one that a change of clocks skips is read by the clock after the change."""

    def convert(seconds: pl.Expr) -> pl.Expr:
        naive = pl.from_epoch(seconds, time_unit="s")
        zoned = naive.dt.replace_time_zone(
            timezone, ambiguous="earliest" if is_earlier else "latest", non_existent="null"
        )
        return zoned.dt.epoch("s")

    return pl.coalesce(convert(local_s), convert(local_s + HOUR_S) - HOUR_S)


def with_times(events: pl.DataFrame, timezone: str) -> pl.DataFrame:
    """Adds `time_s`, `is_ambiguous`, and `is_other_clock`: the job's own epochs contradict `timezone`.

    An epoch counts where there is one. For other records the local time counts; where records of the same
    job have both, they tell by how many quarters of an hour their clock is off, so that the events of a job
    stay in order even where `timezone` is not the machine's.
    """
    earlier = _utc(pl.col("local_s"), timezone, is_earlier=True)
    later = _utc(pl.col("local_s"), timezone, is_earlier=False)
    off_s = pl.col("epoch_s") - pl.col("utc_s")
    quarters_s = (off_s / QUARTER_S).round().cast(pl.Int64) * QUARTER_S
    is_zone = (off_s.abs() <= ZONE_MAX_S) & ((off_s - quarters_s).abs() <= WRITING_MAX_S)
    last_known = pl.col("off_s").forward_fill().backward_fill().over("job")
    return (
        events.with_columns(utc_s=earlier, later_s=later)
        .with_columns(off_s=pl.when(is_zone).then(quarters_s))
        .sort("job", "local_s", "off_s", nulls_last=True)
        .with_columns(
            time_s=pl.coalesce("epoch_s", pl.col("utc_s") + last_known.fill_null(0)),
            is_ambiguous=pl.col("epoch_s").is_null()
            & last_known.is_null()
            & (pl.col("later_s") != pl.col("utc_s")),
            is_other_clock=pl.col("off_s").fill_null(0) != 0,
        )
        .drop("utc_s", "later_s", "off_s", "local_s", "epoch_s")
    )
