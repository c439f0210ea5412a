"""Intervals, p-values and levels: known numbers, and that they never contradict each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.claims.intervals import holm_levels, interval, p_value

changes = st.lists(st.floats(-5, 5), min_size=2, max_size=100).map(np.array)
blocks = st.none() | st.integers(2, 60)


def test_an_interval_by_hand():
    """Of 79 values, 80 gaps: 2.5 % of them are two, so one value lies outside at either end."""
    assert interval(np.arange(79.0), 0.95) == (1.0, 77.0)
    assert interval(np.arange(39.0), 0.95) == (0.0, 38.0)
    assert interval(np.arange(200.0), 0.95) == (4.0, 195.0)


def test_a_tail_finer_than_the_values_tell_is_their_range():
    assert interval(np.arange(20.0), 0.95) == (0.0, 19.0)
    assert interval(np.arange(200.0), 0.999) == (0.0, 199.0)


def test_one_bad_value_of_few_is_not_smoothed_away():
    """A twentieth of all is more than the tail of 2.5 %: no interpolation may lose it."""
    values = np.array([-1.0] * 19 + [0.01])
    assert interval(values, 0.95)[1] == 0.01
    assert p_value(values, -1) > 0.05
    values = np.array([-1.0] * 199 + [0.1])
    assert interval(values, 1 - 0.05 / 13)[1] == 0.1


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ([], 1.0),
        ([-1.0, -2.0, -3.0], 0.0),
        ([1.0, 2.0, 3.0], 1.0),
        ([0.0, 0.0, 0.0], 1.0),
        ([-1.0] * 99 + [1.0], 2 * 2 / 101),
        ([-1.0] * 99 + [0.0], 2 * 2 / 101),
        ([-1.0, 1.0], 1.0),
    ],
)
def test_p_values_by_hand(values: list[float], p: float):
    assert p_value(np.array(values), -1) == pytest.approx(p)
    assert p_value(-np.array(values), 1) == pytest.approx(p)


@given(changes, st.floats(0.001, 0.6), st.sampled_from([-1, 1]), blocks)
@settings(deadline=None)  # the first call imports scipy
def test_the_interval_lies_on_the_better_side_exactly_where_p_is_at_most_the_level(
    values, level, better, of_blocks
):
    p = p_value(values, better, of_blocks)
    low, high = interval(values, 1 - level, of_blocks)
    is_better = high < 0 if better < 0 else low > 0
    if abs(p - level) > 1e-6:
        assert is_better == (p <= level)


def test_few_blocks_move_percentiles_outwards_as_students_t_does():
    """Of 10 blocks 2.26 standard errors, each a twentieth too small: 0.86 % instead of 2.5 %."""
    values = np.arange(9999.0)
    assert interval(values, 0.95, 10)[0] == pytest.approx(0.0086 * 10_000, abs=2)
    assert interval(values, 0.95, 100_000)[0] == pytest.approx(249, abs=1)


@pytest.mark.parametrize("count", [10, 16, 40])
def test_intervals_of_few_blocks_err_as_seldom_as_they_say(count: int):
    """No improvement: blocks of normal values, drawn anew; how often the interval lies below zero."""
    random = np.random.default_rng(7)
    draws = random.multinomial(count, np.full(count, 1 / count), size=1000) / count
    values = random.normal(size=(2000, count))
    below = [interval(draws @ each, 0.95, count)[1] < 0 for each in values]
    without = [interval(draws @ each, 0.95)[1] < 0 for each in values]
    assert np.mean(below) == pytest.approx(0.025, abs=0.01)
    assert np.mean(without) > np.mean(below)


def test_holm_by_hand():
    """Four comparisons at 5 %: 1.25 %, 1.67 %, 2.5 %, 5 %; the third is not shown, so the fourth is not."""
    p = {"third": 0.03, "first": 0.001, "fourth": 0.031, "second": 0.01}
    levels = holm_levels(p, 0.05)
    assert levels == pytest.approx(
        {"first": 0.05 / 4, "second": 0.05 / 3, "third": 0.05 / 2, "fourth": 0.05 / 2}
    )
    assert [name for name in p if p[name] <= levels[name]] == ["first", "second"]


def test_equal_ps_have_one_level_in_whatever_order_they_come():
    p = {"b": 0.0, "a": 0.0, "c": 0.02}
    assert holm_levels(p, 0.06) == pytest.approx({"a": 0.02, "b": 0.02, "c": 0.06})
    assert holm_levels(dict(reversed(p.items())), 0.06) == holm_levels(p, 0.06)


def test_one_comparison_needs_no_adjustment_and_none_has_none():
    assert holm_levels({"only": 0.04}, 0.05) == {"only": 0.05}
    assert holm_levels({}, 0.05) == {}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_holm_never_shows_one_and_not_another_with_a_smaller_p(p_values):
    levels = holm_levels(p_values, 0.05)
    shown = {name for name, p in p_values.items() if p <= levels[name]}
    rest = [p for name, p in p_values.items() if name not in shown]
    assert all(p_values[name] <= min(rest, default=1.0) for name in shown)
    if p_values and min(p_values.values()) > 0.05 / len(p_values):
        assert not shown
