"""Intervals, p-values and levels: known numbers, and that they never contradict each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.claims.intervals import holm_levels, interval, p_value

changes = st.lists(st.floats(-5, 5), min_size=2, max_size=40).map(np.array)


def test_an_interval_by_hand():
    """Of 0, 1, ..., 40 the 2.5th percentile is 1 and the 97.5th is 39."""
    assert interval(np.arange(41.0), 0.95) == pytest.approx((1.0, 39.0))


def test_a_tail_finer_than_one_value_stays_within_the_values():
    low, high = interval(np.arange(20.0), 0.9999)
    assert 0 <= low < 0.01
    assert 18.99 < high <= 19


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ([], 1.0),
        ([-1.0, -2.0, -3.0], 0.0),
        ([1.0, 2.0, 3.0], 1.0),
        ([0.0, 0.0, 0.0], 1.0),
        ([-1.0, -1.0, 1.0], 0.5),  # zero lies halfway between the largest two of three
        ([-3.0, -2.0, -1.0, -1.0, 0.0], 0.0),
    ],
)
def test_p_values_by_hand(values: list[float], p: float):
    assert p_value(np.array(values), -1) == pytest.approx(p)
    assert p_value(-np.array(values), 1) == pytest.approx(p)


@given(changes, st.floats(0.001, 0.6), st.sampled_from([-1, 1]))
def test_the_interval_lies_on_the_better_side_exactly_where_p_is_below_the_level(values, level, better):
    p = p_value(values, better)
    low, high = interval(values, 1 - level)
    is_better = high < 0 if better < 0 else low > 0
    if abs(p - level) > 1e-9:
        assert is_better == (p < level)


def test_holm_by_hand():
    """Four comparisons at 5 %: 1.25 %, 1.67 %, 2.5 %, 5 %; the third is not shown, so the fourth is not."""
    p = {"third": 0.03, "first": 0.001, "fourth": 0.031, "second": 0.01}
    levels = holm_levels(p, 0.05)
    assert levels == pytest.approx(
        {"first": 0.05 / 4, "second": 0.05 / 3, "third": 0.05 / 2, "fourth": 0.05 / 2}
    )
    assert [name for name in p if p[name] < levels[name]] == ["first", "second"]


def test_one_comparison_needs_no_adjustment_and_none_has_none():
    assert holm_levels({"only": 0.04}, 0.05) == {"only": 0.05}
    assert holm_levels({}, 0.05) == {}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_holm_never_shows_one_and_not_another_with_a_smaller_p(p_values):
    levels = holm_levels(p_values, 0.05)
    shown = {name for name, p in p_values.items() if p < levels[name]}
    rest = [p for name, p in p_values.items() if name not in shown]
    assert all(p_values[name] <= min(rest, default=1.0) for name in shown)
    if p_values and min(p_values.values()) >= 0.05 / len(p_values):
        assert not shown
