"""The reference's orders of the queue and its estimates from a user's history, worked out by hand."""

import math

import pytest

from hpcopt_assets.simulate.reference.beliefs import History, Usage
from hpcopt_assets_tests.builders import job
from hpcopt_assets_tests.simulate.by_hand import replayed, starts
from hpcopt_assets_tests.simulate.strategies import FCFS, policy

FAIRSHARE, WFP3, UNICEF, F1 = (
    policy(order=order, backfill="none") for order in ("fairshare", "wfp3", "unicef", "f1")
)  # fairshare halves a usage in 50 s


def of(user: str | None, *positional: int) -> dict:
    """A job of a user: (id, submit, procs, runtime[, request])."""
    return job(*positional, user=user)


class TestFairshare:
    def test_who_has_used_least_goes_first_and_the_unknown_are_one_user(self):
        # When a job of ten seconds ends its user falls behind: u at 10, v at 20, the unknown at 30.
        rows = [of("u", 1, 0, 1, 10), of("u", 2, 1, 1, 10), of("v", 3, 2, 1, 10), of("v", 4, 3, 1, 10)]
        rows += [of(None, 5, 4, 1, 10), of(None, 6, 5, 1, 10)]
        assert starts(rows, FAIRSHARE, 1) == [0, 30, 10, 40, 20, 50]

    def test_old_use_counts_less(self):
        # At 210 u has used 20 s, long ago, and v just 10: v's job has to wait although it came first.
        rows = [of("u", 1, 0, 1, 20), of("v", 2, 200, 1, 10), of("v", 3, 201, 1, 5), of("u", 4, 202, 1, 5)]
        assert starts(rows, FAIRSHARE, 1) == [0, 200, 215, 210]

    def test_use_is_processors_times_runtime(self):
        # At 13 u has used 4 x 5, v 1 x 8.
        rows = [of("u", 1, 0, 4, 5), of("v", 2, 1, 1, 8), of("u", 3, 2, 4, 1), of("v", 4, 3, 4, 1)]
        assert starts(rows, FAIRSHARE, 4) == [0, 5, 14, 13]

    def test_use_is_what_was_run_not_what_was_asked(self):
        rows = [of("u", 1, 0, 1, 5, 500), of("v", 2, 1, 1, 10, 10), of("v", 3, 2, 1, 1), of("u", 4, 3, 1, 1)]
        # u has used 5 s by 5, v 10 s by 15.
        assert starts(rows, FAIRSHARE, 1) == [0, 5, 16, 15]

    def test_use_is_forgotten_after_ever_so_many_half_lives(self):
        rows = [of("u", 1, 0, 1, 10), of("v", 2, 60_000, 1, 10)]
        rows += [of("v", 3, 60_001, 1, 1), of("u", 4, 60_002, 1, 1)]
        assert starts(rows, FAIRSHARE, 1) == [0, 60_000, 60_011, 60_010]

    def test_sums_are_rebased_beyond_512_half_lives_by_whole_ones(self):
        usage = Usage(base_s=1000, half_life_s=50)
        usage.add(0, 1000 + 512 * 50, 1, 1)
        assert usage.of(0) == 2.0**512
        usage.add(1, 1000 + 513 * 50 + 25, 3, 2)
        assert (usage.of(0), usage.of(1)) == (0.5, 6 * math.exp2(0.5))
        usage.add(1, 1000 + 514 * 50, 1, 1)
        assert usage.of(1) == 6 * math.exp2(0.5) + 2.0

    def test_one_half_life_ago_counts_half(self):
        usage = Usage(base_s=7, half_life_s=50)
        usage.add(0, 7, 4, 10)
        usage.add(1, 57, 2, 10)
        assert usage.of(0) == usage.of(1) == 40
        assert usage.of(2) == 0


