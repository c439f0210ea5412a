"""Every rule is seen to fail on a schedule that breaks it, and never passes for want of evidence."""

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import INVARIANT_REPORT
from hpcopt_assets.contracts.vocabulary import Invariant, Verdict
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.simulate.engine import replay, to_schedule
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.kernel.arrays import Replayed
from hpcopt_assets.simulate.promises import Placed, judge_promises
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.builders import trace
from hpcopt_assets_tests.simulate.strategies import EASY, FCFS, policy

# EASY on 10 processors: 1@0 2@100 3@150 4@3 5@150 6@5, with job 2 the head from 1 on and job 3 from 100 on.
JOBS = trace([(1, 0, 6, 100), (2, 1, 8, 50), (3, 2, 4, 99), (4, 3, 2, 500), (5, 4, 2, 500), (6, 5, 2, 95)])


def report(schedule: pl.DataFrame, rules=EASY, jobs=JOBS, capacity_procs=10) -> dict[Invariant, dict]:
    frame = check_schedule(jobs, schedule, rules, Capacity(capacity_procs))
    validate(INVARIANT_REPORT, frame)
    assert frame["invariant"].to_list() == list(Invariant.words())
    return {Invariant(row["invariant"]): row for row in frame.iter_rows(named=True)}


def verdicts(rows: dict[Invariant, dict]) -> dict[Invariant, Verdict]:
    return {invariant: Verdict(row["verdict"]) for invariant, row in rows.items()}


def with_starts(*start_s: int, rules=EASY, jobs=JOBS, capacity_procs=10) -> pl.DataFrame:
    """A schedule with these starts, right in everything else."""
    workload, starts = select_workload(jobs, capacity_procs), pl.Series(start_s, dtype=pl.Int64).to_numpy()
    nothing = np.zeros(starts.size, dtype=np.bool_)
    return to_schedule(workload, rules, Replayed(starts, workload.believed_s(rules.estimate), nothing, None))


def moved(job_id: str, **columns: int) -> pl.DataFrame:
    """EASY's schedule with some values of one job changed."""
    is_it = pl.col("job_id") == job_id
    return replay(JOBS, EASY, 10).schedule.with_columns(
        pl.when(is_it).then(value).otherwise(name).alias(name) for name, value in columns.items()
    )


def test_easy_keeps_all_that_applies():
    found = verdicts(report(replay(JOBS, EASY, 10).schedule))
    assert found.pop(Invariant.STRICT_QUEUE_ORDER) is Verdict.NOT_ASSESSED
    assert set(found.values()) == {Verdict.PASS}


def test_fcfs_keeps_all_that_applies():
    found = verdicts(report(replay(JOBS, FCFS, 10).schedule, FCFS))
    assert found.pop(Invariant.HEAD_NEVER_DELAYED) is Verdict.NOT_ASSESSED
    assert set(found.values()) == {Verdict.PASS}


def test_what_does_not_apply_says_why():
    rows = report(replay(JOBS, EASY, 10).schedule)
    row = rows[Invariant.STRICT_QUEUE_ORDER]
    assert row["checked_count"] == 0
    assert (row["found"], row["allowed"]) == ("backfill easy, order submit", "backfill none, order submit")


class TestEveryJobStartsOnce:
    def test_a_missing_start(self):
        schedule = replay(JOBS, EASY, 10).schedule.filter(pl.col("job_id") != "4")
        row = report(schedule)[Invariant.EVERY_JOB_STARTS_ONCE]
        assert (row["verdict"], row["violations_count"], row["job_id"]) == ("FAIL", 1, "4")

    def test_a_second_start(self):
        schedule = replay(JOBS, EASY, 10).schedule
        row = report(pl.concat([schedule, schedule.tail(1)]))[Invariant.EVERY_JOB_STARTS_ONCE]
        assert (row["verdict"], row["job_id"], row["found"]) == ("FAIL", "6", "one more start")

    def test_a_start_of_a_job_that_was_to_be_left_out(self):
        wide = trace([(1, 0, 6, 100), (2, 0, 60, 100)])
        schedule = replay(wide, EASY, 60).schedule
        row = report(schedule, jobs=wide)[Invariant.EVERY_JOB_STARTS_ONCE]
        assert (row["verdict"], row["job_id"], row["at_s"]) == ("FAIL", "2", 100)

    def test_attempts_of_one_job_are_told_apart(self):
        twice = trace([(1, 0, 6, 100), (1, 5, 6, 50)])
        found = verdicts(report(replay(twice, EASY, 10).schedule, jobs=twice))
        assert Verdict.FAIL not in found.values()
        assert found[Invariant.EVERY_JOB_STARTS_ONCE] is Verdict.PASS


