"""Small cases worked out by hand, each for a fault seen in some scheduler. Kernel and reference alike."""

from io import BytesIO

import polars as pl
import pytest

from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.usage import usage
from hpcopt_assets.simulate import reference
from hpcopt_assets.simulate.engine import Replay, replay
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.strategies import EASY, FCFS, policy

SJF = policy(order="shortest")
KILL = policy(overrun="kill")


def starts(jobs: pl.DataFrame, rules, capacity_procs: int) -> dict[str, int]:
    """Starts by job id, after showing that kernel and reference agree."""
    schedule = replay(jobs, rules, capacity_procs).schedule.filter(pl.col("start_s").is_not_null())
    assert schedule["start_s"].to_list() == reference.replay_starts(
        select_workload(jobs, capacity_procs), rules
    )
    return dict(zip(schedule["job_id"], schedule["start_s"], strict=True))


def parquet(result: Replay) -> bytes:
    buffer = BytesIO()
    result.schedule.write_parquet(buffer)
    return buffer.getvalue()


def test_backfilling_tests_the_shadow_time_first_and_uses_up_the_extra_processors():
    jobs = trace(
        [(1, 0, 6, 100), (2, 1, 8, 50), (3, 2, 4, 99), (4, 3, 2, 500), (5, 4, 2, 500), (6, 5, 2, 95)]
    )
    # Job 6 ends exactly at the shadow time; job 5 must not use the extra processors that job 4 has taken.
    assert starts(jobs, EASY, 10) == {"1": 0, "2": 100, "3": 150, "4": 3, "5": 150, "6": 5}
    assert starts(jobs, FCFS, 10) == {"1": 0, "2": 100, "3": 150, "4": 150, "5": 150, "6": 150}


def test_a_job_that_ends_by_the_shadow_time_leaves_the_extra_processors_alone():
    jobs = trace([(1, 0, 6, 100), (2, 1, 8, 50), (3, 2, 2, 50), (4, 2, 2, 500)])
    assert starts(jobs, EASY, 10) == {"1": 0, "2": 100, "3": 2, "4": 2}


def test_two_jobs_of_one_pass_do_not_share_the_extra_processors():
    jobs = trace([(1, 0, 6, 100), (2, 1, 8, 50), (3, 2, 2, 500), (4, 2, 2, 500), (5, 2, 2, 98)])
    assert starts(jobs, EASY, 10) == {"1": 0, "2": 100, "3": 2, "4": 150, "5": 2}


def test_shorter_jobs_are_tried_first_where_the_policy_says_so_and_ties_keep_the_order_of_the_queue():
    jobs = trace([(1, 0, 2, 100), (2, 1, 4, 10), (3, 2, 2, 50), (4, 2, 2, 20), (5, 2, 2, 20)])
    shortest = policy(backfill_order="shortest")
    assert starts(jobs, shortest, 4) == {"1": 0, "2": 100, "3": 42, "4": 2, "5": 22}
    assert starts(jobs, EASY, 4) == {"1": 0, "2": 100, "3": 2, "4": 52, "5": 72}


def test_extra_counts_everything_released_at_the_shadow_time():
    jobs = trace([(1, 0, 4, 100), (2, 0, 4, 100), (3, 1, 6, 50), (4, 2, 2, 500)])
    assert starts(jobs, EASY, 10) == {"1": 0, "2": 0, "3": 100, "4": 2}


def test_easy_may_delay_the_third_job():
    jobs = trace([(1, 0, 6, 100), (2, 1, 8, 100), (3, 2, 10, 10), (4, 3, 2, 250)])
    assert starts(jobs, EASY, 10) == {"1": 0, "2": 100, "3": 253, "4": 3}


def test_after_a_head_has_started_the_next_one_has_its_own_reservation():
    # At 10 job 2 starts and job 3 becomes head (shadow 20, no extra): job 4 must not slip past it.
    jobs = trace([(1, 0, 4, 10), (2, 1, 2, 10), (3, 2, 4, 10), (4, 3, 2, 50)])
    assert starts(jobs, EASY, 4) == {"1": 0, "2": 10, "3": 20, "4": 30}


