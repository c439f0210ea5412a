"""The profile for reading: one short table a topic.

In:  trace_profile.   Out: frames of text, small enough for a catalogue's page.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.vocabulary import ProfileMeasure, ProfileTopic

LEFT_OUT = ("p10", "p25", "p75", "p90")
# Of the quantiles the table holds, those that a glance does not need.
CYCLES = (ProfileMeasure.HOUR_OF_DAY.value, ProfileMeasure.WEEKDAY.value)
FLURRIES_SHOWN = 8
DIGITS = 4


def topic_tables(profile: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Topic -> its measures with value, unit and evidence as text, and `largest_flurries`.

    Cycles and weeks are left to the pictures.
    """
    glance = profile.filter(
        ~pl.col("item").is_in(LEFT_OUT),
        ~pl.col("measure").is_in(CYCLES),
        ~pl.col("item").str.contains("^(week|flurry) "),
    )
    tables = {topic.value: _measures(glance.filter(topic=topic.value)) for topic in ProfileTopic}
    return tables | {"largest_flurries": _flurries(profile)}


def _measures(rows: pl.DataFrame) -> pl.DataFrame:
    shown = [
        (row["measure"], row["item"], _value(row), _interval(row), f"{row['evidence_count']:,}")
        for row in rows.iter_rows(named=True)
    ]
    return pl.DataFrame(shown, schema=["measure", "of", "value", "95 % interval", "evidence"], orient="row")


def _flurries(profile: pl.DataFrame) -> pl.DataFrame:
    """The flurries with most jobs, one a row."""
    named = {
        ProfileMeasure.FLURRY_SHARE.value: "share of all jobs",
        ProfileMeasure.FLURRY_SHARE_MEANWHILE.value: "of those meanwhile",
        ProfileMeasure.FLURRY_ALIKE_SHARE.value: "alike",
    }
    about = ["item", "user", "start_s", "end_s", "evidence_count"]
    each = profile.filter(pl.col("item").str.starts_with("flurry "))
    if each.is_empty():
        return pl.DataFrame(schema=["user", "from (UTC)", "to (UTC)", "jobs", *named.values()])
    wide = each.pivot("measure", index=about, values="value").sort(
        "evidence_count", descending=True, maintain_order=True
    )
    return wide.head(FLURRIES_SHOWN).select(
        "user",
        _date("start_s").alias("from (UTC)"),
        _date("end_s").alias("to (UTC)"),
        pl.col("evidence_count").alias("jobs"),
        *(
            (100 * pl.col(measure)).round(1).cast(pl.String).add(" %").alias(name)
            for measure, name in named.items()
        ),
    )


def _date(instant: str) -> pl.Expr:
    return pl.from_epoch(instant, time_unit="s").dt.strftime("%Y-%m-%d %H:%M")


def _value(row: dict[str, object]) -> str:
    if row["value"] is None:
        return f"not known: {row['note']}"
    about = f" (user {row['user']})" if row["user"] is not None else ""
    return f"{_number(row['value'])} {row['unit']}{about}"


def _interval(row: dict[str, object]) -> str:
    return "" if row["lower"] is None else f"{_number(row['lower'])} to {_number(row['upper'])}"


def _number(value: object) -> str:
    """To four digits, written out: 11,470,000."""
    return f"{float(f'{value:.{DIGITS}g}'):,.12g}"
