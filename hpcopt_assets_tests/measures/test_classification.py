"""Ratios of counts, by hand and for all thresholds at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.measures.classification import (
    Counts,
    accuracy,
    bin_of,
    calibration_error,
    counts,
    f1,
    operating_points,
    precision,
    recall,
)


def test_by_hand():
    c = Counts(tp=6.0, fp=2.0, fn=3.0, tn=9.0)
    assert (accuracy(c), precision(c), recall(c)) == (0.75, 0.75, pytest.approx(2 / 3))
    assert f1(c) == pytest.approx(2 * 0.75 * (2 / 3) / (0.75 + 2 / 3))


def test_what_nothing_is_known_of_is_nan():
    nothing = counts(np.array([False]), np.array([False]))
    assert accuracy(nothing) == 1.0
    assert all(math.isnan(measure(nothing)) for measure in (precision, recall, f1))


def test_many_sets_of_counts_at_once():
    c = Counts(*np.array([[6.0, 0.0], [2.0, 0.0], [3.0, 0.0], [9.0, 1.0]]))
    assert f1(c).tolist() == pytest.approx([12 / 17, math.nan], nan_ok=True)


def test_chances_fall_into_bins_of_equal_width_the_last_one_closed():
    assert bin_of(np.array([0.0, 0.0999, 0.1, 0.95, 1.0]), 10).tolist() == [0, 0, 1, 9, 9]


def test_calibration_error_by_hand():
    # Two bins with half of the rows each: told 0.2 and 0.9 on average, came true 0.4 and 0.8.
    assert calibration_error(np.array([0.1, 0.45]), np.array([0.2, 0.4])) == pytest.approx(0.15)


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=12))
def test_operating_points_are_all_thresholds(rows):
    chance, truth = np.array([c for c, _ in rows]), np.array([t for _, t in rows])
    found = {tuple(float(x) for x in point) for point in zip(*operating_points(truth, chance), strict=True)}
    tried = {tuple(counts(truth, chance >= threshold)) for threshold in range(6)}
    assert found == tried
