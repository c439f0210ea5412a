"""Predictions as a table.

In:  a predictor, placement_snapshots.   Out: placement_predictions.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.placement_tables import PLACEMENT_PREDICTIONS
from hpcopt_assets.contracts.placement_words import PlacementCause
from hpcopt_assets.placement.command import likely_causes
from hpcopt_assets.placement.predict import Predictor


def predictions(
    predictor: Predictor, snapshots: pl.DataFrame, batch_rows: int, data_sha256: str
) -> pl.DataFrame:
    """`placement_predictions` of all rows, in order; `part` is unknown to a model of other snapshots."""
    chances = predictor.chances(snapshots, "placement_snapshots", batch_rows)
    failing = [cause for cause in PlacementCause if cause is not PlacementCause.NONE]
    by_cause = chances.by_cause
    told = {
        f"p_{cause.value}": None if by_cause is None else by_cause[:, chances.causes.index(cause)]
        for cause in failing
    }
    return PLACEMENT_PREDICTIONS.shape(
        snapshots.select("attempt", "part", "l1_failed", "failure_cause").with_columns(
            part=pl.col("part") if predictor.is_fitted_on(data_sha256) else pl.lit(None, pl.String),
            p_failed=pl.Series(chances.failed),
            likely_cause=pl.Series(likely_causes(chances), dtype=pl.String),
            is_predicted_failed=pl.Series(chances.failed >= predictor.layout.threshold),
            **{name: pl.lit(None) if values is None else pl.Series(values) for name, values in told.items()},
        )
    )
