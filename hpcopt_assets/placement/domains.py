"""What a model of ours needs of rows: that they are of its cluster, and say nothing that no cluster has.

In:  a frame or its blocks, a bundle of ours.   Out: InputError, or nothing.
Not here: what any model needs (feeding.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.columns import DType
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.placement_bundle import Bundle
from hpcopt_assets.contracts.placement_config import ClusterConfig
from hpcopt_assets.contracts.placement_tables import PLACEMENT_SNAPSHOTS
from hpcopt_assets.placement.bundles import SCALARS

Array = npt.NDArray[Any]


def refuse_rows_of_another_cluster(frame: pl.DataFrame, cluster: ClusterConfig, where: str) -> None:
    """Allocation and rings, where rows have them, are named first: they say more than a hash does."""
    assumed = {"allocation": cluster.allocation.value, "ring_orders": ",".join(cluster.ring_orders)}
    needed = {name: value for name, value in assumed.items() if name in frame.columns}
    for name, value in (needed | {"cluster_sha256": cluster.sha256}).items():
        if name not in frame.columns:
            raise InputError(
                f"no column {name}",
                f"{name} {value}, the cluster that the model was made for",
                where,
                "Add it if the rows are of that cluster; else name the bundle of a model of theirs.",
            )
        other = [found for found in frame[name].unique().to_list() if found != value]
        if other:
            raise InputError(
                f"{name} {', '.join(map(str, other))}",
                f"{value}, which the model was made for",
                where,
                "Train a model on such rows, or name the bundle of one.",
            )


def refuse_what_no_cluster_has(blocks: Mapping[str, Array], own: Bundle, where: str) -> None:
    """Bounds are those of placement_snapshots, for rails and budgets the cluster's own."""
    most = {"requested_gpus": own.cluster.rails, "budget_remaining": own.cluster.circuits_per_interval}
    for column in PLACEMENT_SNAPSHOTS.columns:
        if column.name in own.scalar_columns:
            values = blocks[SCALARS][:, [own.scalar_columns.index(column.name)]]
        elif column.name in blocks:
            values = blocks[column.name]
        else:
            continue
        low, high = column.lo, most.get(column.name, column.hi)
        bad = np.zeros(values.shape, bool) if low is None else values < low
        bad |= False if high is None else values > high
        is_whole = column.dtype in (DType.INT64, DType.UINT8_ARRAY)
        if is_whole and values.dtype != np.uint8:
            bad |= values != np.rint(values)
        if bad.any():
            row, at = np.argwhere(bad)[0]
            bounds = f"from {low:g}" if high is None else f"from {low:g} to {high:g}"
            raise InputError(
                f"column {column.name}: {values[row, at]:g} in row {row}",
                f"{'whole numbers' if is_whole else 'numbers'} {bounds}",
                where,
                "Repair these rows, or leave them out.",
            )
