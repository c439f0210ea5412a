"""The reference on a machine that changes its size, and from the middle of a record, worked out by hand."""

import pytest

from hpcopt_assets.simulate.reference.beliefs import Beliefs
from hpcopt_assets.simulate.reference.machine import Machine
from hpcopt_assets.simulate.reference.passes import PassByPass
from hpcopt_assets.simulate.reference.replays import world_of
from hpcopt_assets.simulate.scenario import NOT_GIVEN_S, Scenario
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.by_hand import replayed, starts
from hpcopt_assets_tests.simulate.strategies import EASY, FCFS, policy

CONSERVATIVE = policy(backfill="conservative")
EVERY = pytest.mark.parametrize("rules", [FCFS, EASY, CONSERVATIVE], ids=lambda rules: rules.id)


def steps(*capacity_steps: tuple[int, int]) -> Scenario:
    return Scenario(capacity_steps=capacity_steps)


class TestCapacitySteps:
    @EVERY
    def test_running_jobs_keep_their_processors_and_nobody_starts_before_the_total_fits(self, rules):
        # From 2 on 4 are in use of 2. At 5 it is 3, still one too many.
        rows = [(1, 0, 3, 10), (2, 0, 1, 5), (3, 3, 1, 5)]
        assert starts(rows, rules, 4, steps((2, 2))) == [0, 0, 10]

    @EVERY
    def test_have_a_pass_of_their_own(self, rules):
        assert starts([(1, 0, 2, 10), (2, 1, 2, 10)], rules, 2, steps((7, 4))) == [0, 7]

    @EVERY
    def test_come_after_completions_and_before_submissions_of_their_instant(self, rules):
        assert starts([(1, 0, 2, 10), (2, 10, 4, 10)], rules, 2, steps((10, 4))) == [0, 10]
        assert starts([(1, 0, 2, 10), (2, 10, 4, 10)], rules, 4, steps((10, 2), (11, 4))) == [0, 11]
        assert starts([(1, 0, 4, 10), (2, 10, 2, 10)], rules, 4, steps((10, 2))) == [0, 10]

    @EVERY
    def test_are_not_foreseen(self, rules):
        # Whoever knew would not start job 2, or would keep job 3 waiting for it.
        assert starts([(1, 0, 2, 10), (2, 0, 4, 10)], rules, 4, steps((15, 2))) == [0, 10]
        assert starts([(1, 0, 2, 10), (2, 1, 2, 100)], rules, 4, steps((5, 2))) == [0, 1]

    @EVERY
    def test_a_job_wider_than_what_is_left_for_good_never_starts(self, rules):
        rows = [(1, 0, 2, 10), (2, 3, 4, 10, 20)]
        found = replayed(rows, rules, 4, steps((2, 2), (8, 3)))
        assert found == [(0, 10, False), (NOT_GIVEN_S, 20, False)]

    @EVERY
    def test_a_machine_may_go_away_and_come_back(self, rules):
        assert starts([(1, 0, 4, 10), (2, 1, 4, 10)], rules, 4, steps((5, 0), (50, 4))) == [0, 50]

    def test_a_head_wider_than_the_machine_stops_fcfs(self):
        rows = [(1, 0, 2, 10), (2, 1, 4, 10), (3, 6, 2, 100)]
        assert starts(rows, FCFS, 4, steps((5, 2), (30, 4))) == [0, 30, 40]

    def test_a_head_wider_than_the_machine_has_no_shadow_time(self):
        # At 10 and 11 everything that fits starts, however long; job 2 follows when there is room again.
        rows = [(1, 0, 2, 10), (2, 1, 4, 10), (3, 6, 1, 100), (4, 11, 1, 50)]
        assert starts(rows, EASY, 4, steps((5, 2), (30, 4))) == [0, 110, 10, 11]

    def test_a_head_that_will_fit_when_jobs_end_has_one_although_the_machine_is_overfull(self):
        # 3 are free of -1 at 20, none at 12: job 3 must be through by 20, job 4 cannot.
        rows = [(1, 0, 2, 12), (2, 0, 3, 20), (3, 1, 4, 10), (4, 13, 1, 7), (5, 13, 1, 8)]
        assert starts(rows, EASY, 6, steps((5, 4))) == [0, 0, 20, 13, 30]

    def test_place_all_reservations_again_from_nothing(self):
        # As a sweep leaves it, job 3 stands at 10 although it could have 8 since job 4 has moved to 5.
        rows = [(1, 0, 3, 5, 10), (2, 0, 1, 8), (3, 1, 4, 10), (4, 2, 1, 2)]
        assert starts(rows, CONSERVATIVE, 4) == [0, 0, 10, 5]
        assert starts(rows, CONSERVATIVE, 4, steps((6, 4))) == [0, 0, 8, 5]

    def test_take_the_reservation_of_a_job_that_is_now_too_wide_and_give_it_back(self):
        # From 5 on job 2 has no reservation and job 3 stands at 10, where it starts; at 15 job 2 gets 20.
        rows = [(1, 0, 4, 10), (2, 1, 4, 10), (3, 2, 2, 10), (4, 16, 2, 4), (5, 16, 2, 5)]
        assert starts(rows, CONSERVATIVE, 4, steps((5, 2), (15, 4))) == [0, 20, 10, 16, 30]

    def test_a_job_too_wide_gets_no_reservation_from_a_completion(self):
        # At 8 job 1 ends early and the reservations are swept: job 2 is not among them.
        rows = [(1, 0, 2, 8, 10), (2, 1, 4, 10), (3, 2, 2, 10), (4, 9, 2, 5)]
        assert starts(rows, CONSERVATIVE, 4, steps((3, 2), (40, 4))) == [0, 40, 8, 18]


