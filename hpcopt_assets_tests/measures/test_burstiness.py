"""Burstiness: 0 for a clock, 1 for chance, more for bursts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.measures.burstiness import arrival_peak, dispersion, variation, window_of


def test_variation_by_hand():
    assert variation(np.array([5, 5, 5])) == 0.0
    assert variation(np.array([1, 3])) == pytest.approx(np.sqrt(2) / 2)  # sample variance 2, mean 2
    assert variation(np.array([4])) is None
    assert variation(np.array([0, 0, 0])) is None


def test_dispersion_by_hand():
    at = np.array([0, 1, 2, 10, 11, 25, 29])  # 3, 2 and 2 in three periods of 10 s
    found = dispersion(at, 10)
    assert found.periods_count == 3
    assert found.ratio == pytest.approx((1 / 3) / (7 / 3))
    assert dispersion(np.array([0, 18]), 10) is None  # one period, and a part of one
    assert dispersion(np.array([], dtype=np.int64), 10) is None


def test_the_unfinished_period_is_left_out():
    whole = dispersion(np.array([0, 5, 10, 19]), 10)
    assert whole == dispersion(np.array([0, 5, 10, 19, 21, 22, 23]), 10)
    assert (whole.ratio, whole.periods_count) == (0.0, 2)


def test_chance_is_one():
    rng = np.random.default_rng(3)
    at = np.sort(rng.integers(0, 10_000_000, 50_000))
    assert variation(np.diff(at)) == pytest.approx(1.0, abs=0.03)
    assert dispersion(at, 3600).ratio == pytest.approx(1.0, abs=0.1)


def test_millennia_between_two_jobs_take_no_memory():
    found = dispersion(np.array([-(2**40), 2**40]), 3600)
    assert found.ratio == pytest.approx(1.0, abs=1e-6)
    assert found.periods_count == (2**41 + 1) // 3600


@given(st.lists(st.integers(0, 500), min_size=1, max_size=40), st.integers(1, 60))
def test_dispersion_is_that_of_all_counts(at: list[int], period: int):
    """The definition over every period, the empty ones listed."""
    found = dispersion(np.array(at), period)
    periods = (max(at) + 1 - min(at)) // period
    if periods < 2:
        assert found is None
        return
    counts = np.bincount((np.array(at) - min(at)) // period, minlength=periods)[:periods]
    assert found.periods_count == periods
    assert found.ratio == pytest.approx(counts.var(ddof=1) / counts.mean())


def test_peak_by_hand():
    at = np.array([0, 1, 2, 3, 50, 99])  # ten parts of ten seconds: 4, 0, 0, 0, 0, 1, 0, 0, 0, 1
    assert window_of(at, 10).tolist() == [0, 0, 0, 0, 5, 9]
    assert arrival_peak(at, 10) == pytest.approx(4 / 0.6)
    assert arrival_peak(np.arange(0, 1000, 10), 10) == 1.0
    assert arrival_peak(np.array([7]), 10) == 10.0
    assert arrival_peak(np.array([], dtype=np.int64), 10) is None


@given(st.lists(st.integers(0, 500), min_size=1, max_size=40), st.integers(1, 50), st.integers(1, 60))
def test_the_same_events_so_many_times_slower_lie_in_the_same_parts(at: list[int], windows: int, slower: int):
    """Each second becomes `slower` of them, and one more event says that the last is lived through."""
    first = np.array(at) - min(at)
    stretched = np.append(first * slower, (first.max() + 1) * slower - 1)
    assert window_of(stretched, windows)[:-1].tolist() == window_of(first, windows).tolist()
