"""Distances between what was observed and what was replayed.

In:  two arrays of the same quantity.   Out: one number; None where it has no meaning, never NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hpcopt_assets.measures.schedule import FloatArray, IntArray


class BinnedDivergence(NamedTuple):
    """A divergence between two histograms, and how many of the bins hold an observed value."""

    nats: float
    distinct_bins: int


def relative_divergence(replayed: float | None, observed: float | None, floor: float) -> float | None:
    """|replayed - observed| / max(|observed|, floor), a ratio; `floor` > 0 in the unit of the values."""
    if replayed is None or observed is None:
        return None
    return abs(replayed - observed) / max(abs(observed), floor)


def wait_divergence(observed_s: IntArray, replayed_s: IntArray, bins: int) -> BinnedDivergence | None:
    """KL(observed || replayed) of waits in nats, with one added to every bin; None without a wait.

    The positive waits are cut at the `bins`-quantiles of those observed (linear interpolation; equal cuts
    count once), bins half-open to the right; waits of zero or less are one more bin. With one added to each
    count (Laplace) no bin is empty, so the divergence is finite. Kullback and Leibler, 1951.
    """
    if observed_s.size == 0 or replayed_s.size == 0:
        return None
    waited = observed_s[observed_s > 0]
    inner = np.linspace(0.0, 1.0, bins + 1)[1:-1]
    cuts = np.unique(np.quantile(waited, inner)) if waited.size else np.empty(0)

    def counts(wait_s: IntArray) -> IntArray:
        bin_of = np.where(wait_s > 0, 1 + np.searchsorted(cuts, wait_s, side="right"), 0)
        return np.bincount(bin_of, minlength=cuts.size + 2).astype(np.int64)

    seen, other = counts(observed_s), counts(replayed_s)
    p = (seen + 1) / (seen.sum() + seen.size)
    q = (other + 1) / (other.sum() + other.size)
    return BinnedDivergence(max(0.0, float((p * np.log(p / q)).sum())), int((seen > 0).sum()))


def mean_log_ratio(replayed_s: IntArray, observed_s: IntArray, floor_s: int) -> float | None:
    """Mean over jobs of |ln((replayed + floor) / (observed + floor))| of waits, in nats; None without a job.

    Both arrays hold the same jobs. Its exponential is the factor by which waits differ, as a geometric mean.
    `floor_s` > 0, so that seconds do not matter; negative waits, a log's broken clock, count as none.
    """
    if observed_s.size == 0:
        return None
    replayed, observed = (np.log(np.maximum(wait_s, 0) + floor_s) for wait_s in (replayed_s, observed_s))
    return float(np.abs(replayed - observed).mean())


def ks_distance(first: FloatArray, second: FloatArray) -> float | None:
    """Largest distance between two empirical distribution functions, in [0, 1]; None if one is empty.

    The two-sample statistic of Kolmogorov and Smirnov, without its significance.
    """
    if first.size == 0 or second.size == 0:
        return None
    at = np.concatenate([first, second])

    def share_up_to(values: FloatArray) -> FloatArray:
        return np.searchsorted(np.sort(values), at, side="right") / values.size

    return float(np.abs(share_up_to(first) - share_up_to(second)).max())


def pearson(first: npt.NDArray[np.number], second: npt.NDArray[np.number]) -> float | None:
    """Pearson's correlation in [-1, 1] of two series of equal length; None where one is constant."""
    if first.size == 0 or first.min() == first.max() or second.min() == second.max():
        return None
    a = first - first.mean()
    b = second - second.mean()
    return float(np.clip((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()), -1.0, 1.0))