def given_job(number: int, submit_s: int, start_s: int, procs: int, runtime_s: int, request_s: int, **more):
    """A job whose start the log tells."""
    return job(number, submit_s, procs, runtime_s, request_s, wait_s=start_s - submit_s, **more)


class TestGivenStarts:
    """The window begins at 100."""

    since = Scenario(since_s=100)
    running = given_job(1, 80, 90, 2, 50, 60)  # until 140, and expected until 150

    def test_a_job_that_runs_is_held_from_its_recorded_start_until_its_end(self):
        rows = [self.running, given_job(2, 95, 999, 4, 10, 10), (3, 110, 2, 35, 40)]
        assert starts(rows, FCFS, 4, self.since) == [90, 140, 150]
        assert starts(rows, EASY, 4, self.since) == [90, 145, 110]
        assert starts([*rows[:2], (3, 110, 2, 35, 41)], EASY, 4, self.since) == [90, 140, 150]

    @pytest.mark.parametrize(("request_s", "expected_s"), [(30, 110), (31, 150)])
    def test_one_that_has_outlived_its_request_is_extended_by_its_age(self, request_s: int, expected_s: int):
        # 80 s old at the window's start, 60 of which it asked for: expected until 140.
        overdue = given_job(1, 10, 20, 2, 120, 60)
        rows = [overdue, given_job(2, 95, 999, 4, 10, 10), (3, 110, 2, 20, request_s)]
        assert starts(rows, EASY, 4, self.since) == [20, 140, expected_s]

    def test_conservative_reserves_beside_it(self):
        # At 110 it outlives its request and is expected until 170; it ends at 140.
        rows = [given_job(1, 80, 90, 2, 50, 20), given_job(2, 95, 999, 4, 10, 10), (3, 111, 2, 59)]
        assert starts(rows, CONSERVATIVE, 4, self.since) == [90, 170, 111]

    def test_conservative_takes_up_one_that_is_overdue(self):
        overdue = given_job(1, 10, 20, 2, 120, 60)
        rows = [overdue, given_job(2, 95, 999, 4, 10, 10), (3, 100, 2, 40)]
        assert starts(rows, CONSERVATIVE, 4, self.since) == [20, 140, 100]

    def test_who_waits_at_the_windows_start_is_queued_there_in_order_of_release(self):
        rows = [given_job(1, 90, 999, 1, 10, 10), given_job(2, 20, 998, 1, 10, 10), (3, 100, 1, 10)]
        for rules in (FCFS, EASY, CONSERVATIVE):
            assert starts(rows, rules, 1, self.since) == [100, 110, 120]

    def test_waits_count_from_the_release(self):
        # 60 of 100 s and 10 of 10.
        rows = [given_job(1, 40, 999, 1, 10, 100), given_job(2, 90, 999, 1, 10, 10)]
        assert starts(rows, policy(order="wfp3"), 1, self.since) == [110, 100]

    def test_what_runs_at_the_windows_start_becomes_history_when_it_ends(self):
        rows = [given_job(k, 80, 90, 1, 50 + k, 60, user="u") for k in (1, 2)]
        rows += [job(3, 120, 1, 10, 60, user="u"), job(4, 142, 1, 10, 60, user="u")]
        history = policy(estimate="user_history", hold="user_history")
        expected = [(90, 60, False), (90, 60, False), (120, 60, False), (142, 51, True)]
        assert replayed(rows, history, 4, self.since) == expected

    def test_and_counts_as_usage(self):
        rows = [
            given_job(1, 80, 90, 1, 20, 20, user="u"),
            job(2, 101, 1, 5, user="u"),
            job(3, 102, 1, 5, user="v"),
        ]
        fairshare = policy(order="fairshare", backfill="none")
        assert starts(rows, fairshare, 1, self.since) == [90, 115, 110]

    def test_nothing_happens_before_the_window(self):
        class Watched(PassByPass):
            def starts(self, instant):
                instants.append(instant.now_s)
                return super().starts(instant)

        instants: list[int] = []
        rows = [self.running, given_job(2, 95, 999, 2, 10, 10), (3, 120, 1, 1)]
        scenario = Scenario(since_s=100, capacity_steps=((20, 9), (50, 4)))
        workload = select_workload(trace(rows), 4, scenario)
        plan = Watched(EASY.backfill, EASY.backfill_order)
        Machine(world_of(workload, EASY), Beliefs(workload, EASY), plan).run()
        assert instants == [100, 110, 120, 121, 140]

    @EVERY
    def test_a_step_before_the_window_is_in_force_when_it_begins(self, rules):
        scenario = Scenario(since_s=100, capacity_steps=((20, 9), (50, 2)))
        rows = [given_job(1, 80, 90, 2, 15, 15), given_job(2, 95, 999, 2, 10, 10), (3, 120, 4, 10)]
        assert starts(rows, rules, 4, scenario) == [90, 105, NOT_GIVEN_S]

    @EVERY
    def test_a_step_at_the_windows_start_too(self, rules):
        scenario = Scenario(since_s=100, capacity_steps=((100, 2), (130, 4)))
        rows = [given_job(1, 95, 999, 4, 10, 10), (2, 140, 1, 1)]
        assert starts(rows, rules, 4, scenario) == [130, 140]
