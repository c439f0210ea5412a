"""Step functions weighed by time equal the same functions looked at second by second."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.measures.over_time import means_between, quantiles_over_time
from hpcopt_assets.measures.usage import Steps, steps

INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(1, 5)), max_size=10)
EDGES = st.lists(st.integers(-5, 120), min_size=2, max_size=9, unique=True).map(sorted).map(np.array)


def made(intervals: list[tuple[int, int, int]]) -> Steps:
    at, length, weight = np.array(intervals, dtype=np.int64).reshape(-1, 3).T
    return steps(at, at + length, weight)


def test_by_hand():
    series = made([(0, 10, 2), (5, 5, 4)])  # 2 on [0, 5), 6 on [5, 10)
    assert means_between(series, np.array([0, 10])).tolist() == [4.0]
    assert means_between(series, np.array([-10, 4, 6, 20])).tolist() == [8 / 14, 4.0, 24 / 14]
    assert quantiles_over_time(series, np.array([0.25, 0.5, 0.51, 1.0])).tolist() == [2, 2, 6, 6]
    assert quantiles_over_time(made([]), np.array([0.5])) is None
    assert quantiles_over_time(made([(3, 0, 1)]), np.array([0.5])) is None


@given(INTERVALS, EDGES)
def test_means_are_those_of_the_seconds(intervals: list[tuple[int, int, int]], edges: np.ndarray):
    series = made(intervals)
    seconds = series.sample(np.arange(edges[0], edges[-1]))
    cut = np.split(seconds, edges[1:-1] - edges[0])
    assert means_between(series, edges) == pytest.approx([part.mean() for part in cut])


SIXTEENTHS = st.lists(st.integers(1, 16), min_size=1, max_size=5).map(lambda parts: np.array(parts) / 16)
# Exact in binary, so that no rounding can part the two definitions.


@given(INTERVALS, SIXTEENTHS)
def test_quantiles_are_those_of_the_seconds(intervals: list[tuple[int, int, int]], ratios: np.ndarray):
    series = made(intervals)
    found = quantiles_over_time(series, ratios)
    if series.at_s.size < 2:
        assert found is None
        return
    seconds = np.sort(series.sample(np.arange(series.at_s[0], series.at_s[-1])))
    assert found.tolist() == np.quantile(seconds, ratios, method="inverted_cdf").tolist()
