"""Chances that neighbours on a ring can be joined, given how many of their uplinks are free but not which.

In:  number of planes.   Out: tables of -ln(chance), looked up by counts inside the model's graph.
Not here: the exact decision, which knows the planes (kernel/).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

STEP = 1 / 256
# Entries are multiples of it, so that float32 sums of them are exact in any order: predictions then do not
# depend on how a batch is cut or which thread adds what.
IMPOSSIBLE = 16.0
# Stands for -ln 0, beyond every other entry.

FloatTable = npt.NDArray[np.float32]


def edge_table(planes: int) -> FloatTable:
    """[a, b, o] -> -ln P(two leaves with a and b free uplinks share one of o open planes).

    The planes of a leaf are a uniformly random subset of all; shape (planes + 1,) * 3.
    """
    masks = np.arange(2**planes)
    shared = masks[:, None] & masks[None, :]
    chances = [_by_size(shared & (2**o - 1) != 0, planes) for o in range(planes + 1)]
    return _in_steps(np.stack(chances, axis=-1))


def corner_table(planes: int) -> FloatTable:
    """[a, b, c, o] -> -ln P(a leaf with b free uplinks reaches neighbours with a and c in different planes).

    Only o open planes count. Shape (planes + 1,) * 4.
    """
    masks = np.arange(2**planes)
    chances = np.zeros((planes + 1,) * 4)
    for o in range(planes + 1):
        for middle in range(2**planes):
            seen = masks & middle & (2**o - 1)
            one, other = seen[:, None], seen[None, :]
            union = one | other
            reaches = (one != 0) & (other != 0) & (union & (union - 1) != 0)
            size = middle.bit_count()
            chances[:, size, :, o] += _by_size(reaches, planes) / math.comb(planes, size)
    return _in_steps(chances)


def _by_size(holds: npt.NDArray[np.bool_], planes: int) -> npt.NDArray[np.float64]:
    """Means over all pairs of subsets of given sizes: (subsets, subsets) to (planes + 1, planes + 1)."""
    sizes = np.bitwise_count(np.arange(2**planes))
    of_size = np.equal.outer(np.arange(planes + 1), sizes) / [math.comb(planes, int(s)) for s in sizes]
    means: npt.NDArray[np.float64] = of_size @ holds @ of_size.T
    return means


def _in_steps(chances: npt.NDArray[np.float64]) -> FloatTable:
    with np.errstate(divide="ignore"):
        nats = np.minimum(-np.log(np.minimum(chances, 1.0)), IMPOSSIBLE)
    return (np.rint(nats / STEP) * STEP + 0.0).astype(np.float32)
