"""Fields of a parquet log: what kind of value each has, and when a row is refused for one.

In:  columns as a file has them, of whatever type.   Out: expressions for the fields' values, and checks.
Not here: reading files (columns.py), and what several fields together say of a job (pm100.py, fdata.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import polars as pl

from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.vocabulary import RejectCode

RAW = "raw:"
# Before the name of a column as the file has it, to keep it apart from the field that is read from it.
NO_TEXT = ("", "nan", "NaN", "None", "NaT", "<NA>", "null")
# What pandas and others write where a text is missing.
REPLACED = "\ufffd"
# Stands for bytes that are no UTF-8 (columns.py).
UNSET_NUMBERS = (2.0**32 - 2, 2.0**32 - 1, 2.0**63, 2.0**64)
# Slurm's NO_VAL and INFINITE, and the largest integers of 63 and 64 bits as floats: never a quantity.
UNSET_UNTIL_S = 2 * 86_400
# An unset time is written as 0, which a time zone shifts by less than a day.
UNSET_TIMES_S = (2**32 - 2, 2**32 - 1)
INSTANT_MAX_S = TIME_MAX_S // 2
SPAN_MAX_S = TIME_MAX_S // 4
# An instant and a span or two stay within the tables' bounds together.
LOCAL_FORM = "%Y-%m-%d %H:%M:%S"
LOCAL_CHARS = len("2021-03-01 00:00:00")
AFTER_LOCAL = r"^(?:\.[0-9]+)? ?(?:(Z|[+-][0-9]{2})(?::?([0-9]{2}))?)?$"
# A fraction, and the offset from UTC: `+09`, `+0900`, `+09:00`, `Z`, or nothing for local time.


@dataclass(frozen=True)
class Check:
    """A row is refused where `fails` holds, over raw columns and fields; `needed` ends the reason."""

    field: str
    fails: pl.Expr
    code: RejectCode
    needed: str


@dataclass(frozen=True)
class Text:
    """A name or a word. Numbers are written as whole numbers where they are."""

    name: str
    spellings: tuple[str, ...]
    is_needed: bool = False
    missing: RejectCode | None = None
    # Why a row without a value is refused; None keeps it.
    dtype = pl.String()
    kind = "a text"

    def accepts(self, dtype: pl.DataType) -> bool:
        """Whether columns of that type can hold it."""
        return dtype in (pl.String, pl.Boolean) or dtype.is_numeric()

    def read(self, raw: pl.Expr, dtype: pl.DataType, zone: str) -> pl.Expr:  # noqa: ARG002 -- as for all kinds
        """The text, trimmed; null where there is none."""
        text = _written(raw, dtype).str.strip_chars()
        return pl.when(~text.is_in(NO_TEXT)).then(text)

    def checks(self, raw: pl.Expr, dtype: pl.DataType) -> list[Check]:  # noqa: ARG002 -- as for all kinds
        """A needed text is there, and its bytes are UTF-8."""
        if self.missing is None:
            return []
        value = pl.col(self.name)
        return [
            Check(self.name, value.is_null(), self.missing, "a value"),
            Check(self.name, value.str.contains(REPLACED, literal=True), RejectCode.UNDECODABLE, "UTF-8"),
        ]

    def cleaned(self) -> pl.Expr:
        """The value after the checks."""
        return pl.col(self.name)


@dataclass(frozen=True)
class Number:
    """A quantity, from 0 to `hi`."""

    name: str
    spellings: tuple[str, ...]
    hi: float
    is_needed: bool = False
    is_whole: bool = True
    negative: RejectCode = RejectCode.NEGATIVE_VALUE
    dtype = pl.Float64()
    kind = "a number"

    def accepts(self, dtype: pl.DataType) -> bool:
        """Whether columns of that type can hold it."""
        return dtype == pl.String or dtype.is_numeric()

    def read(self, raw: pl.Expr, dtype: pl.DataType, zone: str) -> pl.Expr:  # noqa: ARG002 -- as for all kinds
        """The number as a float; null where there is none. Unset values still stand for themselves."""
        if dtype == pl.String:
            raw = raw.str.strip_chars()
        return raw.cast(pl.Float64, strict=False).fill_nan(None)

    def checks(self, raw: pl.Expr, dtype: pl.DataType) -> list[Check]:
        """It is a number, not negative, not too large, and whole where it must be."""
        value = pl.col(self.name)
        kind = "a whole number" if self.is_whole else "a number"
        needed = f"{kind} from 0 to {self.hi:.0f}"
        is_odd = (value > self.hi) & ~value.is_in(UNSET_NUMBERS)
        if self.is_whole:
            is_odd |= value != value.floor()
        found = [
            Check(self.name, value < 0, self.negative, needed),
            Check(self.name, is_odd, RejectCode.OUT_OF_RANGE, needed),
        ]
        if dtype == pl.String:
            is_said = ~raw.str.strip_chars().is_in(NO_TEXT)
            found.insert(0, Check(self.name, is_said & value.is_null(), RejectCode.NOT_A_NUMBER, needed))
        return found

    def cleaned(self) -> pl.Expr:
        """The value after the checks: unset numbers are null, as are those for which a row is refused."""
        value = pl.col(self.name)
        return pl.when(value.is_between(0, self.hi) & ~value.is_in(UNSET_NUMBERS)).then(value)


@dataclass(frozen=True)
class Instant:
    """A point in time: a timestamp, a text such as `2021-03-01 00:00:00+09`, or seconds since 1970.

    Times without an offset are local to the machine. 0 and Slurm's unset values are no times.
    """

    name: str
    spellings: tuple[str, ...]
    is_needed: bool = False
    missing: RejectCode | None = None
    is_judged: bool = True
    # False: a time that cannot be read is just unknown.
    dtype = pl.Int64()
    kind = "an instant"

    def accepts(self, dtype: pl.DataType) -> bool:
        """Whether columns of that type can hold it."""
        return dtype in (pl.String, pl.Date, pl.Datetime) or dtype.is_numeric()

    def read(self, raw: pl.Expr, dtype: pl.DataType, zone: str) -> pl.Expr:
        """Whole seconds since the Unix epoch, UTC; null where the column holds no time. Not yet cleaned.

        Of an hour that comes twice when clocks are set back, the first is meant; a skipped one is no time.
        """
        if dtype.is_numeric():
            return raw.cast(pl.Float64).floor().cast(pl.Int64, strict=False)
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
            return raw.dt.epoch("s")
        placed = _local(raw, dtype).dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
        if dtype != pl.String:
            return placed.dt.epoch("s")
        after, hours, offset_s = _offset(raw)
        told = (
            pl.when(hours.is_null())
            .then(placed.dt.epoch("s"))
            .otherwise(_local(raw, dtype).dt.epoch("s") - offset_s)
        )
        return pl.when(after.str.contains(AFTER_LOCAL)).then(told)

    def is_repeated(self, raw: pl.Expr, dtype: pl.DataType, zone: str) -> pl.Expr:
        """Whether it is a local time of an hour that comes twice."""
        is_local = dtype in (pl.String, pl.Datetime) and getattr(dtype, "time_zone", None) is None
        if not is_local or not _sets_clocks_back(zone):
            return pl.lit(False)
        local = _local(raw, dtype)
        first, last = (
            local.dt.replace_time_zone(zone, ambiguous=which, non_existent="null")
            for which in ("earliest", "latest")
        )
        is_repeated = first != last
        return is_repeated & _offset(raw)[1].is_null() if dtype == pl.String else is_repeated

    def checks(self, raw: pl.Expr, dtype: pl.DataType) -> list[Check]:
        """It is a time, one of our era, and there where it must be."""
        if not self.is_judged:
            return []
        value = pl.col(self.name)
        is_said = ~raw.str.strip_chars().is_in(NO_TEXT) if dtype == pl.String else raw.is_not_null()
        if dtype.is_float():
            is_said &= raw.is_not_nan()
        needed = "a time such as 2021-03-01 00:00:00+09:00"
        found = [
            Check(self.name, is_said & value.is_null(), RejectCode.NOT_A_TIME, needed),
            Check(
                self.name,
                value > INSTANT_MAX_S,
                RejectCode.OUT_OF_RANGE,
                f"at most {INSTANT_MAX_S} s since 1970",
            ),
        ]
        if self.missing is not None:
            found.append(Check(self.name, self.cleaned().is_null(), self.missing, needed))
        return found

    def cleaned(self) -> pl.Expr:
        """The value after the checks: unset times are null."""
        value = pl.col(self.name)
        is_set = value.is_between(UNSET_UNTIL_S, INSTANT_MAX_S) & ~value.is_in(UNSET_TIMES_S)
        return pl.when(is_set).then(value)


Field = Text | Number | Instant


def positive(name: str) -> pl.Expr:
    """A field's number where it is above 0: no job has 0 processors or nodes, so that says nothing."""
    return pl.when(pl.col(name) > 0).then(pl.col(name))


