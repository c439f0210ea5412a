"""What moved a row's score: what it would be if one thing were as usual.

In:  a predictor, checked blocks.   Out: for each row the inputs whose replacement changes P(failed) most.
Not here: how likely each cause is (the model tells that itself).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hpcopt_assets.placement.bundles import SCALARS
from hpcopt_assets.placement.graph import BUDGET
from hpcopt_assets.placement.predict import Predictor

Array = npt.NDArray[Any]
SHOWN = 3
Moved = list[tuple[str, float]]


def what_moved(predictor: Predictor, blocks: dict[str, Array], failed: Array) -> list[Moved]:
    """The three inputs of each row that moved its score most, with by how much, the largest first.

    A scalar is set to its mean in training (else among these rows), a vector as a whole to what it is in an
    empty cluster: 0, and all of its budget. Inputs that say the same share what they do.
    """
    columns = predictor.layout.columns
    usual = predictor.layout.usual or blocks[SCALARS].mean(axis=0)
    names = [*columns, *predictor.layout.vectors]
    moved = np.empty((len(failed), len(names)))
    for i, name in enumerate(names):
        if i < len(columns):
            other = blocks[SCALARS].copy()
            other[:, i] = usual[i]
            changed = {**blocks, SCALARS: other}
        else:
            changed = {**blocks, name: np.full_like(blocks[name], _when_empty(predictor, name))}
        moved[:, i] = failed - predictor.of_blocks(changed).failed
    largest = np.argsort(-np.abs(moved), axis=1, kind="stable")[:, :SHOWN]
    return [[(names[i], float(row[i])) for i in some] for row, some in zip(moved, largest, strict=True)]


def _when_empty(predictor: Predictor, vector: str) -> float:
    own = predictor.told.own
    return own.cluster.circuits_per_interval if own is not None and vector == BUDGET else 0.0