def test_a_start_before_the_release():
    row = report(with_starts(0, 100, 150, 2, 150, 5))[Invariant.NO_START_BEFORE_RELEASE]
    assert (row["verdict"], row["violations_count"], row["job_id"], row["at_s"]) == ("FAIL", 1, "4", 2)
    assert (row["found"], row["allowed"]) == ("start from 2 s", "start from 3 s")


@pytest.mark.parametrize("end_s", [502, 504, None])
def test_an_end_that_is_not_start_plus_runtime(end_s: int | None):
    row = report(moved("4", end_s=pl.lit(end_s, pl.Int64)))[Invariant.END_IS_START_PLUS_RUNTIME]
    assert (row["verdict"], row["job_id"]) == ("FAIL", "4")
    assert (row["found"], row["allowed"]) == (f"end at {end_s} s", "end at 503 s")


def test_an_end_that_overran_where_jobs_are_killed():
    jobs, kill = trace([(1, 0, 4, 50, 10)]), policy(overrun="kill")
    extended = replay(jobs, EASY, 10).schedule
    assert verdicts(report(extended, kill, jobs))[Invariant.END_IS_START_PLUS_RUNTIME] is Verdict.FAIL
    killed = replay(jobs, kill, 10).schedule
    assert verdicts(report(killed, kill, jobs))[Invariant.END_IS_START_PLUS_RUNTIME] is Verdict.PASS


class TestWithinCapacity:
    def test_more_processors_than_there_are(self):
        # At 4 jobs 1, 4 and 5 hold 10; job 6 at 5 makes 12 until 100.
        row = report(with_starts(0, 100, 150, 3, 4, 5))[Invariant.WITHIN_CAPACITY]
        assert (row["verdict"], row["job_id"], row["at_s"]) == ("FAIL", "6", 5)
        assert (row["found"], row["allowed"]) == ("12 processors in use", "10 processors")

    def test_a_job_of_zero_runtime_that_does_not_fit(self):
        jobs = trace([(1, 0, 6, 100), (2, 5, 6, 0)])
        for start_s, verdict in ((5, Verdict.FAIL), (100, Verdict.PASS)):
            schedule = with_starts(0, start_s, jobs=jobs)
            assert verdicts(report(schedule, jobs=jobs))[Invariant.WITHIN_CAPACITY] is verdict

    def test_zero_runtimes_follow_each_other_within_an_instant(self):
        jobs = trace([(1, 0, 6, 0, 5), (2, 0, 6, 0, 5), (3, 0, 10, 7)])
        schedule = replay(jobs, EASY, 10).schedule
        assert schedule["start_s"].to_list() == [0, 0, 0]
        assert verdicts(report(schedule, jobs=jobs))[Invariant.WITHIN_CAPACITY] is Verdict.PASS


def test_a_later_job_that_starts_first_without_backfilling():
    row = report(replay(JOBS, EASY, 10).schedule, FCFS)[Invariant.STRICT_QUEUE_ORDER]
    assert (row["verdict"], row["violations_count"], row["job_id"]) == ("FAIL", 2, "4")
    assert (row["found"], row["allowed"]) == ("start from 3 s", "start from 150 s")


