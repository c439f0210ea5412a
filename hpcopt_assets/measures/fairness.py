"""Fairness over users: how evenly service, and use, are spread.

In:  one value per job and the user's code per job.   Out: one value per user, and indices over users.
Jobs whose user is unknown belong to nobody and are left out: together they would pass for one heavy user.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.measures.schedule import NO_USER, FloatArray, IntArray


def mean_by_user(values: FloatArray, user: IntArray, min_jobs: int) -> FloatArray:
    """Mean of `values` for each known user with at least `min_jobs` (>= 1) jobs, in the order of codes."""
    count, total = _by_user(values, user)
    enough = count >= min_jobs
    return total[enough] / count[enough]


def total_by_user(values: FloatArray, user: IntArray) -> FloatArray:
    """Sum of `values` for each known user, in the order of codes."""
    count, total = _by_user(values, user)
    return total[count > 0]


def jain_index(values: FloatArray) -> float | None:
    """(sum x)^2 / (n sum x^2): 1 where all values are equal, 1/n where one user has everything.

    `values` >= 0, one per user; None where all are 0. Jain, Chiu and Hawe, DEC-TR-301, 1984.
    """
    top = float(values.max(initial=0.0))
    if top == 0.0:
        return None
    share = values / top  # squares then neither overflow nor vanish
    return min(1.0, float(share.sum() ** 2 / (share.size * (share**2).sum())))


def share_deviation(values: FloatArray) -> float | None:
    """1/2 sum |share - 1/n|: 0 where all shares are equal, near 1 where one user of many has everything.

    None where there is nothing to share. Over processor-seconds no complete schedule can change it.
    """
    total = float(values.sum())
    if total == 0.0:
        return None
    return min(1.0, float(0.5 * np.abs(values / total - 1.0 / values.size).sum()))


def _by_user(values: FloatArray, user: IntArray) -> tuple[IntArray, FloatArray]:
    known = user != NO_USER
    codes = user[known]
    return np.bincount(codes).astype(np.int64), np.bincount(codes, weights=values[known]).astype(np.float64)
