"""What if: two replays beside each other, over the jobs that both ran."""

import polars as pl
import pytest

from hpcopt_assets.contracts.errors import EvidenceError, InputError
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets.simulate.whatif import Setting, compare
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import MEASURES
from hpcopt_assets_tests.simulate.strategies import EASY, FCFS

JOBS = trace([(1, 0, 4, 100), (2, 10, 4, 100), (3, 20, 8, 100), (4, 30, 12, 100)])


def compared(baseline: Setting, changed: Setting):
    return compare(JOBS, baseline, changed, config=MEASURES, window=Window.WHOLE)


def test_only_jobs_that_both_ran_are_compared_and_the_others_are_told():
    found = compared(Setting(EASY, Capacity(8), Scenario()), Setting(EASY, Capacity(4), Scenario()))
    assert found.jobs_count == found.baseline["jobs_count"] == found.changed["jobs_count"] == 2
    assert found.excluded_from_baseline == {"wider_than_machine": 1}
    assert found.excluded_from_changed == {"wider_than_machine": 2}
    # Two jobs of four processors: side by side on eight, one after the other on four.
    assert (found.baseline["max_wait_s"], found.changed["max_wait_s"]) == (0.0, 90.0)
    # Job 3, which is not compared, ran on the eight all the same.
    assert found.baseline["makespan_s"] == 110


def test_each_machine_is_used_by_its_own_measure():
    found = compared(Setting(FCFS, Capacity(16), Scenario()), Setting(FCFS, Capacity(32), Scenario()))
    assert found.baseline["utilisation_ratio"] > found.changed["utilisation_ratio"] > 0


def test_a_machine_that_shrinks_lets_run_what_runs_and_starts_nothing_until_all_fits():
    capacity = Capacity(8, ((50, 4), (300, 8)))
    schedule = replay(JOBS, FCFS, 8, Scenario(capacity_steps=capacity.steps)).schedule
    # 1 and 2 run on beyond the fall; 3 needs all eight and waits for them.
    assert schedule["start_s"].to_list() == [0, 10, 300, None]
    assert schedule["left_out"].to_list() == [None, None, None, "wider_than_machine"]


def test_jobs_that_never_fit_again_are_left_out():
    schedule = replay(JOBS, FCFS, 8, Scenario(capacity_steps=((50, 4),))).schedule
    assert schedule["left_out"].to_list() == [None, None, "wider_than_machine", "wider_than_machine"]


def test_who_waits_for_ever_behind_a_job_that_never_fits_is_told_apart_and_breaks_no_rule():
    jobs = trace([(1, 0, 1, 10), (2, 1, 4, 10), (3, 2, 1, 10)])
    shrunken = Capacity(4, ((1, 2),))
    for rules, last in ((FCFS, "never_started"), (EASY, None)):
        schedule = replay(jobs, rules, 4, Scenario(capacity_steps=shrunken.steps)).schedule
        assert schedule["left_out"].to_list() == [None, "wider_than_machine", last]
        report = check_schedule(jobs, schedule, rules, shrunken)
        assert report.filter(verdict="FAIL").is_empty()
    lost = schedule.with_columns(start_s=pl.when(pl.col("job_id") != "3").then("start_s"))
    assert check_schedule(jobs, lost, EASY, shrunken).filter(verdict="FAIL")["job_id"].to_list() == ["3"]


def test_arrivals_twice_as_fast():
    schedule = replay(JOBS, FCFS, 16, Scenario(arrival_scale=2.0)).schedule
    assert schedule["release_s"].to_list() == [0, 5, 10, 15]
    assert schedule["start_s"].to_list() == [0, 5, 10, 110]


def test_a_window_is_one_of_the_record_whatever_becomes_of_its_arrivals():
    jobs = trace([job(k, 100 * k, 1, 10, 10, wait_s=0) for k in range(6)])
    for scale, releases in ((1.0, [200, 300, 400]), (2.0, [200, 250, 300]), (0.5, [200, 400, 600])):
        scenario = Scenario(arrival_scale=scale, since_s=200, until_s=500)
        schedule = replay(jobs, FCFS, 4, scenario).schedule.filter(pl.col("left_out").is_null())
        assert (schedule["job_id"].to_list(), schedule["release_s"].to_list()) == (["2", "3", "4"], releases)


class TestAWindow:
    """Job 1 has ended, job 2 runs and job 3 waits when the window begins at 100; job 5 comes after it."""

    record = trace(
        [
            job(1, 0, 8, 50, 60, wait_s=0),
            job(2, 10, 4, 150, 200, wait_s=40),
            job(3, 60, 8, 30, 40, wait_s=140),
            job(4, 110, 4, 10, 10, wait_s=0),
            job(5, 400, 4, 10, 10, wait_s=0),
        ]
    )
    scenario = Scenario(since_s=100, until_s=400)

    def test_what_runs_and_waits_is_there_and_does_not_count(self):
        schedule = replay(self.record, EASY, 8, self.scenario).schedule
        assert schedule["left_out"].to_list() == [
            "outside_window",
            "before_window",
            "before_window",
            None,
            "outside_window",
        ]
        # Job 2 holds 4 until 200 and is believed to until 250; job 4 ends before that, ahead of job 3.
        assert schedule["start_s"].to_list() == [None, None, None, 110, None]

    def test_its_rest_is_as_in_the_whole_replay_that_it_continues(self):
        schedule = replay(self.record, FCFS, 8, self.scenario).schedule
        assert schedule["start_s"].to_list()[3] == 230  # behind job 3, which starts at 200

    def test_more_than_fits_is_no_evidence(self):
        with pytest.raises(EvidenceError, match="4 processors held by jobs that run at 100 s"):
            replay(self.record, EASY, 3, self.scenario)

    def test_a_job_whose_start_nobody_knows_is_outside(self):
        unknown = self.record.with_columns(
            start_s=pl.when(pl.col("job_id") != "2").then("start_s"),
            end_s=pl.when(pl.col("job_id") != "2").then("end_s"),
            wait_s=pl.when(pl.col("job_id") != "2").then("wait_s"),
        )
        assert replay(unknown, EASY, 8, self.scenario).schedule["left_out"].to_list()[1] == "outside_window"


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(capacity_steps=((5, 4), (5, 8))),
        Scenario(capacity_steps=((5, -1),)),
        Scenario(arrival_scale=0.0),
        Scenario(arrival_scale=1e-13),
        Scenario(since_s=2**50),
        Scenario(capacity_steps=((2**50, 4),)),
        Scenario(since_s=5, until_s=5),
    ],
)
def test_what_makes_no_sense_is_refused(scenario: Scenario):
    with pytest.raises(InputError):
        replay(JOBS, EASY, 8, scenario)
