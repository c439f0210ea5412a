"""Intervals by drawing blocks.

Broken on purpose, and who noticed: members drawn instead of blocks (alike members); no weights (weights).
"""

import numpy as np
import pytest

from hpcopt_assets.measures.bootstrap import Blocks

REPLICAS = 2000


def test_it_agrees_with_the_normal_interval_where_blocks_are_single_members():
    values = np.random.default_rng(1).normal(5, 2, size=400)
    blocks = Blocks.draw(np.arange(400), REPLICAS, seed=3)
    low, high = blocks.interval(values, np.ones(400), 0.95)
    half = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.1 * half)


def test_members_that_are_alike_count_as_one():
    """Ten copies of each value tell no more than the values themselves."""
    values = np.random.default_rng(1).normal(5, 2, size=40)
    once = Blocks.draw(np.arange(40), REPLICAS, seed=3).interval(values, np.ones(40), 0.95)
    copied = Blocks.draw(np.repeat(np.arange(40), 10), REPLICAS, seed=3)
    assert copied.interval(np.repeat(values, 10), np.ones(400), 0.95) == pytest.approx(once)


def test_weights():
    blocks = Blocks.draw(np.array([7, 7, 9]), REPLICAS, seed=3)
    means = blocks.means(np.array([0.0, 10.0, 10.0]), np.array([1.0, 3.0, 4.0]))
    # Block 7 alone: 30/4; block 9 alone: 10; each once: 70/8.
    assert {round(mean, 6) for mean in means} == {7.5, 8.75, 10.0}


def test_one_drawing_serves_all_averages():
    blocks = Blocks.draw(np.arange(50) // 5, REPLICAS, seed=3)
    values, weight = np.arange(50.0), np.ones(50)
    difference = blocks.means(values + 1, weight) - blocks.means(values, weight)
    assert difference == pytest.approx(1.0)


def test_the_same_seed_draws_the_same():
    block = np.arange(30)
    first, second = (Blocks.draw(block, 10, seed=5).draws for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, Blocks.draw(block, 10, seed=6).draws)


def test_nothing_to_draw():
    assert Blocks.draw(np.empty(0, dtype=np.int64), 10, seed=1).count == 0
