"""Which keys of a table too large for memory stand more than once.

In:  the keys, piece by piece.   Out: hashes of those that may stand more than once.
Not here: what follows from it; whoever asks looks at the rows with these hashes again, and decides exactly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

Hashes = npt.NDArray[np.uint64]


def hashes_of(keys: pl.DataFrame) -> Hashes:
    """A 64-bit hash of each row; equal rows have equal hashes within one process."""
    return keys.select(pl.struct(pl.all()).hash()).to_series().to_numpy()


class Tally:
    """Counts up to `rows` keys by their hashes: 8 bytes a key, whatever its length."""

    def __init__(self, rows: int) -> None:
        self._hashes: Hashes = np.empty(rows, dtype=np.uint64)
        self._count = 0

    def add(self, keys: pl.DataFrame) -> None:
        """Count the rows of a piece."""
        found = hashes_of(keys)
        self._hashes[self._count : self._count + found.size] = found
        self._count += found.size

    def repeated(self) -> Hashes:
        """Hashes that occur more than once, ascending. Different keys may share one, if rarely."""
        found = self._hashes[: self._count]
        found.sort()
        return np.unique(found[1:][found[1:] == found[:-1]])


def is_among(hashes: Hashes, wanted: Hashes) -> npt.NDArray[np.bool_]:
    """Which hashes are among the wanted, which ascend."""
    if wanted.size == 0:
        return np.zeros(hashes.size, dtype=np.bool_)
    places = np.minimum(np.searchsorted(wanted, hashes), wanted.size - 1)
    return np.asarray(wanted[places] == hashes)
