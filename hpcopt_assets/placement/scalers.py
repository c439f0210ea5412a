"""The scaler of a bundle, parted into blocks: what is subtracted from each number fed, and divides it.

In:  what a bundle tells, which blocks go to which input.   Out: a `Scaler` for each block that is scaled.
Not here: scaling (feeding.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hpcopt_assets.placement.bundles import SCALARS, Told


class Scaler(NamedTuple):
    """Means and standard deviations of a block, float64."""

    mean: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]

    def of(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """The values scaled, in float64: large numbers that differ by little stay apart."""
        return np.asarray((values.astype(np.float64) - self.mean) / self.scale)


def read_scalers(
    told: Told, fed: Mapping[str, tuple[str, ...]], lengths: Mapping[str, int]
) -> dict[str, Scaler]:
    """Empty where there is nothing to apply. Raises InputError where it is open what a scaler speaks of."""
    mean, scale = told.numbers("scaler_mean"), told.numbers("scaler_scale")
    if (mean is None) != (scale is None):
        raise told.refuse("one of scaler_mean and scaler_scale", "both or neither")
    in_graph = told.keys.get("scaling_in_graph")
    if not (in_graph is None or isinstance(in_graph, bool)):
        raise told.refuse(f"scaling_in_graph: {in_graph!r}", "true or false")
    if in_graph:
        return {}
    columns, everything = lengths[SCALARS], sum(lengths.values())
    if mean is None or scale is None:
        if in_graph is None:
            _refuse_what_may_be_a_scaler(told, (columns, everything))
        return {}
    if len(mean) != len(scale) or len(mean) not in (columns, everything):
        raise told.refuse(
            f"{len(mean)} of scaler_mean, {len(scale)} of scaler_scale",
            f"{columns} of each for the scalars, or {everything} for all that is fed",
        )
    if min(scale) <= 0:
        raise told.refuse(f"scaler_scale with {min(scale)}", "numbers above 0")
    order = (SCALARS,) if len(mean) == columns else _order(told, fed, lengths)
    ends = np.cumsum([lengths[block] for block in order])[:-1]
    parts = zip(*(np.split(np.array(values), ends) for values in (mean, scale)), strict=True)
    return {block: Scaler(*part) for block, part in zip(order, parts, strict=True)}


def _order(told: Told, fed: Mapping[str, tuple[str, ...]], lengths: Mapping[str, int]) -> tuple[str, ...]:
    """The order of blocks in a scaler for all: that in which they are joined, or the bundle's."""
    if len(fed) == 1:
        return next(iter(fed.values()))
    order = told.words("input_order")
    if order is None:
        raise told.refuse(
            f"a scaler for {', '.join(lengths)}, which go to several inputs; no key input_order",
            "input_order: the order in which the scaler has them",
        )
    if sorted(order) != sorted(lengths):
        raise told.refuse(f"input_order {', '.join(order)}", f"each once: {', '.join(lengths)}")
    return tuple(order)


def _refuse_what_may_be_a_scaler(told: Told, sizes: tuple[int, ...]) -> None:
    """Numbers for each column under a key that is not read: better refused than scored unscaled."""
    for key, values in told.unread.items():
        if len(values) in sizes:
            raise told.refuse(
                f"key {key}, {len(values)} numbers that may be a scaler's; no scaler_mean and scaler_scale",
                "these two, or scaling_in_graph: true where the model is fed numbers as they are",
            )