class TestAJobThatOutlivesItsRequest:
    jobs = trace([(1, 0, 2, 30, 10), (2, 0, 4, 10, 10), (3, 15, 2, 5, 5)])

    def test_is_extended_so_that_later_jobs_see_room_before_its_end(self):
        assert starts(self.jobs, EASY, 4) == {"1": 0, "2": 30, "3": 15}

    def test_or_is_killed(self):
        result = replay(self.jobs, KILL, 4)
        assert starts(self.jobs, KILL, 4) == {"1": 0, "2": 10, "3": 20}
        assert result.schedule["runtime_s"].to_list() == [10, 10, 5]

    def test_but_never_killed_for_a_request_that_nobody_made(self):
        jobs = trace([(1, 0, 2, 100_000, None), (2, 0, 4, 10, 10)])
        assert starts(jobs, KILL, 4) == {"1": 0, "2": 100_000}

    @pytest.mark.parametrize(
        ("age_s", "shadow_s"),
        [
            (99, 100),
            (100, 160),
            (159, 160),
            (160, 400),
            (399, 400),
            (400, 1000),
            (1900, 3700),
            (3700, 7300),
            (180_100, 360_100),
            (360_099, 360_100),
            (360_100, 720_100),
            (720_100, 1_080_100),
        ],
    )
    def test_its_expected_end_climbs_a_ladder_measured_from_the_request(self, age_s: int, shadow_s: int):
        # Job 1 (request 100) runs on, so job 2 waits. Job 3 comes at that age and may start if it ends by
        # the shadow time, and not if it asks for one second more.
        def start_of_third(request_s: int) -> int:
            jobs = [(1, 0, 2, 2_000_000, 100), (2, 0, 4, 10, 10), (3, age_s, 2, 1, request_s)]
            return starts(trace(jobs), EASY, 4)["3"]

        assert start_of_third(shadow_s - age_s) == age_s
        assert start_of_third(shadow_s - age_s + 1) == 2_000_010


class TestTiesAndZeroRuntimes:
    jobs = trace([(1, 0, 2, 10, 10), (2, 0, 2, 10, 10), (3, 10, 2, 5, 5), (4, 10, 2, 0, 1)])

    @pytest.mark.parametrize("rules", [FCFS, EASY], ids=lambda rules: rules.id)
    def test_ends_come_before_starts_of_the_same_instant(self, rules):
        assert starts(self.jobs, rules, 2) == {"1": 0, "2": 10, "3": 20, "4": 25}

    def test_a_job_of_zero_runtime_ends_where_it_starts_and_makes_room_at_once(self):
        assert starts(self.jobs, SJF, 2) == {"1": 0, "4": 10, "3": 10, "2": 15}

    def test_the_machine_is_full_but_never_fuller(self):
        assert usage(Schedule.of(replay(self.jobs, EASY, 2).schedule)).peak() == 2

    def test_a_job_of_zero_runtime_holds_its_processors_until_the_end_of_the_pass(self):
        # In the first pass at 5 job 2 is believed to hold two processors until 25, so job 4 starts ahead of
        # job 3. In the second pass at 5, with job 2 gone, it could not have: job 3 would fit at 10.
        jobs = trace([(1, 0, 1, 10, 10), (2, 5, 2, 0, 20), (3, 5, 4, 7, 7), (4, 5, 1, 9, 9)])
        assert starts(jobs, EASY, 4) == {"1": 0, "2": 5, "3": 14, "4": 5}

    def test_a_job_of_zero_runtime_must_fit(self):
        jobs = trace([(1, 0, 2, 10, 10), (2, 5, 3, 0, 20)])
        assert starts(jobs, EASY, 4) == {"1": 0, "2": 10}

    def test_numeric_ids_are_compared_as_numbers_whatever_the_order_of_rows(self):
        jobs = trace([(9, 0, 2, 10), (10, 0, 2, 20), (11, 0, 2, 30)])
        assert starts(jobs, FCFS, 2) == {"9": 0, "10": 10, "11": 30}
        assert parquet(replay(jobs, FCFS, 2)) == parquet(replay(jobs.reverse(), FCFS, 2))

    def test_numbers_within_ids_order_as_numbers_whatever_the_order_of_lines(self):
        jobs = trace([("b10", 0, 2, 10), ("b9", 0, 2, 20)])
        assert starts(jobs.reverse(), FCFS, 2) == {"b9": 0, "b10": 20}

    def test_two_runs_give_the_same_bytes(self):
        assert parquet(replay(self.jobs, EASY, 2)) == parquet(replay(self.jobs, EASY, 2))


class TestWhoIsLeftBehind:
    @pytest.mark.parametrize("rules", [FCFS, EASY], ids=lambda rules: rules.id)
    def test_a_job_wider_than_the_machine_is_left_out_and_blocks_nobody(self, rules):
        jobs = trace([(1, 0, 16, 10), (2, 1, 4, 10), (3, 2, 8, 10)])
        assert starts(jobs, rules, 8) == {"2": 1, "3": 11}
        result = replay(jobs, rules, 8)
        assert result.left_out["wider_than_machine"] == 1
        assert result.schedule["left_out"].to_list() == ["wider_than_machine", None, None]

    def test_shortest_first_starves_the_long_job(self):
        short = [job(number, 9 * (number - 2), 2, 10) for number in range(3, 9)]
        jobs = trace([(1, 0, 2, 10), (2, 1, 2, 50), *short])
        by_length = {"1": 0, "2": 70} | {str(number): 10 * (number - 2) for number in range(3, 9)}
        by_submit = {"1": 0, "2": 10} | {str(number): 60 + 10 * (number - 3) for number in range(3, 9)}
        assert starts(jobs, SJF, 2) == by_length
        assert starts(jobs, FCFS, 2) == by_submit
        waits = {rules.id: replay(jobs, rules, 2).schedule["wait_s"] for rules in (SJF, FCFS)}
        assert (waits[SJF.id].mean(), waits[FCFS.id].mean()) == (11.25, 41.25)
        assert waits[SJF.id].max() == 69
