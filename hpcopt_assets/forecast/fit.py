"""Fits one quantile: gradient boosted trees, stopped early, then grown anew on the whole fit window.

In:  `Jobs`, a `Fold`, what the model may read, configs/forecast.yaml.   Out: `Fitted`.
Not here: which rows a window holds (splits.py), the export (graphs.py).
Source: quantile loss: Koenker and Bassett, Econometrica 46(1), 1978; trees: Ke et al., NIPS 2017 (LightGBM).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcopt_assets.contracts.forecast_config import ModelConfig, TreesConfig
from hpcopt_assets.contracts.forecast_tables import FEATURES_OF
from hpcopt_assets.contracts.forecast_words import Inputs, Quantile
from hpcopt_assets.forecast.jobs import UNKNOWN, Jobs
from hpcopt_assets.forecast.rounding import BITS
from hpcopt_assets.forecast.scales import scale_of
from hpcopt_assets.forecast.splits import Fold
from hpcopt_assets.measures.schedule import BoolArray, FloatArray

if TYPE_CHECKING:
    import lightgbm as lgb


@dataclass(frozen=True)
class Fitted:
    """A fitted model of one quantile on the columns `features`, with leaves on its scale's grid."""

    booster: lgb.Booster
    features: tuple[str, ...]
    rounds: int
    stopping_loss: float
    fit_jobs: int
    quantile: Quantile
    cutoff_s: int

    @property
    def described(self) -> dict[str, str]:
        """What whoever finds the file alone must know; see docs/forecasts.md."""
        return {
            "features": json.dumps(self.features),
            "unknown": str(UNKNOWN),
            "significant_bits": str(BITS),
            "quantile": self.quantile.value,
            "scale": scale_of(self.quantile).name,
            "cutoff_s": str(self.cutoff_s),
        }


def fit(jobs: Jobs, fold: Fold, inputs: Inputs, quantile: Quantile, config: ModelConfig) -> Fitted:
    """Find the number of trees on the last part of the fit window, then grow as many on all of it."""
    import lightgbm as lgb

    features = _varying(jobs, fold, inputs)
    parameters = _parameters(quantile, config)
    whole, boost, stop = fold.fit(jobs), fold.boost(jobs), fold.stop(jobs)
    weight = _weights(jobs, quantile, config.user_day_exponent, whole)

    def dataset(rows: BoolArray, reference: lgb.Dataset | None = None) -> lgb.Dataset:
        scale = scale_of(quantile)
        start = scale.start(jobs)
        return lgb.Dataset(
            jobs.columns(features, rows),
            scale.target(jobs)[rows],
            weight=weight[rows],
            init_score=None if start is None else start[rows],
            feature_name=list(features),
            reference=reference,
        )

    grown = dataset(boost)
    trees = _trees(quantile, config)
    stopped = lgb.train(
        parameters,
        grown,
        num_boost_round=trees.max_rounds,
        valid_sets=[dataset(stop, grown)],
        callbacks=[lgb.early_stopping(trees.patience_rounds, verbose=False)],
    )
    rounds = max(stopped.best_iteration, 1)
    loss = float(next(iter(stopped.best_score["valid_0"].values())))
    booster = lgb.train(parameters, dataset(whole), num_boost_round=rounds)
    _round_leaves(booster, scale_of(quantile).leaf_step)
    return Fitted(booster, features, rounds, loss, int(whole.sum()), quantile, fold.cutoff_s)


def _varying(jobs: Jobs, fold: Fold, inputs: Inputs) -> tuple[str, ...]:
    """The inputs that have more than one value in the fit window: no tree can split on the others."""
    names = FEATURES_OF[inputs]
    matrix = jobs.columns(names, fold.fit(jobs))
    varies = (matrix != matrix[:1]).any(axis=0)
    # A model needs a column: a window in which all jobs are alike is fitted by a constant.
    return tuple(np.asarray(names)[varies].tolist()) or names[:1]


def _weights(jobs: Jobs, quantile: Quantile, exponent: float, rows: BoolArray) -> FloatArray:
    """What each job weighs: its scale's weight, and less in a burst of its user's."""
    bursts = np.bincount(jobs.user_day[rows], minlength=int(jobs.user_day.max()) + 1)
    return scale_of(quantile).weight(jobs) * np.maximum(bursts[jobs.user_day], 1.0) ** -exponent


def _trees(quantile: Quantile, config: ModelConfig) -> TreesConfig:
    return config.median if quantile is Quantile.P50 else config.tails


def _parameters(quantile: Quantile, config: ModelConfig) -> dict[str, Any]:
    trees = _trees(quantile, config)
    return {
        "objective": "quantile",
        "alpha": quantile.level,
        "num_leaves": trees.leaves,
        "min_data_in_leaf": trees.jobs_per_leaf,
        "feature_fraction": trees.feature_share,
        "learning_rate": trees.learning_rate,
        "num_threads": 1,
        "seed": config.seed,
        "deterministic": True,
        "force_row_wise": True,
        "verbosity": -1,
    }


def _round_leaves(booster: lgb.Booster, step: float) -> None:
    """Put the leaves on a grid on which float32 sums are exact."""
    for number, tree in enumerate(booster.dump_model()["tree_info"]):
        for leaf in range(tree["num_leaves"]):
            value = booster.get_leaf_output(number, leaf)
            booster.set_leaf_output(number, leaf, round(value / step) * step)
