"""How good yes-or-no answers and their chances are, from counts: one set of counts, or many at once.

In:  truths and answers, or sums of them.   Out: numbers, or arrays of the counts' shape; NaN for 0 / 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hpcopt_assets.measures.schedule import BoolArray

Numbers = Any
# A float, or an array of floats with one for each set of counts.


class Counts(NamedTuple):
    """True and false positives and negatives."""

    tp: Numbers
    fp: Numbers
    fn: Numbers
    tn: Numbers


def counts(truth: BoolArray, said: BoolArray) -> Counts:
    """How often each pair of truth and answer stands."""
    pairs = ((truth & said), (~truth & said), (truth & ~said), (~truth & ~said))
    return Counts(*(float(pair.sum()) for pair in pairs))


def accuracy(c: Counts) -> Numbers:
    """Share of right answers."""
    return ratio(c.tp + c.tn, c.tp + c.fp + c.fn + c.tn)


def precision(c: Counts) -> Numbers:
    """Share of the yeses that are right."""
    return ratio(c.tp, c.tp + c.fp)


def recall(c: Counts) -> Numbers:
    """Share of the truths that are found."""
    return ratio(c.tp, c.tp + c.fn)


def f1(c: Counts) -> Numbers:
    """Harmonic mean of precision and recall."""
    return ratio(2 * c.tp, 2 * c.tp + c.fp + c.fn)


def ratio(part: Numbers, whole: Numbers) -> Numbers:
    """Part / whole, NaN where the whole is 0."""
    whole = np.asarray(whole, np.float64)
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)[()]


def bin_of(chance: npt.NDArray[Any], bins: int) -> npt.NDArray[np.int64]:
    """Which of so many bins of equal width from 0 to 1 each chance falls in; 1 is in the last."""
    return np.minimum((chance * bins).astype(np.int64), bins - 1)


def calibration_error(said: Numbers, came: Numbers) -> Numbers:
    """Sum over bins (the last axis) of |chances - truths| / rows: `said`, `came` are sums over all rows.

    Both are divided by the number of rows (Naeini et al., AAAI 2015, ECE).
    """
    return np.abs(said - came).sum(axis=-1)


def operating_points(truth: BoolArray, chance: npt.NDArray[Any]) -> Counts:
    """Counts at every threshold that parts two chances, from "yes to none" to "yes to all"; arrays.

    A yes is a chance at or above the threshold, so rows of one chance are answered alike.
    """
    order = np.argsort(-chance, kind="stable")
    found = np.concatenate([[0], np.cumsum(truth[order])]).astype(np.float64)
    yes = np.arange(chance.size + 1, dtype=np.float64)
    parts = (
        np.concatenate([[True], chance[order][:-1] > chance[order][1:], [True]]) if chance.size else [True]
    )
    found, yes = found[parts], yes[parts]
    return Counts(found, yes - found, found[-1] - found, yes[-1] - yes - found[-1] + found)
