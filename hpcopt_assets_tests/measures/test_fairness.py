"""Fairness over users: what the indices see, and what no schedule can change."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.fairness import jain_index, mean_by_user, share_deviation, total_by_user
from hpcopt_assets.measures.summary import measure
from hpcopt_assets_tests.schedules import MEASURES, schedule


def test_jain_by_hand():
    assert jain_index(np.array([1.0, 2.0, 3.0])) == pytest.approx(36 / (3 * 14))
    assert jain_index(np.array([5.0, 0.0, 0.0, 0.0])) == 0.25
    assert jain_index(np.array([7.0, 7.0])) == 1.0
    assert jain_index(np.array([1.0, 1.0 - 2**-52, 1.0])) == 1.0  # rounding alone would exceed 1
    assert jain_index(np.array([])) is None
    assert jain_index(np.array([0.0, 0.0])) is None


def test_share_deviation_by_hand():
    assert share_deviation(np.array([1.0, 3.0])) == 0.25
    assert share_deviation(np.array([4.0, 0.0, 0.0, 0.0])) == 0.75
    assert share_deviation(np.array([2.0, 2.0])) == 0.0
    assert share_deviation(np.array([0.0])) is None


def test_unknown_users_belong_to_nobody():
    values, user = np.array([1.0, 3.0, 100.0, 8.0]), np.array([0, 0, -1, 2])
    assert mean_by_user(values, user, 1).tolist() == [2.0, 8.0]
    assert mean_by_user(values, user, 2).tolist() == [2.0]
    assert total_by_user(values, user).tolist() == [4.0, 8.0]


@given(st.lists(st.floats(0, 1e300, allow_subnormal=True), min_size=1, max_size=10))
def test_jain_lies_between_one_user_and_all(values: list[float]):
    found = jain_index(np.array(values))
    assume(found is not None)
    assert 1 / len(values) - 1e-12 <= found <= 1.0
    assert 0.0 <= (share_deviation(np.array(values)) or 0.0) <= 1.0


job = st.tuples(
    st.integers(0, 50), st.integers(0, 200), st.integers(0, 30), st.integers(1, 8), st.integers(-1, 2)
)


@given(st.lists(job, min_size=1, max_size=10), st.data())
def test_no_complete_schedule_changes_the_older_indices(jobs: list[tuple[int, ...]], data: st.DataObject):
    """Processor-seconds by user are the trace's, whatever the policy: a limit on them could not fail."""
    jobs.sort()
    other_waits = data.draw(st.lists(st.integers(0, 10**6), min_size=len(jobs), max_size=len(jobs)))
    found = [
        measure(
            schedule(
                (
                    (release, release + wait, runtime, procs)
                    for (release, _, runtime, procs, _), wait in zip(jobs, waits, strict=True)
                ),
                [user for *_, user in jobs],
            ),
            capacity=Capacity(8),
            config=MEASURES,
            window=window,
        )
        for waits in ([wait for _, wait, *_ in jobs], other_waits)
        for window in (Window.WHOLE, Window.STEADY)
    ]
    for key in ("fairness_dev", "jain"):
        assert found[0][key] == found[2][key]
        assert found[1][key] == found[3][key]


def test_service_index_sees_what_the_older_ones_cannot():
    """Two users with equal work; one waits, or both do."""
    users = [0, 1] * 10
    even = schedule(((i, i + 90, 10, 1) for i in range(20)), users)
    uneven = schedule(((i, i + 180 * (i % 2), 10, 1) for i in range(20)), users)
    fair, unfair = (
        measure(made, capacity=Capacity(20), config=MEASURES, window=Window.WHOLE) for made in (even, uneven)
    )
    assert (fair["jain_service"], fair["worst_user_bsld"]) == (1.0, 10.0)
    assert unfair["jain_service"] == pytest.approx((1 + 19) ** 2 / (2 * (1 + 19**2)))
    assert unfair["worst_user_bsld"] == 19.0
    assert fair["jain"] == unfair["jain"] == 1.0


def test_users_with_few_jobs_do_not_count_in_service():
    users = [0] * 10 + [1] * 9
    made = schedule(((0, 990 * (user == 1), 10, 1) for user in users), users)
    found = measure(made, capacity=Capacity(20), config=MEASURES, window=Window.WHOLE)
    assert (found["jain_service"], found["worst_user_bsld"]) == (1.0, 1.0)
    assert found["jain"] == pytest.approx((10 + 9) ** 2 / (2 * (10**2 + 9**2)))
