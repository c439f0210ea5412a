"""Arrivals in the time of the machine's users, and how bursty they are."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.measures.calendar import weeks, zone_of
from hpcopt_assets.measures.window import Span
from hpcopt_assets_tests.builders import trace
from hpcopt_assets_tests.profile.helpers import JOBS, MONDAY_S, at, profile, row, value

ZONES = ("UTC", "Europe/Stockholm", "US/Pacific", "Asia/Kolkata", "Australia/Lord_Howe", "Asia/Tehran")


def submitted(*instants: int):
    return trace([(i, instant, 1, 1) for i, instant in enumerate(instants, start=1)])


def cycle(table, measure: str) -> dict[str, int]:
    rows = table.filter(measure=measure)
    return {item: count for item, count in rows.select("item", "evidence_count").iter_rows() if count}


def test_hours_and_weekdays_are_those_of_the_zone():
    jobs = submitted(at("2024-01-01T23:30"), at("2024-01-02T00:10"), at("2024-01-02T00:20"))
    assert cycle(profile(jobs), "hour_of_day") == {"hour 23": 1, "hour 00": 2}
    assert cycle(profile(jobs), "weekday") == {"Monday": 1, "Tuesday": 2}
    tokyo = profile(jobs, timezone="Asia/Tokyo")
    assert cycle(tokyo, "hour_of_day") == {"hour 08": 1, "hour 09": 2}
    assert cycle(tokyo, "weekday") == {"Tuesday": 3}
    assert value(tokyo, "arrivals", "hour_of_day", "hour 09") == pytest.approx(2 / 3)
    assert row(tokyo, "arrivals", "hour_of_day", "hour 09")["position"] == 10


def test_clock_changes_skip_and_repeat_an_hour():
    """Every half an hour around both changes of Stockholm's clocks in 2024."""
    spring = submitted(*range(at("2024-03-31T00:00"), at("2024-03-31T02:00"), 1800))
    assert cycle(profile(spring, timezone="Europe/Stockholm"), "hour_of_day") == {"hour 01": 2, "hour 03": 2}
    autumn = submitted(*range(at("2024-10-27T00:00"), at("2024-10-27T02:00"), 1800))
    assert cycle(profile(autumn, timezone="Europe/Stockholm"), "hour_of_day") == {"hour 02": 4}


@pytest.mark.parametrize("timezone", [None, "Mars/Olympus", "", "PST"])
def test_an_unknown_zone_is_utc_and_says_so(timezone: str | None):
    jobs = submitted(at("2024-01-01T23:30"))
    found = profile(jobs, timezone=timezone)
    assert cycle(found, "hour_of_day") == {"hour 23": 1}
    note = row(found, "arrivals", "hour_of_day", "hour 23")["note"]
    assert note.endswith("UTC")
    assert note.startswith("time zone not known" if not timezone else f"{timezone!r} is no IANA time zone")


@given(JOBS.filter(lambda jobs: jobs.height > 0), st.sampled_from(ZONES))
@settings(deadline=None, max_examples=50)
def test_cycles_hold_every_job_once(jobs, zone: str):
    found = profile(jobs, timezone=zone)
    for measure, bars in (("hour_of_day", 24), ("weekday", 7)):
        rows = found.filter(measure=measure)
        assert rows.height == bars
        assert rows["evidence_count"].sum() == jobs.height
        assert rows["value"].sum() == pytest.approx(1.0)


def test_gaps_and_burstiness_by_hand():
    found = profile(submitted(*(MONDAY_S + second for second in (0, 10, 10, 7210))))  # gaps 10, 0, 7200
    assert value(found, "arrivals", "gap", "p50") == 10
    assert value(found, "arrivals", "gap", "mean") == pytest.approx(7210 / 3)
    mean = 7210 / 3
    deviation = (((10 - mean) ** 2 + mean**2 + (7200 - mean) ** 2) / 2) ** 0.5
    assert value(found, "arrivals", "gap_variation") == pytest.approx(deviation / mean)
    # Two whole hours, with 3 and 0 jobs: mean 1.5, sample variance 4.5.
    assert value(found, "arrivals", "hourly_dispersion") == pytest.approx(3.0)
    assert row(found, "arrivals", "hourly_dispersion")["evidence_count"] == 2


@given(
    start=st.integers(-10_000_000_000, 10_000_000_000),
    length=st.integers(1, 10**8),
    zone=st.sampled_from(ZONES),
)
def test_weeks_cover_the_span_and_begin_on_mondays(start: int, length: int, zone: str):
    span = Span(start, start + length)
    cut = weeks(span, zone_of(zone))
    assert cut[0].span.start_s == span.start_s
    assert cut[-1].span.end_s == span.end_s
    for a, b in pairwise(cut):
        assert a.span.end_s == b.span.start_s
        assert a.name < b.name
    assert all(week.span.seconds > 0 for week in cut)
    assert all(abs(week.span.seconds - 7 * 86400) <= 3600 for week in cut[1:-1])


def test_weeks_of_a_clock_change_are_an_hour_off():
    zone = zone_of("Europe/Stockholm")
    spring = weeks(Span(at("2024-03-20T00:00"), at("2024-04-10T00:00")), zone)
    assert [week.name for week in spring] == ["2024-03-18", "2024-03-25", "2024-04-01", "2024-04-08"]
    assert [week.span.seconds // 3600 for week in spring[1:3]] == [167, 168]
    assert spring[1].span.start_s == at("2024-03-25T00:00", "Europe/Stockholm")


def test_a_monday_without_midnight_begins_at_one():
    """Tehran's clocks went forward at 00:00 on Monday 22 March 2021."""
    cut = weeks(Span(at("2021-03-20T00:00"), at("2021-03-24T00:00")), zone_of("Asia/Tehran"))
    assert [week.name for week in cut] == ["2021-03-15", "2021-03-22"]
    assert cut[1].span.start_s == at("2021-03-22T01:00", "Asia/Tehran")
