"""A record that the machine cannot have produced is told with when and by how much."""

import pytest

from hpcopt_assets.contracts.vocabulary import CapacitySource, Verdict
from hpcopt_assets.fidelity.capacity import judge_capacity
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.fidelity.test_judge import HOUR, busy_trace, by_criterion, judged


def crowded():
    """Twelve processors; two jobs of eight overlap, and one of sixteen could never have run."""
    return trace([job(1, 0, 8, 100, wait_s=0), job(2, 10, 8, 100, wait_s=0), job(3, 20, 16, 10, wait_s=0)])


def test_an_impossible_record_is_told_with_when_and_by_how_much():
    found = judge_capacity(crowded(), Capacity(12), CapacitySource.HEADER)
    assert found.verdict is Verdict.FAIL
    assert (found.measured, found.limit, found.unit, found.count) == (32.0, 12.0, "processors", 3)
    for said in (
        "on 12 processors: 32 (266.7 %) in use at 1970-01-01 00:00:20 UTC (day 0.00 of the trace)",
        "by jobs 1, 2, 3",
        "first above at 1970-01-01 00:00:10 UTC",
        "0.025 h above in all",  # [10, 100)
        "wider than the machine: job 3, without which the peak is 16 (133.3 %)",
    ):
        assert said in found.reason


def test_an_impossible_record_of_legal_jobs_names_no_wide_ones():
    found = judge_capacity(crowded().head(2), Capacity(12), CapacitySource.HEADER)
    assert (found.verdict, found.measured) == (Verdict.FAIL, 16.0)
    assert "wider" not in found.reason


def test_the_row_stands_beside_too_few_jobs():
    found = by_criterion(judged(crowded(), [0, 100, None], capacity=Capacity(12)))
    assert found["observed_within_capacity"]["verdict"] == "FAIL"
    assert found["mean_wait"]["verdict"] == found["overall"]["verdict"] == "NOT_ASSESSED"


def test_jobs_that_meet_do_not_exceed():
    jobs = trace([job(1, 0, 8, 100, wait_s=0), job(2, 0, 8, 10, wait_s=100)])
    assert judge_capacity(jobs, Capacity(12), CapacitySource.CONFIG).verdict is Verdict.PASS
    assert judge_capacity(jobs, Capacity(8), CapacitySource.CONFIG).verdict is Verdict.PASS
    assert judge_capacity(jobs, Capacity(7), CapacitySource.CONFIG).verdict is Verdict.FAIL


def test_a_capacity_taken_from_the_record_shows_nothing():
    found = judge_capacity(crowded(), Capacity(32), CapacitySource.OBSERVED_PEAK)
    assert found.verdict is Verdict.NOT_ASSESSED


def test_many_jobs_are_counted_not_listed():
    jobs = trace(job(i, 0, 2, 100, wait_s=0) for i in range(1, 21))
    reason = judge_capacity(jobs, Capacity(12), CapacitySource.HEADER).reason
    assert "by jobs 1, 2, 3, 4, 5 and 15 more" in reason


@pytest.mark.parametrize("later_s", [0, 6 * HOUR], ids=["alike", "not alike"])
@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({"capacity": Capacity(6)}, "FAIL"),
        ({"capacity_source": CapacitySource.OBSERVED_PEAK}, "NOT_ASSESSED"),
    ],
)
def test_an_impossible_record_or_inferred_capacity_is_mentioned_and_changes_no_verdict(
    options, verdict: str, later_s: int
):
    jobs = busy_trace()
    possible = by_criterion(judged(jobs, jobs["start_s"] + later_s))["overall"]
    found = by_criterion(judged(jobs, jobs["start_s"] + later_s, **options))
    assert found["observed_within_capacity"]["verdict"] == verdict
    assert found["overall"]["verdict"] == possible["verdict"] == ("FAIL" if later_s else "PASS")
    assert found["overall"]["measured"] == possible["measured"]
    assert f"observed_within_capacity is {verdict}" in found["overall"]["reason"]
    assert "observed_within_capacity" not in possible["reason"]