class TestScores:
    # When job 1 ends at 100, job 2 has waited 90 of 50 s, job 3 60 of 20 s, job 4 60 of 15 s.
    rows = (job(1, 0, 4, 100), job(2, 10, 4, 50), job(3, 40, 4, 20), job(4, 40, 1, 15))

    def test_wfp3_is_the_cube_of_wait_over_request_times_processors(self):
        # At 100: 23.3, 108, 64. At 120: job 2 42.6, job 4 151.7.
        assert starts([*self.rows], WFP3, 4) == [0, 135, 100, 120]

    def test_unicef_is_wait_over_request_and_the_logarithm_of_processors(self):
        # At 100: 0.9, 1.5, 4 (one processor counts as two). At 115: job 2 1.05, job 3 1.875.
        assert starts([*self.rows], UNICEF, 4) == [0, 135, 115, 100]

    @pytest.mark.parametrize(("runtime_s", "expected"), [(65, [0, 65, 165]), (70, [0, 80, 70])])
    @pytest.mark.parametrize("rules", [WFP3, UNICEF], ids=lambda rules: rules.id)
    def test_the_order_is_renewed_as_waits_grow(self, rules, runtime_s: int, expected: list[int]):
        # Job 3 overtakes job 2 between 65 (0.65 before 0.5) and 70 (0.7 behind 1.0).
        assert starts([(1, 0, 2, runtime_s), (2, 0, 2, 100), (3, 60, 2, 10)], rules, 2) == expected

    @pytest.mark.parametrize("rules", [WFP3, UNICEF], ids=lambda rules: rules.id)
    def test_equal_scores_keep_the_order_of_release(self, rules):
        assert starts([(k, 0, 1, 10) for k in range(4)], rules, 1) == [0, 10, 20, 30]

    @pytest.mark.parametrize("rules", [WFP3, UNICEF], ids=lambda rules: rules.id)
    def test_they_know_the_request_not_the_estimate(self, rules):
        # By what it runs for, job 3 would be far ahead at 10: 8 of 1 s.
        rows = [(1, 0, 1, 10), (2, 1, 1, 30), (3, 2, 1, 1, 1000)]
        clairvoyant = policy(rules.order, "none", estimate="actual", hold="actual")
        assert starts(rows, clairvoyant, 1) == [0, 10, 40]

    def test_f1_is_the_request_times_processors_unless_releases_differ(self):
        # Of those released at 10: 12, 4 and 3 (beside 906 each); the job released at 11 has 939.
        rows = [(1, 0, 4, 100), (2, 10, 4, 10, 1000), (3, 10, 4, 10, 10), (4, 10, 1, 10, 1000)]
        rows += [(5, 11, 1, 1, 1)]
        assert starts(rows, F1, 4) == [0, 120, 110, 100, 130]

    def test_f1_counts_from_the_first_release(self):
        # From 0, releases at 1000 and 1001 would differ by 0.4 and not outweigh the requests (9 and 0).
        rows = [(1, 1000, 3, 10, 1000), (2, 1000, 3, 10, 1000), (3, 1001, 3, 10, 1)]
        assert starts(rows, F1, 3) == [1000, 1010, 1020]


