"""Hill's index: by hand, on Pareto samples, and under what it must not depend on."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.measures.tails import hill_index, tail_ratio

ALPHAS = st.floats(0.3, 8.0)


def pareto(alpha: float, n: int) -> np.ndarray:
    """The n values at the middles of n equal parts of the distribution P(X > x) = x^-alpha."""
    return ((np.arange(n) + 0.5) / n) ** (-1 / alpha)


def test_by_hand():
    found = hill_index(np.array([8.0, 1.0, 2.0, 4.0]), 2)  # ln(8/2) + ln(4/2) = 3 ln 2
    assert found.alpha == pytest.approx(2 / (3 * math.log(2)))
    assert found.tail_count == 2
    half = 1.959964 * found.alpha / math.sqrt(2)
    assert (found.lower, found.upper) == pytest.approx((found.alpha - half, found.alpha + half))


@pytest.mark.parametrize(
    ("values", "count"),
    [([], 1), ([1.0, 2.0], 0), ([1.0, 2.0], 2), ([0.0, 5.0, 6.0], 2), ([5.0, 5.0, 5.0, 1.0], 2)],
    ids=["nothing", "no_tail", "nothing_below", "follows_zero", "all_equal"],
)
def test_there_is_no_index_without_a_tail(values: list[float], count: int):
    assert hill_index(np.array(values), count) is None


@given(alpha=ALPHAS, n=st.integers(200, 2000))
def test_the_interval_holds_the_exponent_of_a_pareto_sample(alpha: float, n: int):
    found = hill_index(pareto(alpha, n), n // 20)
    assert found.lower < alpha < found.upper
    assert found.lower < found.alpha < found.upper


def test_the_interval_holds_the_exponent_in_19_of_20_samples():
    rng = np.random.default_rng(6)
    samples = rng.pareto(1.5, (1000, 2000)) + 1.0
    inside = [found.lower < 1.5 < found.upper for found in (hill_index(row, 100) for row in samples)]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


@given(alpha=ALPHAS, scale=st.floats(1e-3, 1e6), power=st.floats(0.5, 2.0))
def test_units_do_not_matter_and_powers_divide(alpha: float, scale: float, power: float):
    values = pareto(alpha, 300)
    plain = hill_index(values, 30).alpha
    assert hill_index(values * scale, 30).alpha == pytest.approx(plain, rel=1e-6)
    assert hill_index(values**power, 30).alpha == pytest.approx(plain / power, rel=1e-6)


@given(st.permutations(list(range(1, 40))))
def test_order_does_not_matter(values: list[int]):
    assert hill_index(np.array(values, float), 7) == hill_index(np.arange(1.0, 40.0), 7)


def test_tail_ratio_by_hand():
    assert tail_ratio(np.arange(1, 102)) == pytest.approx(100 / 51)
    assert tail_ratio(np.array([0, 0, 0, 9])) is None
    assert tail_ratio(np.array([])) is None
    assert tail_ratio(np.array([5, 5])) == 1.0
