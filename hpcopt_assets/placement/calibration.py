"""Scores into chances, and chances into yes or no.

In:  raw scores of classes with the classes that came true.   Out: a slope, intercepts, a threshold.
Not here: trees (trees.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
STEPS = 50
RIDGE = 1e-3
# Of a row's weight, on the distance from no correction: keeps classes that are never wrong from running off.


def softmax(raw: Array, slope: float, intercepts: Array) -> Array:
    """P(class) (rows, classes), float64."""
    scores = slope * raw + intercepts
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def calibrate(raw: Array, codes: Array) -> tuple[float, Array]:
    """Slope and intercepts (the first 0) of the most likely softmax(slope * raw + intercepts).

    Temperature scaling (Guo et al., ICML 2017) with an intercept for each class but the first, by Newton's
    method on a convex loss; rounded to float32, in which the exported graph computes.
    """
    rows, classes = raw.shape
    # Design (rows, classes, parameters): the slope's column is the scores, then one column an intercept.
    design = np.concatenate(
        [raw[:, :, None], np.broadcast_to(np.eye(classes)[:, 1:], (rows, classes, classes - 1))], axis=2
    )
    start = np.zeros(classes)
    start[0] = 1.0
    weights = start.copy()
    truth = design[np.arange(rows), codes].sum(axis=0)
    for _ in range(STEPS):
        chance = softmax(design @ weights, 1.0, np.zeros(classes))
        expected = np.einsum("nc,ncp->np", chance, design)
        gradient = expected.sum(axis=0) - truth + RIDGE * rows * (weights - start)
        curvature = np.einsum("nc,ncp,ncq->pq", chance, design, design) - expected.T @ expected
        step = np.linalg.solve(curvature + RIDGE * rows * np.eye(classes), gradient)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    exact = weights.astype(np.float32).astype(np.float64)
    return float(exact[0]), np.array([0.0, *exact[1:]])


def cheapest_threshold(failed: Array, truth: Array, missed_cost: float) -> float:
    """The threshold whose yes at `failed >= threshold` costs least: `missed_cost` a failure, 1 a good job.

    Halfway between two chances that occur, so that rounding of either decides nothing; within [0, 1].
    """
    order = np.argsort(-failed, kind="stable")
    chance, is_failure = failed[order], truth[order]
    turned_away = np.concatenate([[0], np.cumsum(~is_failure)])
    missed = is_failure.sum() - np.concatenate([[0], np.cumsum(is_failure)])
    cost = turned_away + missed_cost * missed
    edges = np.concatenate([[1.0], (chance[:-1] + chance[1:]) / 2, [0.0]])
    # No threshold up to 1 says no to a chance of 1.
    can_part = np.concatenate([chance[:1] < 1.0, chance[:-1] > chance[1:], [True]])
    best = int(np.argmin(np.where(can_part, cost, np.inf)))
    return float(np.clip(edges[best], 0.0, 1.0))