class TestHeadNeverDelayed:
    @staticmethod
    def row(*start_s: int, **how) -> dict:
        jobs = how.get("jobs", JOBS)
        schedule = with_starts(*start_s, **how)
        rows = report(schedule, how.get("rules", EASY), jobs, how.get("capacity_procs", 10))
        others = {k: v for k, v in verdicts(rows).items() if k is not Invariant.HEAD_NEVER_DELAYED}
        assert Verdict.FAIL not in others.values(), others
        return rows[Invariant.HEAD_NEVER_DELAYED]

    def test_extra_processors_used_twice(self):
        # Jobs 4 and 5 both outlast the shadow time, so the head waits until 503 instead of 100.
        row = self.row(0, 503, 553, 3, 4, 100)
        assert (row["verdict"], row["job_id"]) == ("FAIL", "2")
        assert row["at_s"] == 1
        assert "start at 503 s" in row["found"]

    def test_a_second_head_without_a_reservation(self):
        # Job 2 starts at 10 and job 3 is promised 20, but job 4 slips in at 10 and holds it up until 60.
        jobs = trace([(1, 0, 4, 10), (2, 1, 2, 10), (3, 2, 4, 10), (4, 3, 2, 50)])
        good = self.row(0, 10, 20, 30, jobs=jobs, capacity_procs=4)
        assert (good["verdict"], good["violations_count"]) == ("PASS", 0)
        bad = self.row(0, 10, 60, 10, jobs=jobs, capacity_procs=4)
        assert (bad["verdict"], bad["job_id"], bad["at_s"]) == ("FAIL", "3", 10)

    def test_a_promise_that_a_completion_had_moved_earlier(self):
        # Head job 3 is first promised 100, and from 10 on, when job 1 ends early, 50. Job 4 comes at 20, ends
        # at 70 and delays it to 70: later than the second promise, though earlier than the first.
        jobs = trace([(1, 0, 4, 10, 100), (2, 0, 4, 50, 50), (3, 1, 10, 5), (4, 20, 2, 50)])
        good = self.row(0, 0, 50, 55, jobs=jobs)
        assert good["verdict"] == "PASS"
        bad = self.row(0, 0, 70, 20, jobs=jobs)
        assert (bad["verdict"], bad["job_id"], bad["at_s"]) == ("FAIL", "3", 20)

    def test_a_head_that_idles_though_it_fits(self):
        jobs = trace([(1, 0, 4, 10), (2, 1, 4, 10)])
        assert self.row(0, 5, jobs=jobs)["verdict"] == "FAIL"
        assert self.row(0, 1, jobs=jobs)["verdict"] == "NOT_ASSESSED"

    def test_a_running_job_that_outlives_its_expected_end_excuses(self):
        jobs = trace([(1, 0, 2, 30, 10), (2, 0, 4, 10, 10), (3, 15, 2, 5, 5)])
        row = self.row(0, 30, 15, jobs=jobs, capacity_procs=4)
        # Judged at 15 only: by then job 1 was believed to run until 70.
        assert (row["verdict"], row["checked_count"]) == ("PASS", 1)

    def test_nothing_is_passed_where_every_promise_is_excused(self):
        jobs = trace([(1, 0, 2, 30, 10), (2, 0, 4, 10, 10)])
        row = self.row(0, 30, jobs=jobs, capacity_procs=4)
        assert row["verdict"] == "NOT_ASSESSED"
        assert row["found"] == "1 instant with a waiting head, followed by an overrun"

    def test_an_overrun_at_the_late_start_itself_is_no_excuse(self):
        # Jobs 3 and 4 share one extra processor. Job 3's request ends at 20, when the head starts at last.
        jobs = trace([(1, 0, 2, 10), (2, 1, 3, 5), (3, 2, 1, 38, 18), (4, 2, 1, 18)])
        row = self.row(0, 20, 2, 2, jobs=jobs, capacity_procs=4)
        assert (row["verdict"], row["job_id"], row["at_s"]) == ("FAIL", "2", 1)

    def test_an_overrun_before_the_promise_is_no_excuse(self):
        # Job 2's request ends at 5, when job 3 becomes head: from then on it is believed to run until 65.
        jobs = trace([(1, 0, 2, 10), (2, 0, 1, 100, 5), (3, 5, 3, 5), (4, 5, 1, 15)])
        row = self.row(0, 0, 20, 5, jobs=jobs, capacity_procs=4)
        assert (row["verdict"], row["job_id"], row["at_s"]) == ("FAIL", "3", 5)

    def test_an_instant_with_a_zero_runtime_is_not_judged(self):
        # In the first pass at 5 job 2 is seen until 25 and job 4 rightly starts ahead of job 3.
        jobs = trace([(1, 0, 1, 10, 10), (2, 5, 2, 0, 20), (3, 5, 4, 7, 7), (4, 5, 1, 9, 9)])
        assert self.row(0, 5, 14, 5, jobs=jobs, capacity_procs=4)["verdict"] == "NOT_ASSESSED"

    def test_a_job_that_outlives_a_short_belief_is_next_believed_to_take_what_it_asked_for(self):
        # Job 0 is held for 5 s and asked for 10. At 6 it is believed to end at 10; the head starts at 30.
        columns = [[0, 6], [0, 30], [9, 35], [2, 4], [5, 5], [10, 10], [0, 0]]
        promises = judge_promises(Placed(*(np.array(column) for column in columns)), 4)
        assert (promises.at_s.tolist(), promises.head.tolist()) == ([6], [1])
        assert promises.freed_procs.tolist() == [4]

    def test_a_head_is_judged_though_it_waits_for_a_second_and_not_where_it_does_not_wait(self):
        """Processors: 4. The second waits from 9 to 10, the third starts when it comes."""
        columns = [0, 9, 20], [0, 10, 20], [10, 12, 25], [4, 4, 4], [10, 10, 10], [10, 10, 10], [0, 0, 0]
        promises = judge_promises(Placed(*(np.array(column) for column in columns)), 4)
        assert (promises.at_s.tolist(), promises.head.tolist()) == ([9], [1])

    def test_does_not_apply_without_backfilling(self):
        row = report(replay(JOBS, FCFS, 10).schedule, FCFS)[Invariant.HEAD_NEVER_DELAYED]
        assert (row["verdict"], row["found"], row["checked_count"]) == ("NOT_ASSESSED", "backfill none", 0)


