"""Queue and utilisation as they were recorded."""

import pytest
from hypothesis import given, settings

from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.profile.helpers import JOBS, MONDAY_S, at, profile, row, value

DAY_S = 86400
WEEK_S = 7 * DAY_S


def test_queue_length_is_weighed_by_time():
    """Two jobs wait for 10 s, one of them for 90 s more."""
    found = profile(trace([job(1, 0, 1, 500, wait_s=10), job(2, 0, 1, 50, wait_s=100)]))
    assert value(found, "congestion", "queue_length", "p50") == 1
    assert value(found, "congestion", "queue_length", "p90") == 1
    assert value(found, "congestion", "queue_length", "p95") == 2
    assert value(found, "congestion", "queue_length", "max") == 2
    assert value(found, "congestion", "queue_length", "mean") == pytest.approx((2 * 10 + 90) / 100)


def test_utilisation_week_by_week():
    """Five of ten processors from Monday noon on for a week, then all of them for half a day."""
    noon = MONDAY_S + DAY_S // 2
    jobs = trace([job(1, noon, 5, WEEK_S, wait_s=0), job(2, noon + WEEK_S, 10, DAY_S // 2, wait_s=0)])
    found = profile(jobs)
    first = row(found, "congestion", "utilisation", "week 2024-01-01")
    second = row(found, "congestion", "utilisation", "week 2024-01-08")
    assert (first["value"], second["value"]) == (0.5, 0.75)
    assert (first["start_s"], first["end_s"]) == (noon, MONDAY_S + WEEK_S)
    assert (second["start_s"], second["end_s"]) == (MONDAY_S + WEEK_S, MONDAY_S + WEEK_S + DAY_S)
    assert (first["evidence_count"], second["evidence_count"]) == (1, 2)
    whole = row(found, "congestion", "utilisation")
    assert whole["value"] == pytest.approx((0.5 * 6.5 + 0.75) / 7.5)
    assert (whole["start_s"], whole["end_s"]) == (noon, noon + WEEK_S + DAY_S // 2)


def test_a_week_begins_at_local_midnight():
    start_s = at("2024-01-07T20:00")  # Sunday in Greenwich, Monday in Tokyo
    jobs = trace([job(1, start_s, 1, 3600, wait_s=0)])
    items = {
        zone: profile(jobs, timezone=zone).filter(measure="utilisation")["item"].to_list()
        for zone in ("UTC", "Asia/Tokyo")
    }
    assert items == {"UTC": ["all", "week 2024-01-01"], "Asia/Tokyo": ["all", "week 2024-01-08"]}


def test_more_than_the_machine_is_told_as_it_is():
    found = profile(trace([job(1, 0, 8, 100, wait_s=0), job(2, 0, 8, 100, wait_s=0)]), capacity=Capacity(12))
    assert value(found, "congestion", "utilisation") == pytest.approx(16 / 12)


@given(JOBS)
@settings(deadline=None, max_examples=50)
def test_weeks_add_up_to_the_whole(jobs):
    """Not so where a log's clock lets a job start before its release: outside of the whole span."""
    found = profile(jobs, timezone="Europe/Stockholm").filter(measure="utilisation").drop_nulls("value")
    if found.is_empty():
        return
    whole, weeks = found.row(0, named=True), found[1:]
    assert weeks["start_s"][0] == whole["start_s"]
    assert weeks["end_s"][-1] == whole["end_s"]
    area = (weeks["value"] * (weeks["end_s"] - weeks["start_s"])).sum()
    assert area == pytest.approx(whole["value"] * (whole["end_s"] - whole["start_s"]))


def test_what_cannot_be_known_says_why():
    never = trace([(1, 0, 4, None), (2, 5, 4, 10)])
    for measure in ("queue_length", "utilisation"):
        assert (
            row(profile(never), "congestion", measure)["note"] == "no job has a known start, runtime and size"
        )
    ran = trace([job(1, 0, 4, 10, wait_s=0)])
    assert "size of the machine" in row(profile(ran, capacity=None), "congestion", "utilisation")["note"]
    assert "one instant" in row(profile(ran), "congestion", "queue_length")["note"]
    instant = trace([job(1, 0, 4, 0, wait_s=0)])
    assert "no time" in row(profile(instant), "congestion", "utilisation")["note"]


def test_a_broken_clock_makes_no_million_weeks():
    jobs = trace([job(1, 0, 4, 100, wait_s=0), job(2, 2**40 - 1000, 4, 100, wait_s=5)])
    found = profile(jobs, timezone="Europe/Stockholm").filter(measure="utilisation")
    assert found["item"].to_list() == ["all"]
    assert found["value"].item() == pytest.approx(80 / 2**40, rel=1e-3)
    assert "more than a century" in found["note"].item()


def test_years_after_9999_have_weeks_too():
    start_s = 10**12  # in the year 33658
    jobs = trace([job(1, start_s, 4, 2 * WEEK_S, wait_s=0)])
    weeks = profile(jobs, timezone="Europe/Stockholm").filter(measure="utilisation").slice(1)
    assert weeks.height == 3
    assert weeks["value"].to_list() == pytest.approx([0.4] * 3)
    assert weeks["item"][0].startswith("week +33658-")
