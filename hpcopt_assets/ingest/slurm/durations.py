"""Durations of an sacct dump, and limits, which may be no time at all.

In:  text columns.   Out: seconds, and the kind of a requested runtime.
Not here: times of day (times.py).
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.vocabulary import RequestKind

DURATION = r"^(-)?(?:(\d{1,9})-)?(\d{1,12})(?::(\d{1,9}))?(?::(\d{1,9}))?(\.\d{1,9})?$"
PARTS = ("sign", "days", "first", "second", "third", "fraction")
LIMIT_WORDS = {
    "unlimited": RequestKind.UNLIMITED.value,
    "infinite": RequestKind.UNLIMITED.value,
    "4294967295": RequestKind.UNLIMITED.value,
    "partition_limit": RequestKind.PARTITION_LIMIT.value,
    "4294967294": RequestKind.PARTITION_LIMIT.value,
}
# The numbers are Slurm's INFINITE and NO_VAL, which may stand in TimelimitRaw.
MINUTE_S = 60


def durations(text: pl.Series) -> pl.Series:
    """Seconds (float64) of `[D-]HH:MM:SS`, `MM:SS[.mmm]`, `D-HH` and `D-HH:MM`, negative where it says so.

    Null where a text is none of these, or longer than the tables can hold.
    """
    found = text.str.extract_groups(DURATION).struct.rename_fields(list(PARTS)).struct.unnest()
    number = {name: pl.col(name).cast(pl.Int64, strict=False).fill_null(0) for name in PARTS[1:5]}
    first, second, third = number["first"], number["second"], number["third"]
    has_days, has_second, has_third = (pl.col(name).is_not_null() for name in ("days", "second", "third"))
    from_hours = first * 3600 + second * MINUTE_S + third
    clock = pl.when(has_days | has_third).then(from_hours).when(has_second).then(first * MINUTE_S + second)
    ends_in_seconds = has_third | ~has_days
    is_good = (second < 60) & (third < 60) & (pl.col("fraction").is_null() | ends_in_seconds)
    whole = number["days"] * 86400 + clock
    fraction = pl.concat_str(pl.lit("0"), "fraction").cast(pl.Float64, strict=False).fill_null(0.0)
    sign = pl.when(pl.col("sign").is_not_null()).then(-1.0).otherwise(1.0)
    return found.select(
        pl.when(is_good & (whole <= TIME_MAX_S)).then(sign * (whole + fraction)).alias("seconds")
    ).to_series()


def _limits(text: pl.Series, seconds: pl.Expr) -> pl.DataFrame:
    """`kind` and `seconds` of limits; the kind is `unknown` where a text is no limit, null without text."""
    frame = pl.DataFrame({"text": text, "told": durations(text)})
    word = pl.col("text").str.to_lowercase().replace_strict(LIMIT_WORDS, default=None, return_dtype=pl.String)
    is_limit = word.is_null() & seconds.is_between(0, TIME_MAX_S)
    kind = pl.coalesce(
        word,
        pl.when(is_limit).then(pl.lit(RequestKind.LIMIT.value)),
        pl.when(pl.col("text").is_not_null()).then(pl.lit(RequestKind.UNKNOWN.value)),
    )
    return frame.select(kind.alias("kind"), pl.when(is_limit).then(seconds).alias("seconds"))


def limits(text: pl.Series) -> pl.DataFrame:
    """What a column Timelimit says."""
    return _limits(text, (pl.col("told") + 0.5).floor().cast(pl.Int64))


def limits_in_minutes(text: pl.Series) -> pl.DataFrame:
    """What a column TimelimitRaw says."""
    return _limits(text, pl.col("text").cast(pl.Int64, strict=False) * MINUTE_S)
