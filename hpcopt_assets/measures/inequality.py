"""Inequality: how much of a total few of its parts hold.

In:  one value >= 0 for each user (or job).   Out: one number; None where there is nothing to share.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.measures.schedule import FloatArray


def gini(values: FloatArray) -> float | None:
    """Gini's index: 0 where all values are equal, 1 - 1/n where one of n has everything.

    sum over i of (2 i - n - 1) x_i / (n sum x), with x ascending and i from 1: half the mean difference of
    two values over their mean. Gini, Variabilita e mutabilita, 1912.
    """
    share = _shares(values)
    if share is None:
        return None
    n = share.size
    weights = 2 * np.arange(1, n + 1) - n - 1
    return min(max(0.0, float((weights * np.sort(share)).sum() / n)), 1.0 - 1.0 / n)


def herfindahl(values: FloatArray) -> float | None:
    """Herfindahl's index, the sum of squared shares: 1/n where all are equal, 1 where one has everything.

    Its inverse is the number of equal parts that would be as concentrated. Hirschman, National Power and the
    Structure of Foreign Trade, 1945; Herfindahl, 1950.
    """
    share = _shares(values)
    if share is None:
        return None
    return min(max(1.0 / share.size, float((share**2).sum())), 1.0)


def top_share(values: FloatArray, part: float) -> float | None:
    """Share of the total that the largest `part` (a ratio) of the values hold.

    Their number is rounded down; None where that leaves none.
    """
    share = _shares(values)
    largest = count_of(part, values.size)
    if share is None or largest == 0:
        return None
    return min(1.0, float(np.partition(share, share.size - largest)[-largest:].sum()))


def largest_share(values: FloatArray) -> float | None:
    """Share of the total that the largest value holds."""
    share = _shares(values)
    return None if share is None else float(share.max())


def count_of(part: float, n: int) -> int:
    """`part` (a ratio) of n things, rounded down, as if the ratio were exact: 0.29 of 100 are 29."""
    return int(part * n + 1e-9)


def _shares(values: FloatArray) -> FloatArray | None:
    total = float(values.sum())
    return values / total if total > 0.0 else None
