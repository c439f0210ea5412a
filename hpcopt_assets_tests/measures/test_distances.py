"""Distances by hand, against their definitions, and where they have no meaning."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.measures.distances import (
    ks_distance,
    mean_log_ratio,
    pearson,
    relative_divergence,
    wait_divergence,
)

waits = st.lists(st.integers(0, 40) | st.integers(0, 10**7), min_size=1, max_size=30)


def test_relative_divergence_and_its_floor():
    assert relative_divergence(120.0, 100.0, 60.0) == pytest.approx(0.2)
    assert relative_divergence(9.0, 3.0, 60.0) == pytest.approx(0.1)  # both waits are trifling
    assert relative_divergence(0.0, 100.0, 60.0) == 1.0
    assert relative_divergence(None, 100.0, 60.0) is None
    assert relative_divergence(100.0, None, 60.0) is None


def test_wait_divergence_by_hand():
    """Two quantile bins: the positive waits seen, 10 20 30 40, are cut at their median, 25."""
    found = wait_divergence(np.array([0, 0, 10, 20, 30, 40]), np.array([0, 5, 5, 5, 5, 99]), 2)
    # counts 2 2 2 and 1 4 1; with one added, of nine each: 3 3 3 and 2 5 2
    expected = (3 * log(3 / 2) + 3 * log(3 / 5) + 3 * log(3 / 2)) / 9
    assert found.nats == pytest.approx(expected)
    assert found.distinct_bins == 3


def test_a_wait_on_a_cut_belongs_to_the_upper_bin():
    observed = np.array([10, 20, 30])  # cut at 20
    assert wait_divergence(observed, np.array([10, 25, 30]), 2).nats == 0.0
    assert wait_divergence(observed, np.array([10, 19, 30]), 2).nats > 0.0


def test_zeros_are_a_bin_of_their_own():
    observed = np.array([0] * 50 + [1] * 50)
    assert wait_divergence(observed, np.array([0] * 100), 20).nats > 0.3


def test_a_record_of_equal_waits_has_few_bins():
    assert wait_divergence(np.zeros(100, np.int64), np.zeros(100, np.int64), 20).distinct_bins == 1
    assert wait_divergence(np.full(100, 7), np.full(100, 7), 20).distinct_bins == 1
    assert wait_divergence(np.array([], np.int64), np.array([1]), 20) is None


def test_twenty_bins_and_the_zeros():
    observed = np.arange(0, 2001)
    assert wait_divergence(observed, observed, 20).distinct_bins == 21


@given(waits, waits)
def test_wait_divergence_is_not_negative_and_zero_for_itself(observed: list[int], replayed: list[int]):
    assert wait_divergence(np.array(observed), np.array(replayed), 20).nats >= 0.0
    assert wait_divergence(np.array(observed), np.array(sorted(observed)), 20).nats == 0.0


def test_ks_by_hand():
    assert ks_distance(np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, 5.0, 6.0])) == 0.5
    assert ks_distance(np.array([1.0, 1.0]), np.array([1.0])) == 0.0
    assert ks_distance(np.array([1.0]), np.array([2.0, 3.0])) == 1.0
    assert ks_distance(np.array([]), np.array([1.0])) is None


@given(waits, waits)
def test_ks_equals_its_definition(first: list[int], second: list[int]):
    def share(values: list[int], at: int) -> float:
        return sum(value <= at for value in values) / len(values)

    found = ks_distance(np.array(first, float), np.array(second, float))
    assert found == max(abs(share(first, at) - share(second, at)) for at in first + second)
    assert 0.0 <= found <= 1.0


def test_pearson_by_hand():
    assert pearson(np.array([1, 2, 3]), np.array([2, 4, 6])) == pytest.approx(1.0)
    assert pearson(np.array([1, 2, 3]), np.array([3, 2, 1])) == pytest.approx(-1.0)
    assert pearson(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == 0.0
    assert pearson(np.array([0, 1, 2]), np.array([1, 0, 2])) == pytest.approx(0.5)


def test_pearson_of_a_constant_series_has_no_meaning():
    assert pearson(np.array([0, 0, 0]), np.array([0, 1, 2])) is None
    assert pearson(np.array([0, 1, 2]), np.array([4, 4, 4])) is None
    assert pearson(np.array([0.1] * 7), np.array([0.1] * 7)) is None
    assert pearson(np.array([]), np.array([])) is None


def test_log_ratio_of_waits_by_hand():
    replayed, observed = np.array([0, 60, 240]), np.array([60, 0, 240])
    assert mean_log_ratio(replayed, observed, 60) == pytest.approx(2 * log(2) / 3)
    assert mean_log_ratio(np.array([-500]), np.array([0]), 60) == 0.0  # a broken clock is no wait
    assert mean_log_ratio(np.empty(0), np.empty(0), 60) is None


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20))
def test_log_ratio_knows_no_direction_and_is_nought_for_equals(pairs: list[tuple[int, int]]):
    one, other = np.array(pairs).T
    assert mean_log_ratio(one, other, 60) == pytest.approx(mean_log_ratio(other, one, 60))
    assert (mean_log_ratio(one, other, 60) == 0.0) == bool((one == other).all())
