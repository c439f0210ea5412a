"""Snapshots as a table, and as what a model is fed.

In:  a simulated cluster.   Out: placement_snapshots; which part a row belongs to.
Not here: the simulation (cluster.py).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.placement_config import PlacementConfig, SplitConfig
from hpcopt_assets.contracts.placement_tables import PLACEMENT_SNAPSHOTS, SCALARS, VECTORS
from hpcopt_assets.contracts.placement_words import MatchingCause, PlacementCause, SnapshotPart
from hpcopt_assets.placement.cluster import Array, simulate

SCALAR_COLUMNS = tuple(column.name for column in SCALARS)
VECTOR_COLUMNS = tuple(column.name for column in VECTORS)


def make_snapshots(config: PlacementConfig, *, rows: int, seed: int) -> pl.DataFrame:
    """`placement_snapshots`: so many attempts after the warm-up, in order of time."""
    made = simulate(config, rows=rows, seed=seed)
    matching = [*MatchingCause.words(), None]  # -1, for none, is the last
    frame = pl.DataFrame(
        {name: made.records[name] for name in ("attempt", "at_s", *SCALAR_COLUMNS)}
        | {name: getattr(made, name) for name in VECTOR_COLUMNS}
        | {
            "part": parts(config.split, rows),
            "l1_failed": made.records["cause"] != PlacementCause.NONE.code,
            "failure_cause": np.array(PlacementCause.words())[made.records["cause"]],
            "matching_cause": pl.Series(
                [matching[code] for code in made.records["matching_cause"]], dtype=pl.String
            ),
            "allocation": pl.repeat(config.cluster.allocation.value, rows, eager=True),
            "ring_orders": pl.repeat(",".join(config.cluster.ring_orders), rows, eager=True),
            "cluster_sha256": pl.repeat(config.cluster.sha256, rows, eager=True),
        }
    )
    return PLACEMENT_SNAPSHOTS.shape(frame)


def parts(split: SplitConfig, rows: int) -> Array:
    """What each row is used for, in order of time."""
    shares = np.cumsum([split.fit_share, split.stop_share, split.calibrate_share])
    edges = np.rint(shares * rows).astype(np.int64)
    return np.array(SnapshotPart.words())[np.searchsorted(edges, np.arange(rows), side="right")]
