"""The reference's conservative backfilling, worked out by hand and against searches second by second."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcopt_assets.simulate.reference.beliefs import Beliefs
from hpcopt_assets.simulate.reference.conservative import Conservative, Window, earliest_s
from hpcopt_assets.simulate.reference.machine import Machine
from hpcopt_assets.simulate.reference.replays import world_of
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.simulate.by_hand import starts
from hpcopt_assets_tests.simulate.strategies import CAPACITY, EASY, jobs, policy

CONSERVATIVE = policy(backfill="conservative")
KILL = policy(backfill="conservative", overrun="kill")


class TestReservations:
    def test_a_job_takes_the_first_window_that_holds_all_of_it(self):
        # Job 3 would run into job 2 from 100 on; 4 and 5 both leave it alone, but do not fit side by side.
        rows = [(1, 0, 6, 100), (2, 1, 8, 50), (3, 2, 4, 99), (4, 3, 2, 500), (5, 4, 2, 500), (6, 5, 2, 95)]
        assert starts(rows, CONSERVATIVE, 10) == [0, 100, 150, 3, 150, 5]

    def test_nobody_delays_the_third_job_either(self):
        rows = [(1, 0, 6, 100), (2, 1, 8, 100), (3, 2, 10, 10), (4, 3, 2, 250)]
        assert starts(rows, CONSERVATIVE, 10) == [0, 100, 200, 210]
        assert starts(rows, EASY, 10) == [0, 100, 253, 3]

    def test_ties_keep_the_order_and_ends_come_before_starts(self):
        rows = [(1, 0, 2, 10, 10), (2, 0, 2, 10, 10), (3, 10, 2, 5, 5), (4, 10, 2, 0, 1)]
        assert starts(rows, CONSERVATIVE, 2) == [0, 10, 20, 25]

    def test_a_job_wider_than_the_machine_blocks_nobody(self):
        assert starts([(1, 0, 16, 10), (2, 1, 4, 10), (3, 2, 8, 10)], CONSERVATIVE, 8) == [1, 11]

    def test_a_job_of_zero_runtime_makes_room_at_once(self):
        # Job 2 ends at its start, ahead of its expected end: job 3 moves from 15 to 10.
        assert starts([(1, 0, 2, 10), (2, 1, 2, 0, 5), (3, 2, 2, 5)], CONSERVATIVE, 2) == [0, 10, 10]

    def test_a_job_of_zero_runtime_holds_its_processors_while_others_of_its_instant_are_placed(self):
        # Job 2 starts at 0 with job 1 and is expected to end at 50; job 3 is placed after it, and then moved.
        # Job 4, placed while 3 stood at 10, starts at once, and keeps 3 from moving further than to 9.
        rows = [(1, 0, 2, 10), (2, 0, 1, 0, 50), (3, 0, 2, 5), (4, 0, 1, 9)]
        assert starts(rows, CONSERVATIVE, 4) == [0, 0, 9, 0]


class TestCompression:
    def test_everybody_moves_up_in_order_when_a_job_ends_early(self):
        assert starts([(1, 0, 4, 5, 10), (2, 1, 4, 10), (3, 2, 2, 10)], CONSERVATIVE, 4) == [0, 5, 15]

    @pytest.mark.parametrize(("runtime_s", "expected_s"), [(8, 10), (7, 7)])
    def test_is_one_sweep_and_comes_again_only_with_an_early_end(self, runtime_s: int, expected_s: int):
        # Job 1 ends at 5, not at 10. Job 4 stands at [8, 10), so job 3 stays at 10; then job 4 moves to 5.
        # Now job 3 could move to 8, but is asked again only if job 2 ends before 8.
        rows = [(1, 0, 3, 5, 10), (2, 0, 1, runtime_s, 8), (3, 1, 4, 10), (4, 2, 1, 2)]
        assert starts(rows, CONSERVATIVE, 4) == [0, 0, expected_s, 5]

    def test_moves_nobody_for_a_submission(self):
        # Were job 3 placed anew for job 4 at 9, it would move to 9, for job 2 has left [8, 10).
        rows = [(1, 0, 3, 5, 10), (2, 0, 1, 8), (3, 1, 4, 10), (4, 2, 1, 2), (5, 9, 1, 1)]
        assert starts(rows, CONSERVATIVE, 4) == [0, 0, 10, 5, 9]

    def test_comes_before_the_submissions_of_its_instant(self):
        # Job 1 ends at 5, when job 3 is released. Job 2 moves up first and leaves no room for job 3.
        assert starts([(1, 0, 2, 5, 10), (2, 1, 2, 9), (3, 5, 2, 1)], CONSERVATIVE, 2) == [0, 5, 14]


class TestOverruns:
    rows = ((1, 0, 2, 30, 10), (2, 0, 4, 10, 10), (3, 15, 2, 5, 5))

    def test_move_reservations_and_leave_room_for_others(self):
        # At 10 job 1 is expected until 70, and so job 2 stands there when job 3 comes. Job 1 ends at 30.
        assert starts([*self.rows], CONSERVATIVE, 4) == [0, 30, 15]

    def test_do_not_happen_where_jobs_are_killed(self):
        assert starts([*self.rows], KILL, 4) == [0, 10, 20]

    def test_place_everybody_again_from_nothing(self):
        # At 5 job 1 ends early and job 3 outlives its request. A sweep would leave job 4 at 10, for job 5
        # stands at [8, 10) until it is asked; from nothing job 4 comes first and takes 8.
        rows = [(1, 0, 3, 5, 10), (2, 0, 1, 8), (3, 0, 1, 30, 5), (4, 1, 4, 10), (5, 2, 2, 2)]
        assert starts(rows, CONSERVATIVE, 5) == [0, 0, 0, 8, 5]

    @pytest.mark.parametrize(("runtime_s", "expected_s"), [(30, 8), (7, 10)])
    def test_let_a_job_move_up_that_could_have_before(self, runtime_s: int, expected_s: int):
        # Job 5 has left [8, 10) at 5. Job 4 is asked again only if job 3 is still there at 7.
        rows = [(1, 0, 3, 5, 10), (2, 0, 1, 8), (3, 0, 1, runtime_s, 7), (4, 1, 4, 10), (5, 2, 2, 2)]
        assert starts(rows, CONSERVATIVE, 5) == [0, 0, 0, expected_s, 5]

    def test_have_a_pass_of_their_own(self):
        # At 1 job 4 is still there, job 2 moves from 2 to 61, and so job 3 need not wait for it until 3.
        rows = [(1, 0, 1, 2, 2), (2, 0, 5, 1, 1), (3, 0, 1, 1, 3), (4, 0, 1, 2, 1)]
        assert starts(rows, CONSERVATIVE, 5) == [0, 2, 1, 0]


@st.composite
def windows(draw):
    """Processors taken, here and there more than the machine has."""
    taken = []
    for _ in range(draw(st.integers(0, 6))):
        begin_s = draw(st.integers(5, 20))
        taken.append(Window(begin_s, begin_s + draw(st.integers(1, 10)), draw(st.integers(1, 4))))
    return taken


@given(windows(), st.integers(1, 12), st.integers(1, 5))
def test_the_first_window_is_what_a_search_by_the_second_finds(taken, duration_s: int, procs: int):
    def free(at_s: int) -> int:
        return 5 - sum(window.procs for window in taken if window.begin_s <= at_s < window.end_s)

    plain = next(at_s for at_s in range(5, 99) if all(free(at_s + k) >= procs for k in range(duration_s)))
    assert earliest_s(5, duration_s, procs, 5, taken) == plain


class Watched(Conservative):
    """Keeps every reservation of every job, in the order in which it held them."""

    def __init__(self) -> None:
        super().__init__()
        self.held_s: dict[int, list[int]] = {}

    def starts(self, instant):
        due = super().starts(instant)
        for job in due:
            self.held_s.setdefault(job.position, []).append(instant.now_s)
        for position, window in self._reserved.items():
            self.held_s.setdefault(position, []).append(window.begin_s)
        return due


@given(jobs(min_size=3))
@settings(deadline=None, max_examples=300)
def test_no_job_starts_later_than_promised_nor_is_promised_later_unless_one_outlives_its_request(frame):
    workload = select_workload(frame, CAPACITY)
    workload = replace(workload, runtime_s=np.minimum(workload.runtime_s, workload.limit_s))
    plan = Watched()
    schedule = Machine(world_of(workload, CONSERVATIVE), Beliefs(workload, CONSERVATIVE), plan).run()
    start_s = [job.start_s for job in schedule]
    assume(start_s != workload.release_s.tolist())
    for position, at_s in enumerate(start_s):
        held_s = plan.held_s[position]
        assert held_s == sorted(held_s, reverse=True)
        assert at_s == held_s[-1] <= held_s[0] <= plan.promised_s[position]
