"""Intervals of a difference, and how many comparisons are made at once.

In:  differences, one a replica or drawing.   Out: intervals, p-values, levels.
Source: intervals by order statistics: David and Nagaraja, Order Statistics, 2003, section 7.1; few blocks:
Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69, 2015, section 4.3
(expanded percentiles); several comparisons: Holm, A simple sequentially rejective multiple test procedure,
Scandinavian Journal of Statistics 6, 1979.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hpcopt_assets.measures.schedule import FloatArray

Interval = tuple[float, float]
ROUNDING = 1e-9
# A tail of exactly so many values must not lose one to rounding.


def interval(values: FloatArray, confidence: float, blocks: int | None = None) -> Interval:
    """The innermost two of the values that leave less than the allowed tail outside; at least one value.

    Where the tail is finer than the values tell, it is their whole range. `blocks`: the values are drawings
    of so many blocks; few of them vary less than the world does, and percentiles are moved outwards.
    """
    tail = _moved_out((1 - confidence) / 2, blocks)
    ascending = np.sort(values)
    outside = max(int(np.floor((values.size + 1) * tail + ROUNDING)), 1)
    return float(ascending[outside - 1]), float(ascending[values.size - outside])


def p_value(changes: FloatArray, better: int, blocks: int | None = None) -> float:
    """The smallest level at which `interval` lies wholly on the better side of zero; at most 1.

    `better` is -1 where less is better. Two-sided: a level is spread over both tails. Zero is no improvement.
    0 where all values are better: how much smaller than can be told it is, they do not tell. 1 for no values.
    """
    worse = int((better * changes <= 0).sum())
    if worse == changes.size:
        return 1.0
    if worse == 0:
        return 0.0
    return min(1.0, 2 * _moved_in((worse + 1) / (changes.size + 1), blocks))


def holm_levels(p_values: Mapping[str, float], level: float) -> dict[str, float]:
    """The level of each comparison, so that all together err no more often than `level`.

    In ascending order of p: level / m, level / (m - 1), ... for m comparisons; from the first whose p exceeds
    its level on, none is shown, and all have that one's. Equal p's have one level, the strictest of theirs.
    """
    ascending = sorted(p_values.items(), key=lambda item: item[1])
    levels: dict[str, float] = {}
    current, is_open, before = level, True, None
    for place, (name, p) in enumerate(ascending):
        if is_open and p != before:
            current = level / (len(ascending) - place)
        is_open = is_open and p <= current
        levels[name], before = current, p
    return levels


def _moved_out(tail: float, blocks: int | None) -> float:
    """The tail of drawings of few blocks that stands for a given tail of the average of them."""
    if blocks is None:
        return tail
    from scipy.stats import norm, t

    return float(norm.sf(t.isf(tail, blocks - 1) * np.sqrt(blocks / (blocks - 1))))


def _moved_in(tail: float, blocks: int | None) -> float:
    """The inverse of `_moved_out`."""
    if blocks is None:
        return tail
    from scipy.stats import norm, t

    return float(t.sf(norm.isf(tail) / np.sqrt(blocks / (blocks - 1)), blocks - 1))
