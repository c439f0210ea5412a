"""Quarters and weeks in the machine's time zone, against Python's own calendar."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.measures.calendar import date_name, mondays, quarters, weeks, zone_of
from hpcopt_assets.measures.window import Span

ZONES = ("UTC", "Europe/Stockholm", "US/Pacific", "Asia/Kolkata", "Australia/Lord_Howe", "Asia/Amman")
# In Amman clocks have gone forward at midnight, in 1999 on the first of July: that day begins at one.
instants = st.lists(st.integers(0, 2_000_000_000), min_size=1, max_size=8)


def local(at_s: int, zone: str) -> datetime:
    return datetime.fromtimestamp(at_s, ZoneInfo(zone))


@given(instants, st.sampled_from(ZONES))
def test_every_instant_lies_in_the_quarter_of_its_local_date(at_s: list[int], zone: str):
    found = quarters(np.array(at_s), zone_of(zone))
    wanted = {
        f"{there.year}-Q{(there.month + 2) // 3}" for there in (local(instant, zone) for instant in at_s)
    }
    assert [name for name, _ in found] == sorted(wanted)
    for instant in at_s:
        there = local(instant, zone)
        (name,) = [name for name, span in found if span.start_s <= instant < span.end_s]
        assert name == f"{there.year}-Q{(there.month + 2) // 3}"


@given(st.sampled_from(ZONES), st.integers(1971, 2030), st.integers(1, 4))
def test_quarters_are_whole_and_meet(zone: str, year: int, quarter: int):
    middle = datetime(year, 3 * quarter - 1, 15, tzinfo=ZoneInfo(zone)).timestamp()
    near = [middle, middle + 92 * 86400]
    (first, (_, after)) = quarters(np.array(near, dtype=np.int64), zone_of(zone))
    begins = local(first.span.start_s, zone)
    assert (begins.year, begins.month, begins.day, begins.minute) == (year, 3 * quarter - 2, 1, 0)
    assert local(first.span.start_s - 1, zone).date() == begins.date() - timedelta(days=1)
    assert first.span.end_s == after.start_s


def test_a_day_without_midnight_begins_at_one():
    zone = "Asia/Amman"
    second, third = (int(datetime(1999, month, 15, tzinfo=ZoneInfo(zone)).timestamp()) for month in (5, 8))
    before, found = quarters(np.array([second, third]), zone_of(zone))
    assert (before.name, found.name) == ("1999-Q2", "1999-Q3")
    assert before.span.end_s == found.span.start_s
    begins = local(found.span.start_s, zone)
    assert (begins.month, begins.day, begins.hour) == (7, 1, 1)


def test_no_instant_no_quarter():
    assert quarters(np.empty(0, dtype=np.int64), zone_of(None)) == []


def test_a_broken_clock_has_quarters_too():
    (first, last) = quarters(np.array([0, 2**38]), zone_of(None))
    assert first == ("1970-Q1", Span(0, 90 * 86400))
    assert last.name.endswith(("-Q1", "-Q2", "-Q3", "-Q4"))
    assert last.span.start_s <= 2**38 < last.span.end_s


@given(instants, st.sampled_from(ZONES))
def test_mondays_are_those_of_the_weeks(at_s: list[int], zone: str):
    found = mondays(np.array(at_s), zone_of(zone))
    for instant, monday in zip(at_s, found.tolist(), strict=True):
        there = local(instant, zone).date()
        assert date(1970, 1, 1) + timedelta(days=monday) == there - timedelta(days=there.weekday())
    spanned = weeks(Span(min(at_s), max(at_s) + 1), zone_of(zone))
    assert {date_name(monday) for monday in found.tolist()} <= {name for name, _ in spanned}


@pytest.mark.parametrize(("day", "name"), [(0, "1970-01-01"), (19723, "2024-01-01"), (-3, "1969-12-29")])
def test_days_have_names(day: int, name: str):
    assert date_name(day) == name
