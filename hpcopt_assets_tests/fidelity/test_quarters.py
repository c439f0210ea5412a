"""Verdicts by quarter and week, on a machine whose scheduler is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.vocabulary import CapacitySource, FidelityCriterion
from hpcopt_assets.fidelity.capacity import judge_capacity
from hpcopt_assets.fidelity.compared import Compared
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.window import Span
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.fidelity import test_judge as by_hand
from hpcopt_assets_tests.fidelity.made import (
    CAPACITY,
    at,
    drained,
    judged,
    observed,
    overall,
    reason,
    released,
    schedule,
    windows,
)

QUARTER_S = at("1970-04-01")
HOUR = 3600
WEEK = drained("2024-02-26", "2024-03-04")
BEFORE_APRIL = drained("2024-03-18", "2024-04-01")


def test_a_record_that_is_easy_passes_every_criterion_in_every_period():
    found = judged(observed())
    assert set(found["period"]) == {"whole", "2024-Q1", "2024-Q2"}
    assert found["criterion"].to_list() == list(FidelityCriterion.words()) * 3
    assert set(found["verdict"]) == {"PASS"}
    assert "Of 2 quarters 0 FAIL." in reason(found)
    assert (released().height / 4 < found.filter(criterion="mean_wait")["evidence_count"]).all()


def test_a_drained_week_fails_and_is_named():
    found = judged(observed(drain=WEEK))
    assert overall(found)["whole"] == overall(found)["2024-Q1"] == "FAIL"
    for period in ("whole", "2024-Q1"):
        named = reason(found, period).split("released in the week")[1]
        assert named.startswith((" from 2024-02-26 (", "s from 2024-02-26 ("))
    assert "FAIL: 2024-Q1" in reason(found)
    assert "2024-02-19" not in reason(found)  # before the drain nothing differs


def test_counts_of_quarters_are_those_of_the_whole():
    jobs = observed(drain=WEEK)
    counts = judged(jobs).filter(criterion="overall").select("period", "evidence_count")
    by_period = dict(counts.iter_rows())
    assert by_period.pop("whole") == sum(by_period.values()) == jobs.height
    is_early = jobs["release_s"] < at("2024-04-01")
    assert by_period["2024-Q1"] == is_early.sum()
    assert f"over the {is_early.sum():,} of {is_early.sum():,} jobs" in reason(judged(jobs), "2024-Q1")


def test_a_whole_that_passes_names_the_quarter_that_fails():
    """Sixty jobs of the third quarter wait three hours longer, among thousands."""
    jobs = by_hand.busy_trace(181 * 32 + 60)
    late = jobs["start_s"] + (jobs["release_s"] >= at("1970-07-01")).cast(pl.Int64) * 3 * HOUR
    found = by_hand.judged(jobs, late)
    assert overall(found) == {"whole": "PASS", "1970-Q1": "PASS", "1970-Q2": "PASS", "1970-Q3": "FAIL"}
    assert "PASS over" in reason(found)
    assert "Of 3 quarters 1 FAIL: 1970-Q3." in reason(found)


def test_quarters_are_those_of_the_time_zone():
    """A job of the last hour of March in UTC is one of April in Stockholm."""
    jobs = trace(job(i, QUARTER_S - 1800, 1, 60, wait_s=0) for i in range(40))
    found = by_hand.judged(jobs, jobs["start_s"])
    assert set(found["period"]) == {"whole", "1970-Q1"}
    found = by_hand.judged(jobs, jobs["start_s"], timezone="Europe/Stockholm")
    assert set(found["period"]) == {"whole", "1970-Q2"}


def test_a_quarter_with_few_jobs_is_not_assessed_and_said_so():
    jobs = by_hand.busy_trace(90 * 32 + 20)
    found = by_hand.judged(jobs, jobs["start_s"])
    assert overall(found) == {"whole": "PASS", "1970-Q1": "PASS", "1970-Q2": "NOT_ASSESSED"}
    assert "Of 2 quarters 0 FAIL; 1 not assessed." in reason(found)
    rows = by_hand.by_criterion(found, "1970-Q2")
    assert "20 jobs, 30 needed" in rows["mean_wait"]["reason"]
    assert rows["observed_within_capacity"]["verdict"] == "PASS"


def test_queues_of_a_quarter_are_everybodys():
    """A job of the first quarter waits far into the second, and is in its queue."""
    jobs = trace(
        [job(1, QUARTER_S - HOUR, 1, 60, wait_s=10 * HOUR)]
        + [job(2 + i, QUARTER_S + i * 600, 1, 60, wait_s=300) for i in range(40)]
    )
    replay = by_hand.replay_of(jobs, jobs["start_s"])
    part = Compared.of(jobs, replay, 60).within(Span(QUARTER_S, QUARTER_S + 90 * 86400), 40)
    assert len(part) == 40
    assert part.at_s.min() == QUARTER_S
    release_s, start_s = (jobs[name].to_numpy() for name in ("release_s", "start_s"))
    waiting = [int(((release_s <= instant) & (instant < start_s)).sum()) for instant in part.at_s]
    assert part.observed_queue.tolist() == waiting
    assert max(waiting) == 2


def test_the_record_is_held_against_the_machine_quarter_by_quarter():
    """Sixteen processors on a machine of twelve, from an hour before April until an hour after it began."""
    hours = [job(i, QUARTER_S - HOUR, 8, 2 * HOUR, wait_s=0) for i in (1, 2)]
    jobs = trace([job(0, 0, 8, HOUR, wait_s=0), *hours, job(3, QUARTER_S + 2 * HOUR, 12, HOUR, wait_s=0)])
    found = by_hand.judged(jobs, jobs["start_s"], capacity=Capacity(12))
    rows = {row["period"]: row for row in found.filter(criterion="observed_within_capacity").to_dicts()}
    assert {period: row["verdict"] for period, row in rows.items()} == dict.fromkeys(rows, "FAIL")
    assert rows["whole"]["evidence_count"] == 4
    assert rows["1970-Q1"]["evidence_count"] == rows["1970-Q2"]["evidence_count"] == 3
    for period, first in (("1970-Q1", "1970-03-31 23:00:00"), ("1970-Q2", "1970-04-01 00:00:00")):
        for said in (
            f"16 (133.3 %) in use at {first} UTC (day ",
            f"first above at {first} UTC",
            "1 h above in all",
        ):
            assert said in rows[period]["reason"]
    assert "2 h above in all" in rows["whole"]["reason"]


def test_a_quarter_in_which_the_record_kept_to_the_machine_passes():
    jobs = trace([job(0, 0, 16, HOUR, wait_s=0), job(1, QUARTER_S, 8, 0, wait_s=0)])
    found = by_hand.judged(jobs, jobs["start_s"], capacity=Capacity(12))
    rows = {row["period"]: row for row in found.filter(criterion="observed_within_capacity").to_dicts()}
    assert [row["verdict"] for row in rows.values()] == ["FAIL", "FAIL", "PASS"]
    assert "wider than the machine: job 0" in rows["1970-Q1"]["reason"]
    assert rows["1970-Q2"]["evidence_count"] == 1
    april = Span(QUARTER_S + 1, QUARTER_S + 10)
    nothing = judge_capacity(jobs, Capacity(12), CapacitySource.CONFIG, april)
    assert (nothing.verdict, nothing.reason) == ("NOT_ASSESSED", "no job ran in this period")


def test_an_infeasible_record_says_so_in_every_quarter_and_an_inferred_capacity_never():
    jobs = observed()
    for capacity, verdict in ((Capacity(40), "FAIL"), (CAPACITY, "NOT_ASSESSED")):
        source = CapacitySource.HEADER if verdict == "FAIL" else CapacitySource.OBSERVED_PEAK
        found = judged(jobs, capacity=capacity, capacity_source=source)
        rows = found.filter(criterion="observed_within_capacity")
        assert rows["verdict"].to_list() == [verdict] * 3


def test_a_record_without_starts_is_not_assessed_in_any_period():
    found = judged(released())
    assert set(found["verdict"]) == {"NOT_ASSESSED"}
    assert set(found["evidence_count"]) == {0}
    assert found["period"].n_unique() == 3
    silent = found.filter(criterion="observed_within_capacity")["reason"]
    assert set(silent) == {"the trace records no starts"}
    assert "Of 2 quarters 0 FAIL; 2 not assessed." in reason(found)


# --- quarters that begin as observed ---


def test_a_drain_at_the_end_of_a_quarter_spoils_the_next_unless_that_begins_as_observed():
    jobs = observed(drain=BEFORE_APRIL)
    cut = judged(jobs)
    assert overall(cut) == {"whole": "FAIL", "2024-Q1": "FAIL", "2024-Q2": "FAIL"}
    seeded = judged(jobs, seeded=windows(jobs, ["easy_backfill"]))
    assert overall(seeded) == {"whole": "FAIL", "2024-Q1": "FAIL", "2024-Q2": "PASS"}
    assert "Of 2 quarters 1 FAIL: 2024-Q1." in reason(seeded)
    # EASY from the observed state is what happened: not only alike, the same.
    april = seeded.filter(period="2024-Q2", criterion="mean_wait")
    assert april["measured"].item() == 0.0
    assert april["evidence_count"].item() == (jobs["release_s"] >= at("2024-04-01")).sum()


def test_seeded_quarters_leave_the_whole_as_it_is():
    jobs = observed(drain=BEFORE_APRIL)
    cut, seeded = (
        judged(jobs, seeded=replays).filter(period="whole")
        for replays in (None, windows(jobs, ["easy_backfill"]))
    )
    assert cut.drop("reason").equals(seeded.drop("reason"))
    assert reason(cut).split("Of 2")[0] == reason(seeded).split("Of 2")[0]


def test_a_quarter_that_began_with_more_than_the_machine_is_not_assessed():
    jobs, small = observed(), Capacity(40)
    found = judged(jobs, capacity=small, seeded=windows(jobs, ["easy_backfill"], small))
    second = by_hand.by_criterion(found, "2024-Q2")
    possible = second.pop("observed_within_capacity")
    assert possible["verdict"] == "FAIL"
    assert {row["verdict"] for row in second.values()} == {"NOT_ASSESSED"}
    assert "cannot begin as observed: " in second["mean_wait"]["reason"]
    assert "at most 40, the machine's needed" in second["mean_wait"]["reason"]
    assert "cannot begin as observed: " in second["overall"]["reason"]
    assert by_hand.by_criterion(found, "2024-Q1")["mean_wait"]["verdict"] != "NOT_ASSESSED"


@pytest.mark.parametrize("month", ["2024-02-01", "2024-04-10"])
def test_a_window_is_judged_by_its_own_jobs(month: str):
    jobs, window = observed(), Span(at(month), at(month) + 28 * 86400)
    replayed = windows(jobs, ["easy_backfill"])(*window)
    found = judged(jobs, schedules=replayed, window=window)
    counted = ((jobs["release_s"] >= window.start_s) & (jobs["release_s"] < window.end_s)).sum()
    assert f"over the {counted:,} of {counted:,} jobs" in reason(found)
    assert found["period"].unique(maintain_order=True).to_list() == [
        "whole",
        "2024-Q1" if month < "2024-04" else "2024-Q2",
    ]
    assert np.isclose(found.filter(criterion="mean_wait")["measured"].to_numpy(), 0, atol=0.05).all()
    assert schedule("easy_backfill").height > 2 * counted