class TestDelaysAreCountedWhereTheyAreAllowed:
    @staticmethod
    def row(rules, jobs, starts: list[int], capacity_procs: int = 4) -> dict:
        schedule = replay(jobs, rules, capacity_procs).schedule
        assert schedule["start_s"].to_list() == starts
        rows = report(schedule, rules, jobs, capacity_procs)
        assert Verdict.FAIL not in verdicts(rows).values()
        row = rows[Invariant.HEAD_NEVER_DELAYED]
        assert row["verdict"] == "NOT_ASSESSED"
        return row

    def test_a_newcomer_ahead_of_the_head(self):
        # Job 2 is head from 1 on and expected at 10; job 3, shorter and so ahead of it, starts at 2 until 52.
        jobs = trace([(1, 0, 2, 10), (2, 1, 4, 10, 100), (3, 2, 2, 50)])
        row = self.row(policy(order="shortest"), jobs, [0, 52, 2])
        # Judged at 1 and, with job 3 running, at 2.
        assert (row["checked_count"], row["violations_count"]) == (2, 1)
        assert (row["job_id"], row["at_s"]) == ("2", 1)
        assert row["found"].startswith("1 of 1 waiting head delayed; the first: start at 52 s")
        assert row["allowed"] == "any number under order shortest, estimate requested, hold requested"

    def test_a_head_that_a_newcomer_displaced_is_judged_from_its_return(self):
        # Job 3 becomes head at 5 and starts at 10, as expected; only then job 2 is head again.
        jobs = trace([(1, 0, 4, 10), (2, 1, 4, 10, 100), (3, 5, 4, 20)])
        row = self.row(policy(order="shortest"), jobs, [0, 30, 10])
        assert (row["checked_count"], row["violations_count"]) == (2, 0)
        assert row["found"] == "0 of 2 waiting heads delayed"

    def test_a_job_held_longer_than_it_was_tried_with(self):
        # Job 3 is known to end at 9, by the shadow time 10; once it runs it is believed to run until 102.
        jobs = trace([(1, 0, 2, 10), (2, 1, 4, 10), (3, 2, 1, 7, 100), (4, 3, 1, 15, 15)])
        row = self.row(policy(estimate="actual"), jobs, [0, 18, 2, 3])
        assert (row["violations_count"], row["job_id"], row["at_s"]) == (2, "2", 1)

    def test_the_same_order_by_another_name_finds_the_same(self):
        # All requests are equal, so that the shortest job is the one submitted first.
        rows = [(k, 3 * k, 1 + k * 7 % 8, 20 + k * 13 % 31, 60) for k in range(60)]
        found = [
            report(replay(trace(rows), rules, 8).schedule, rules, trace(rows), 8)[
                Invariant.HEAD_NEVER_DELAYED
            ]
            for rules in (EASY, policy(order="shortest"))
        ]
        assert found[0]["checked_count"] == found[1]["checked_count"] > 20
        assert [row["verdict"] for row in found] == ["PASS", "NOT_ASSESSED"]
        assert found[1]["violations_count"] == 0


def test_a_schedule_without_jobs_is_not_assessed():
    for jobs in (trace([]), trace([(1, 0, 99, 5)])):
        rows = report(replay(jobs, EASY, 10).schedule, jobs=jobs)
        assert set(verdicts(rows).values()) == {Verdict.NOT_ASSESSED}
