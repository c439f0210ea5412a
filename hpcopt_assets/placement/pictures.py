"""Figures of a model: are its chances true, how does it part failures from the rest, which cause does it see?

In:  truths and answers on snapshots that nothing was chosen by.   Out: Drawings.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hpcopt_assets.contracts.placement_words import PlacementCause, PlacementMethod
from hpcopt_assets.measures.classification import bin_of, counts, operating_points, precision, ratio, recall
from hpcopt_assets.placement.score import Answer, Truth
from hpcopt_assets.plots.style import Drawing
from hpcopt_assets.plots.unit import Curve, Spot, Square, share_table, unit_squares

WORDS = {
    PlacementMethod.MODEL: "model",
    PlacementMethod.COUNT_SERVERS: "counting servers",
    PlacementMethod.COUNT_UPLINKS: "counting servers and uplinks",
}
CAUSES = {
    PlacementCause.NONE: "placed",
    PlacementCause.SERVERS: "servers",
    PlacementCause.UPLINKS_COUNT: "uplinks, count",
    PlacementCause.UPLINKS_MATCHING: "uplinks, matching",
}


def model_figures(
    truth: Truth, model: Answer, rules: Mapping[PlacementMethod, Answer], bins: int
) -> tuple[Drawing, ...]:
    """Reliability in so many bins, ROC and precision-recall, and confusion by cause."""
    return _reliability(truth, model, bins), _curves(truth, model, rules), _confusion(truth, model)


def _reliability(truth: Truth, model: Answer, bins: int) -> Drawing:
    at = bin_of(model.chance, bins)
    rows = np.bincount(at, minlength=bins)
    said = ratio(np.bincount(at, model.chance, bins), rows)
    came = ratio(np.bincount(at, truth.failed.astype(float), bins), rows)
    some = rows > 0
    return unit_squares(
        [
            Square(
                "chance of failure, as told",
                "share that failed",
                [Curve("model", said[some], came[some], True)],
            ),
            Square(
                "chance of failure, as told",
                "share of attempts",
                [],
                bars=rows / max(1, rows.sum()),
                has_diagonal=False,
            ),
        ],
        file_name="reliability.svg",
        title="Are the model's chances true?",
        caption=f"Left: attempts in {bins} bins of equal width by the chance told, against how many failed; "
        "on the dotted line chances are true. Right: how many attempts each bin has. Later time, same seed.",
    )


def _curves(truth: Truth, model: Answer, rules: Mapping[PlacementMethod, Answer]) -> Drawing:
    points = operating_points(truth.failed, model.chance)
    false_alarms = ratio(points.fp, points.fp + points.tn)
    answers = {PlacementMethod.MODEL: model, **rules}
    found = {method: counts(truth.failed, answer.said) for method, answer in answers.items()}
    labels = {
        method: f"{WORDS[method]}, at its threshold" if method is PlacementMethod.MODEL else WORDS[method]
        for method in answers
    }
    some = points.tp + points.fp > 0
    return unit_squares(
        [
            Square(
                "good jobs called failures",
                "failures found",
                [Curve("model", false_alarms, recall(points))],
                [Spot(labels[m], ratio(c.fp, c.fp + c.tn), recall(c)) for m, c in found.items()],
            ),
            Square(
                "failures found (recall)",
                "calls that are right (precision)",
                [Curve("model", recall(points)[some], precision(points)[some])],
                [Spot(labels[m], recall(c), precision(c)) for m, c in found.items()],
                has_diagonal=False,
            ),
        ],
        file_name="roc_pr.svg",
        title="How the model parts failures from the rest",
        caption="Left: receiver operating characteristic; dotted: chance alone. Right: precision and recall. "
        "Each counting rule has one answer and so one point. Later time, same seed.",
    )


def _confusion(truth: Truth, model: Answer) -> Drawing:
    causes = list(PlacementCause)
    assert model.likely is not None  # noqa: S101 -- a model of ours tells causes; for the type checker
    called = np.where(model.said, model.likely, PlacementCause.NONE.code)
    table = np.array(
        [[float(((truth.cause == a.code) & (called == b.code)).sum()) for b in causes] for a in causes]
    )
    shares = ratio(table, np.broadcast_to(table.sum(axis=1, keepdims=True), table.shape))
    rows = [f"{CAUSES[cause]} ({int(n):,})" for cause, n in zip(causes, table.sum(axis=1), strict=True)]
    return share_table(
        shares,
        rows,
        [CAUSES[cause] for cause in causes],
        file_name="confusion.svg",
        title="What came of attempts, and what the model called them",
        caption="Shares of each row, whose attempts are in brackets. A failure is called by its likeliest "
        "cause. Later time, same seed.",
        x_label="the model's call at its threshold",
        y_label="what came of it",
    )
