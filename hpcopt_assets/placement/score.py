"""How good a model is, and what it is held against: counting rules, the visible ceiling, the plane state.

In:  truths and chances of each method on snapshots that nothing was chosen by.   Out: placement_scores.
Not here: how a method comes to its chances (rivals.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.placement_config import ScoreConfig
from hpcopt_assets.contracts.placement_tables import PLACEMENT_SCORES
from hpcopt_assets.contracts.placement_words import (
    MatchingCause,
    PlacementCause,
    PlacementMeasure,
    PlacementMethod,
    Population,
)
from hpcopt_assets.measures.bootstrap import Blocks
from hpcopt_assets.measures.classification import (
    Counts,
    accuracy,
    bin_of,
    calibration_error,
    f1,
    precision,
    ratio,
    recall,
)
from hpcopt_assets.placement.predict import Chances

Array = npt.NDArray[Any]
DIFFERENCES = (PlacementMeasure.F1, PlacementMeasure.BRIER, PlacementMeasure.ACCURACY)
INTERVAL = (0.025, 0.975)
CAUSES = {
    PlacementMeasure.RECALL_SERVERS: PlacementCause.SERVERS.code,
    PlacementMeasure.RECALL_UPLINKS_COUNT: PlacementCause.UPLINKS_COUNT.code,
    PlacementMeasure.RECALL_UPLINKS_MATCHING: PlacementCause.UPLINKS_MATCHING.code,
}

RULES = {
    PlacementMethod.COUNT_SERVERS: (PlacementCause.SERVERS.code,),
    PlacementMethod.COUNT_UPLINKS: (PlacementCause.SERVERS.code, PlacementCause.UPLINKS_COUNT.code),
}
# The causes that a rule foresees without fail, and the only ones.


class Truth(NamedTuple):
    """What came of each attempt: codes of causes, and of what stood in the way of matching (-1 for none)."""

    cause: Array
    matching: Array

    @property
    def failed(self) -> Array:
        """Whether it failed."""
        return np.asarray(self.cause != PlacementCause.NONE.code)


class Answer(NamedTuple):
    """A method's answers: P(failed), yes or no, and the code of the likeliest cause where it tells one."""

    chance: Array
    said: Array
    likely: Array | None = None


def models_answer(chances: Chances, threshold: float) -> Answer:
    """The answer of a model as it is served."""
    return Answer(chances.failed, chances.failed >= threshold, chances.likely())


def rules_answers(truth: Truth, known: Truth) -> dict[PlacementMethod, Answer]:
    """The counting rules; the chance of each answer is how often a failure followed it in `known`.

    That is kinder to the rules than 1 and 0. An answer that was never given there has the share of failures.
    """
    answers = {}
    for method, foreseen in RULES.items():
        said, before = np.isin(truth.cause, foreseen), np.isin(known.cause, foreseen)
        of_no, of_yes = (
            (known.failed[before == yes] if (before == yes).any() else known.failed).mean()
            for yes in (False, True)
        )
        answers[method] = Answer(np.where(said, of_yes, of_no), said)
    return answers


def score(
    population: Population, truth: Truth, answers: Mapping[PlacementMethod, Answer], config: ScoreConfig
) -> pl.DataFrame:
    """Rows of `placement_scores`: every measure of every method, and the model minus each other.

    Intervals are percentiles over replicas in which blocks of consecutive rows are drawn with replacement,
    the same blocks for all methods.
    """
    rows = truth.cause.size
    block = np.arange(rows) // config.block_rows
    drawn = Blocks.draw(block, config.replicas, config.seed)
    weights = np.concatenate([np.ones((1, drawn.count)), drawn.draws])  # the first is the sample itself
    measured = {
        method: measures(
            weights @ _sums(truth, answer, block, config.calibration.bins), config.calibration.bins
        )
        for method, answer in answers.items()
    }
    out = []
    for method, values in measured.items():
        told = answers[method].likely is not None
        out += [
            _row(population, method, measure, None, value, rows)
            for measure, value in values.items()
            if told or measure is not PlacementMeasure.CAUSE_ACCURACY
        ]
    model = measured[PlacementMethod.MODEL]
    for other, values in measured.items():
        if other is not PlacementMethod.MODEL:
            out += [
                _row(
                    population, PlacementMethod.MODEL, measure, other, model[measure] - values[measure], rows
                )
                for measure in DIFFERENCES
            ]
    return PLACEMENT_SCORES.shape(pl.DataFrame(out, schema=PLACEMENT_SCORES.polars_schema()))


def _sums(truth: Truth, answer: Answer, block: Array, bins: int) -> Array:
    """For each block (rows) the sums that every measure is a function of (columns)."""
    failed, said = truth.failed, answer.said
    right = np.zeros(failed.size, bool) if answer.likely is None else answer.likely == truth.cause
    is_budget = truth.matching == MatchingCause.BUDGET.code
    at = bin_of(answer.chance, bins)[:, None] == np.arange(bins)
    columns = [
        *(failed & said, ~failed & said, failed & ~said, ~failed & ~said),
        (answer.chance - failed) ** 2,
        *((truth.cause == code) & hit for code in CAUSES.values() for hit in (said, True)),
        *(is_budget & said, is_budget, failed & right),
        *(at * answer.chance[:, None]).T,
        *(at * failed[:, None]).T,
    ]
    count = int(block[-1]) + 1
    return np.stack([np.bincount(block, column, count) for column in columns], axis=1)


def measures(sums: Array, bins: int) -> dict[PlacementMeasure, Array]:
    """Every measure for each row of sums (rows, columns of `_sums`)."""
    c = Counts(*sums[:, :4].T)
    rows = sums[:, :4].sum(axis=1)
    causes = {measure: ratio(sums[:, 5 + 2 * i], sums[:, 6 + 2 * i]) for i, measure in enumerate(CAUSES)}
    chances = sums[:, 14:] / rows[:, None]
    return {
        PlacementMeasure.ACCURACY: accuracy(c),
        PlacementMeasure.PRECISION: precision(c),
        PlacementMeasure.RECALL: recall(c),
        PlacementMeasure.F1: f1(c),
        PlacementMeasure.BRIER: sums[:, 4] / rows,
        PlacementMeasure.CALIBRATION_ERROR: calibration_error(chances[:, :bins], chances[:, bins:]),
        **causes,
        PlacementMeasure.RECALL_BUDGET: ratio(sums[:, 11], sums[:, 12]),
        PlacementMeasure.CAUSE_ACCURACY: ratio(sums[:, 13], c.tp + c.fn),
    }


def _row(
    population: Population,
    method: PlacementMethod,
    measure: PlacementMeasure,
    minus: PlacementMethod | None,
    values: Array,
    rows: int,
) -> dict[str, object]:
    """One row: the first value is the sample's, the others are the replicas'."""
    value, replicas = float(values[0]), values[1:][~np.isnan(values[1:])]
    known = not np.isnan(value) and replicas.size > 0
    lower, upper = np.quantile(replicas, INTERVAL) if known else (None, None)
    return {
        "population": population.value,
        "method": method.value,
        "measure": measure.value,
        "minus_method": None if minus is None else minus.value,
        "value": value if known else None,
        "lower": None if lower is None else float(lower),
        "upper": None if upper is None else float(upper),
        "evidence_count": rows,
    }
