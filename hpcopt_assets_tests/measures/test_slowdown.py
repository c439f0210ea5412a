"""Bounded slowdown and who was overtaken: by hand, and against looking at every pair."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.measures.slowdown import bounded_slowdown, is_backfilled


def test_bounded_slowdown_by_hand():
    wait_s, runtime_s = np.array([90, 0, 5, 95, 0]), np.array([10, 10, 1, 0, 0])
    #                 100/10  10/10  6/10->1  95/10  0/10->1
    assert bounded_slowdown(wait_s, runtime_s, 10).tolist() == [10.0, 1.0, 1.0, 9.5, 1.0]


def test_tau_changes_only_jobs_shorter_than_it():
    wait_s, runtime_s = np.array([600, 600]), np.array([30, 60])
    assert bounded_slowdown(wait_s, runtime_s, 10).tolist() == [21.0, 11.0]
    assert bounded_slowdown(wait_s, runtime_s, 60).tolist() == [10.5, 11.0]


@given(
    st.lists(st.tuples(st.integers(-(10**6), 2**40), st.integers(0, 2**40)), max_size=20),
    st.integers(1, 10**6),
)
def test_bounded_slowdown_is_finite_and_at_least_one(jobs: list[tuple[int, int]], tau_s: int):
    wait_s, runtime_s = np.array(jobs, dtype=np.int64).reshape(-1, 2).T
    found = bounded_slowdown(wait_s, runtime_s, tau_s)
    assert np.isfinite(found).all()
    assert (found >= 1.0).all()


def test_overtaking_is_strict():
    # The third starts before the first and the fourth with it: only the third overtook somebody.
    assert is_backfilled(np.array([5, 7, 4, 7])).tolist() == [False, False, True, False]


@given(st.lists(st.integers(0, 12), max_size=12))
def test_overtaking_equals_looking_at_every_pair(starts: list[int]):
    by_pairs = [any(starts[ahead] > start for ahead in range(i)) for i, start in enumerate(starts)]
    assert is_backfilled(np.array(starts, dtype=np.int64)).tolist() == by_pairs
