"""What is shown of placement on a catalogue's page: shares of causes, headline scores, figures of later rows.

In:  the room's tables, a predictor.   Out: small frames, Drawings.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.placement_words import PlacementMeasure, SnapshotPart
from hpcopt_assets.placement.pictures import model_figures
from hpcopt_assets.placement.predict import Predictor
from hpcopt_assets.placement.score import Truth, models_answer, rules_answers
from hpcopt_assets.placement.train import cause_codes
from hpcopt_assets.plots.style import Drawing

HEADLINE = (PlacementMeasure.F1, PlacementMeasure.BRIER, PlacementMeasure.ACCURACY)


def cause_shares(snapshots: pl.DataFrame) -> pl.DataFrame:
    """How many attempts each cause has, and as a share of all."""
    counted = (
        snapshots.group_by("failure_cause", "matching_cause")
        .len("attempts")
        .sort("attempts", descending=True)
    )
    return counted.with_columns(share=pl.col("attempts") / snapshots.height)


def headline(scores: pl.DataFrame) -> pl.DataFrame:
    """F1, Brier score and accuracy of every method, a column a measure."""
    of_methods = scores.filter(pl.col("minus_method").is_null() & pl.col("measure").is_in(list(HEADLINE)))
    return of_methods.pivot("measure", index=["population", "method"], values="value")


def later_figures(predictor: Predictor, snapshots: pl.DataFrame, bins: int) -> tuple[Drawing, ...]:
    """Figures of the model on the snapshots that it was not fitted on, with the counting rules."""
    later = snapshots.filter(part=SnapshotPart.LATER.value)
    chances = predictor.chances(later, "placement_snapshots")
    truth = Truth(cause_codes(later), np.full(later.height, -1))
    rules = rules_answers(truth, truth)
    return model_figures(truth, models_answer(chances, predictor.layout.threshold), rules, bins)