class TestHistory:
    EASY = policy(estimate="user_history", hold="user_history")

    def test_is_the_mean_of_the_last_two_in_whole_seconds_up_to_the_request(self):
        rows = [of("u", 1, 0, 1, 10, 100), of("u", 2, 0, 1, 21, 100)]
        rows += [of("u", 3, 15, 1, 50, 90)]  # one has completed
        rows += [of("u", 4, 21, 1, 40, 90), of("u", 5, 21, 1, 1, 12)]  # two: 15.5
        rows += [of("v", 6, 21, 1, 1, 80)]
        rows += [of("u", 7, 65, 1, 1, 90)]  # 50 and 40, which ended at 65 and 61
        assert replayed(rows, self.EASY, 9) == [
            (0, 100, False),
            (0, 100, False),
            (15, 90, False),
            (21, 15, True),
            (21, 12, True),
            (21, 80, False),
            (65, 45, True),
        ]

    def test_is_a_second_at_least(self):
        rows = [of("u", 1, 0, 1, 0, 9), of("u", 2, 0, 1, 0, 9), of("u", 3, 1, 1, 5, 9)]
        assert replayed(rows, self.EASY, 4)[-1] == (1, 1, True)

    def test_the_unknown_have_none(self):
        rows = [of(None, number, 10 * number, 1, 1, 9) for number in range(4)]
        assert [(job.estimate_s, job.is_from_history) for job in replayed(rows, self.EASY, 4)] == [
            (9, False)
        ] * 4

    def test_is_of_killed_jobs_what_they_ran(self):
        rows = [of("u", 1, 0, 1, 100, 10), of("u", 2, 0, 1, 100, 20), of("u", 3, 50, 1, 5, 90)]
        kill = policy(estimate="user_history", overrun="kill")
        assert replayed(rows, kill, 4)[-1] == (50, 15, True)

    def test_the_last_are_the_last_to_end_by_position_not_by_order_of_completion(self):
        # All of jobs 2 to 4 end at 10: 3 and 4 first, and then 2, which starts there and runs for no time.
        rows = [of("v", 1, 0, 1, 10), of("u", 2, 1, 3, 0, 10), of("u", 3, 2, 1, 8), of("u", 4, 4, 1, 6)]
        rows += [of("u", 5, 11, 1, 1, 100)]
        assert replayed(rows, self.EASY, 3) == [
            (0, 10, False),
            (10, 7, True),
            (2, 8, False),
            (4, 6, False),
            (11, 7, True),
        ]

    def test_is_kept_by_user(self):
        history = History()
        history.add(0, 10, 0, 4)
        history.add(1, 11, 1, 5)
        assert history.mean_s(0) is None
        history.add(0, 9, 2, 8)
        history.add(0, 9, 1, 3)
        assert history.mean_s(0) == 6

    def test_says_so_only_of_an_estimate(self):
        rows = [of("u", number, 10 * number, 1, 1, 9) for number in range(4)]
        held = policy(estimate="requested", hold="user_history")
        assert [job[1:] for job in replayed(rows, held, 4)] == [(9, False)] * 4

    def test_of_a_queued_job_is_renewed(self):
        # Job 5 asks for 200 s, beyond the shadow time of 100; at 10 its user's jobs are known to take 10.
        rows = [of("v", 1, 0, 1, 100), of("u", 2, 0, 1, 10, 60), of("u", 3, 0, 1, 10, 60)]
        rows += [of("v", 4, 1, 4, 5), of("u", 5, 2, 1, 10, 200)]
        assert starts(rows, self.EASY, 4) == [0, 0, 0, 100, 10]
        assert starts(rows, policy(), 4) == [0, 0, 0, 100, 105]

    def test_of_a_running_job_stays(self):
        # Job 3 starts at 25, when nothing is known of u, and is held until 125 although at 30 the history is
        # 30 s: so job 5, which asks for 60 s at 31, ends by the shadow time.
        rows = [of("u", 1, 0, 1, 30), of("u", 2, 0, 1, 30), of("u", 3, 25, 2, 100), of("v", 4, 26, 4, 5)]
        rows += [of("v", 5, 31, 1, 60)]
        assert starts(rows, self.EASY, 4) == [0, 0, 25, 125, 31]

    history_of_30 = (of("u", 1, 0, 1, 30), of("u", 2, 0, 1, 30), of("u", 3, 31, 2, 40, 100))
    waiting = (of("v", 4, 32, 4, 5), of("v", 5, 33, 1, 60))

    def test_holds_what_starts_with_it(self):
        # Job 3 is held until 61, too short for job 5. It ends at 71.
        rows = [*self.history_of_30, *self.waiting]
        assert starts(rows, self.EASY, 4) == [0, 0, 31, 71, 76]
        assert starts(rows, policy(estimate="user_history"), 4) == [0, 0, 31, 93, 33]

    def test_outlived_gives_way_to_the_request(self):
        # At 65 the shadow time is job 3's requested end, 131: late enough for job 5, whose pass comes only
        # with job 6.
        rows = [*self.history_of_30, *self.waiting, of("v", 6, 65, 4, 1)]
        assert starts(rows, self.EASY, 4) == [0, 0, 31, 125, 65, 130]

    def test_orders_the_queue_where_estimates_do(self):
        # Job 4 asks for more than job 5 but is known to be short.
        rows = [of("u", 1, 0, 1, 2, 50), of("u", 2, 0, 1, 2, 50), of("v", 3, 1, 4, 10)]
        rows += [of("v", 5, 3, 4, 20), of("u", 6, 4, 4, 2, 50)]
        shortest = policy(order="shortest", backfill="none", estimate="user_history")
        assert starts(rows, shortest, 4) == [0, 0, 2, 14, 12]
        assert starts(rows, FCFS, 4) == [0, 0, 2, 12, 32]
