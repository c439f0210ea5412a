"""Concentration: by hand, between its bounds, and blind to scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.measures.inequality import count_of, gini, herfindahl, largest_share, top_share

VALUES = st.lists(st.floats(0, 1e15, allow_subnormal=False), min_size=1, max_size=20).map(np.array)


def test_gini_by_hand():
    assert gini(np.array([1.0, 2.0, 3.0])) == pytest.approx(2 / 9)  # (-2*1 + 0*2 + 2*3) / (3*6)
    assert gini(np.array([3.0, 1.0, 2.0])) == pytest.approx(2 / 9)
    assert gini(np.array([0.0, 0.0, 0.0, 5.0])) == 0.75
    assert gini(np.array([2.0, 2.0])) == 0.0
    assert gini(np.array([7.0])) == 0.0
    assert gini(np.array([0.0, 0.0])) is None
    assert gini(np.array([])) is None


def test_herfindahl_by_hand():
    assert herfindahl(np.array([1.0, 1.0, 2.0])) == pytest.approx(6 / 16)
    assert herfindahl(np.array([0.0, 9.0])) == 1.0
    assert herfindahl(np.full(4, 3.0)) == 0.25
    assert herfindahl(np.array([0.0])) is None


def test_top_share_by_hand():
    values = np.arange(1.0, 101.0)
    assert top_share(values, 0.01) == pytest.approx(100 / 5050)
    assert top_share(values[::-1].copy(), 0.03) == pytest.approx((100 + 99 + 98) / 5050)
    assert top_share(values, 1.0) == 1.0
    assert top_share(values[:99], 0.01) is None  # less than one value
    assert top_share(np.zeros(100), 0.01) is None


def test_a_part_is_counted_as_it_is_written():
    assert count_of(0.29, 100) == 29  # 28.999999999999996 in binary
    assert count_of(0.01, 199) == 1
    assert count_of(0.05, 0) == 0


@given(VALUES)
def test_indices_stay_within_their_bounds(values: np.ndarray):
    found = gini(values), herfindahl(values)
    if not values.any():
        assert found == (None, None)
        return
    n = values.size
    assert 0.0 <= found[0] <= 1.0 - 1.0 / n < 1.0
    assert 1.0 / n <= found[1] <= 1.0


@given(VALUES.filter(np.any))
def test_gini_is_half_the_relative_mean_difference(values: np.ndarray):
    """The definition, written out over all pairs."""
    share = values / values.sum()
    pairs = np.abs(share[:, None] - share[None, :]).mean()
    assert gini(values) == pytest.approx(pairs / (2 * share.mean()), abs=1e-9)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20).filter(any), st.integers(1, 1000))
def test_only_shares_matter(values: list[int], factor: int):
    plain, scaled = np.array(values, dtype=np.float64), np.array(values, dtype=np.float64) * factor
    assert gini(scaled) == pytest.approx(gini(plain), abs=1e-12)
    assert herfindahl(scaled) == pytest.approx(herfindahl(plain))


def test_the_largest_share_by_hand():
    assert largest_share(np.array([1.0, 6.0, 5.0])) == 0.5
    assert largest_share(np.array([3.0])) == 1.0
    assert largest_share(np.array([0.0, 0.0])) is None
    assert largest_share(np.array([])) is None
