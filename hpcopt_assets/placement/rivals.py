"""What a model is held against, each method with its chances and its threshold chosen where the model's is.

In:  configs, snapshots, a predictor of ours.   Out: placement_scores on later time and on another seed.
Not here: the measures (score.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.placement_config import PlacementConfig
from hpcopt_assets.contracts.placement_words import PlacementCause, PlacementMethod, Population, SnapshotPart
from hpcopt_assets.placement.bundles import SCALARS, Told
from hpcopt_assets.placement.calibration import calibrate, cheapest_threshold, softmax
from hpcopt_assets.placement.cluster import draw_failures, simulate
from hpcopt_assets.placement.graph import preprocessing
from hpcopt_assets.placement.predict import Chances, Predictor
from hpcopt_assets.placement.score import Answer, Truth, models_answer, rules_answers, score
from hpcopt_assets.placement.snapshots import SCALAR_COLUMNS
from hpcopt_assets.placement.train import cause_codes, features_of, scaling
from hpcopt_assets.placement.trees import fit_trees, raw_scores

Array = npt.NDArray[Any]
NONE = PlacementCause.NONE.code


@dataclass(frozen=True)
class Seen:
    """Simulated attempts with the model's answer on each: what is seen, what is hidden, what came of it."""

    rows: Any
    blocks: dict[str, Array]
    truth: Truth
    chances: Chances

    def of(self, some: Array) -> Seen:
        """Some of the rows."""
        return Seen(
            type(self.rows)(*(values[some] for values in self.rows)),
            {name: values[some] for name, values in self.blocks.items()},
            Truth(self.truth.cause[some], self.truth.matching[some]),
            self.chances.of(some),
        )


def seen_again(config: PlacementConfig, predictor: Predictor, rows: int, seed: int) -> Seen:
    """The snapshots of a seed once more, with the features of planes that they do not show."""
    made = simulate(config, rows=rows, seed=seed, has_hidden=True)
    scalars = np.stack([made.records[name] for name in SCALAR_COLUMNS], axis=1).astype(np.float32)
    blocks = {SCALARS: scalars} | {name: getattr(made, name) for name in predictor.layout.vectors}
    truth = Truth(made.records["cause"], made.records["matching_cause"])
    return Seen(made, blocks, truth, predictor.of_blocks(blocks))


def score_model(
    config: PlacementConfig, predictor: Predictor, snapshots: pl.DataFrame, data_sha256: str
) -> pl.DataFrame:
    """`placement_scores` of a model fitted on these snapshots of the generator's seed, whose hash is given.

    Every choice (thresholds, the rules' chances, the plane-state trees) is made on the parts before `later`.
    """
    _check_fitted_on(predictor.told, data_sha256, config.generator.seed)
    rows = snapshots.height
    same = seen_again(config, predictor, rows, config.generator.seed)
    if not np.array_equal(same.truth.cause, cause_codes(snapshots)):
        raise EvidenceError(
            "snapshots that differ from what their seed gives",
            "those that this code and config make",
            "placement_snapshots",
            "Materialize placement_snapshots and placement_model again.",
        )
    part = snapshots["part"].to_numpy()
    other = seen_again(config, predictor, min(rows, config.score.other_rows), config.generator.other_seed)
    populations = {
        Population.LATER: same.of(part == SnapshotPart.LATER),
        Population.OTHER_SEED: other,
    }
    third = same.of(part == SnapshotPart.CALIBRATE)
    plane_state = _plane_state(config, same, part, [third, *populations.values()])
    rng = np.random.default_rng(config.score.seed)
    drawn = [
        draw_failures(config.cluster, some.rows, config.score.ceiling_draws, rng)
        for some in (third, *populations.values())
    ]
    limits = {
        PlacementMethod.VISIBLE_CEILING: _threshold(config, drawn[0], third),
        PlacementMethod.PLANE_STATE: _threshold(config, plane_state[0], third),
    }
    scored = []
    for i, (population, some) in enumerate(populations.items(), start=1):
        chances = {PlacementMethod.VISIBLE_CEILING: drawn[i], PlacementMethod.PLANE_STATE: plane_state[i]}
        answers = {
            PlacementMethod.MODEL: models_answer(some.chances, predictor.layout.threshold),
            **{method: Answer(chance, chance >= limits[method]) for method, chance in chances.items()},
            **rules_answers(some.truth, third.truth),
        }
        scored.append(score(population, some.truth, answers, config.score))
    return pl.concat(scored)


def _check_fitted_on(told: Told, data_sha256: str, seed: int) -> None:
    """Later rows of other snapshots may be those that a model was fitted on."""
    own = {} if told.own is None else told.own.model_dump()
    for name, needed in (("training_data_sha256", data_sha256), ("training_seed", seed)):
        if own.get(name) != needed:
            raise EvidenceError(
                f"a model of {name} {own.get(name)}",
                f"{needed}, as the snapshots that it is scored on",
                told.where,
                "Materialize placement_snapshots and placement_model again.",
            )


def _threshold(config: PlacementConfig, chance: Array, third: Seen) -> float:
    return cheapest_threshold(chance, third.truth.failed, config.model.missed_failure_cost)


def _plane_state(config: PlacementConfig, same: Seen, part: Array, wanted: list[Seen]) -> list[Array]:
    """P(failed) by the same trainer, shown features of planes beside its own."""
    fit, stop, third = (part == of for of in (SnapshotPart.FIT, SnapshotPart.STOP, SnapshotPart.CALIBRATE))
    graph = preprocessing(config.cluster, SCALAR_COLUMNS, *scaling(same.blocks[SCALARS][fit]))
    threads = config.model.threads

    def features(some: Seen) -> Array:
        seen = features_of(graph.SerializeToString(), some.blocks, threads)
        return np.concatenate([seen, some.rows.hidden], axis=1)

    own, codes = features(same), same.truth.cause
    booster = fit_trees((own[fit], codes[fit]), (own[stop], codes[stop]), config.model, config.generator.seed)
    slope, intercepts = calibrate(raw_scores(booster, own[third], threads), codes[third])
    return [
        1.0 - softmax(raw_scores(booster, features(some), threads), slope, intercepts)[:, NONE]
        for some in wanted
    ]
