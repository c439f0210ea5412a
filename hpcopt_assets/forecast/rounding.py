"""Features on a dyadic grid, so that float32 and float64 agree on every split of a tree.

In:  float64 values.   Out: the nearest numbers with `BITS` significant bits.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.measures.schedule import FloatArray

BITS = 12
# float32 has 24. A threshold half-way between two such values is exact in float32 where they are near, and
# where they are not, rounding it cannot carry it past either.


def to_grid(values: FloatArray) -> FloatArray:
    """Values to a relative precision of 2^-12; whole numbers below 4,096 stay as they are."""
    mantissa, exponent = np.frexp(values)
    rounded: FloatArray = np.ldexp(np.round(np.ldexp(mantissa, BITS)), exponent - BITS)
    return rounded