def _written(raw: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if not dtype.is_float():
        return raw.cast(pl.String)
    # Pandas makes floats of whole numbers where some are missing: 310.0 is user 310.
    is_whole = (raw == raw.floor()) & (raw.abs() < 2.0**53)
    whole = pl.when(is_whole).then(raw).cast(pl.Int64).cast(pl.String)
    return pl.coalesce(whole, raw.fill_nan(None).cast(pl.String))


def _local(raw: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A time as the clock on the wall showed it."""
    if dtype != pl.String:
        return raw.cast(pl.Datetime("ms"))
    return (
        raw.str.strip_chars()
        .str.slice(0, LOCAL_CHARS)
        .str.replace("T", " ", literal=True)
        .str.to_datetime(LOCAL_FORM, strict=False, time_unit="ms")
    )


def _offset(raw: pl.Expr) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """What follows the clock's time; its offset's hours, null for a local time; the offset in seconds."""
    after = raw.str.strip_chars().str.slice(LOCAL_CHARS)
    parts = after.str.extract_groups(AFTER_LOCAL).struct
    hours = parts.field("1")
    hours_s = 3600 * hours.cast(pl.Int64, strict=False).fill_null(0)
    minutes_s = 60 * parts.field("2").cast(pl.Int64, strict=False).fill_null(0)
    return after, hours, hours_s + pl.when(hours.str.starts_with("-")).then(-minutes_s).otherwise(minutes_s)


def _sets_clocks_back(zone: str) -> bool:
    """Whether a zone has summer time, or had it since logs are kept."""
    days = (datetime(year, month, 1, tzinfo=ZoneInfo(zone)) for year in range(1990, 2038) for month in (1, 7))
    return len({day.utcoffset() for day in days}) > 1
