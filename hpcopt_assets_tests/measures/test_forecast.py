"""Losses and coverage of forecasts, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.measures.forecast import is_covered, log_pinball, pinball

SECONDS = st.floats(1, 1e6)


def test_pinball_by_hand():
    actual, predicted = np.array([100.0, 100.0, 100.0]), np.array([90.0, 110.0, 100.0])
    assert pinball(actual, predicted, 0.9).tolist() == pytest.approx([9.0, 1.0, 0.0])
    assert pinball(actual, predicted, 0.1).tolist() == pytest.approx([1.0, 9.0, 0.0])


@given(SECONDS, SECONDS)
def test_at_the_median_it_is_half_the_absolute_error(actual, predicted):
    found = pinball(np.array([actual]), np.array([predicted]), 0.5)[0]
    assert found == pytest.approx(abs(actual - predicted) / 2)


@given(st.lists(SECONDS, min_size=1, max_size=30), st.sampled_from([0.1, 0.5, 0.9]))
def test_the_quantile_of_a_sample_has_the_smallest_loss(values, level):
    """Koenker and Bassett 1978: what makes it a loss of quantiles."""
    sample = np.array(values)
    best = np.quantile(sample, level, method="inverted_cdf")

    def loss(said: float) -> float:
        return float(pinball(sample, np.full(sample.size, said), level).mean())

    assert all(loss(best) <= loss(other) + 1e-6 for other in values)


def test_logarithms_make_factors_count():
    twice = log_pinball(np.array([10.0, 1000.0]), np.array([20.0, 2000.0]), 0.5)
    assert twice.tolist() == pytest.approx([np.log(2) / 2] * 2)


def test_an_interval_holds_its_ends():
    ends = np.array([1.0, 2.0, 3.0, 0.9, 3.1])
    assert is_covered(ends, np.full(5, 1.0), np.full(5, 3.0)).tolist() == [True, True, True, False, False]
