"""The slow twin's own face: EASY with priorities, as the synthetic demo needs it."""

from itertools import pairwise

import pytest
from hypothesis import given, settings

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.protocols import PriorityReplayer
from hpcopt_assets.simulate.reference import Queued, Running, expected_end_s, priority_starts, replay_starts
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.simulate.strategies import CAPACITY, EASY, jobs

HOUR_S = 3600


def starts(rows: list[tuple[int, int, int, int, int]], capacity_procs: int) -> list[int]:
    """Of jobs (release, procs, runtime, believed, priority)."""
    release_s, procs, runtime_s, believed_s, priority = (list(column) for column in zip(*rows, strict=True))
    replayer: PriorityReplayer = priority_starts
    return replayer(
        release_s=release_s,
        runtime_s=runtime_s,
        procs=procs,
        believed_s=believed_s,
        priority=priority,
        capacity_procs=capacity_procs,
    )


def test_a_lower_number_goes_first_and_ties_keep_the_release_order():
    rows = [(0, 4, 10, 10, 1), (1, 4, 5, 5, 1), (2, 4, 6, 6, 1), (3, 4, 7, 7, 0)]
    assert starts(rows, 4) == [0, 17, 22, 10]


def test_a_job_may_outlive_what_is_believed_of_it():
    rows = [(0, 2, 30, 10, 0), (0, 4, 10, 10, 0), (15, 2, 5, 5, 0)]
    assert starts(rows, 4) == [0, 30, 15]


def test_a_belief_of_nothing_is_a_second():
    assert starts([(0, 2, 5, 0, 0), (1, 2, 5, 0, 0)], 2) == [0, 5]


def test_no_jobs_give_no_starts():
    empty: list[int] = []
    assert (
        priority_starts(
            release_s=empty, runtime_s=empty, procs=empty, believed_s=empty, priority=empty, capacity_procs=4
        )
        == []
    )


def test_a_job_wider_than_the_machine_is_refused():
    with pytest.raises(InputError, match="a job of 5 processors; needed: at most 4"):
        starts([(0, 5, 1, 1, 0)], 4)


@given(jobs())
@settings(deadline=None)
def test_with_one_priority_it_is_plain_easy(frame):
    workload = select_workload(frame, CAPACITY)
    found = priority_starts(
        release_s=workload.release_s.tolist(),
        runtime_s=workload.runtime_s.tolist(),
        procs=workload.procs.tolist(),
        believed_s=workload.limit_s.tolist(),
        priority=[7] * len(workload),
        capacity_procs=CAPACITY,
    )
    assert found == replay_starts(workload, EASY)


def test_expected_ends_climb_from_estimate_to_request_to_the_ladder():
    running = Running(Queued(0, 0, 1, 40, 40, 100), 1000)
    ends, now_s = [], 1000
    while len(ends) < 16:
        now_s = expected_end_s(running, now_s)
        ends.append(now_s - 1100)
    minutes, hours = [1, 5, 15, 30], [1, 2, 5, 10, 20, 50, 100, 200, 300, 400]
    assert ends == [-60, 0, *(60 * m for m in minutes), *(HOUR_S * h for h in hours)]
    assert all(later > earlier for earlier, later in pairwise(ends))
