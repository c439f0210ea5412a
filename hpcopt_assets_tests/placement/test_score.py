"""Scores are plain ratios with intervals over blocks of time; rivals are what they are said to be."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.placement_tables import PLACEMENT_SCORES
from hpcopt_assets.contracts.placement_words import PlacementCause, Population
from hpcopt_assets.contracts.placement_words import PlacementMethod as Method
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.placement.cluster import draw_failures, empty_rows, simulate
from hpcopt_assets.placement.pictures import model_figures
from hpcopt_assets.placement.predict import Chances, open_predictor
from hpcopt_assets.placement.rivals import score_model
from hpcopt_assets.placement.score import Answer, Truth, models_answer, rules_answers, score
from hpcopt_assets_tests.placement.builders import placement, small

DATA = "0" * 64
# What the fixture's model says it was trained on.
BINS = placement().score.calibration.model_copy(update={"bins": 4})
SCORE = placement().score.model_copy(update={"replicas": 200, "block_rows": 10, "calibration": BINS})
CAUSE = np.array([0, 0, 1, 2, 3, 3, 0, 3, 1, 0] * 30)
MATCHING = np.where(CAUSE == 3, np.arange(CAUSE.size) % 2, -1)
TRUTH = Truth(CAUSE, MATCHING)
RNG = np.random.default_rng(2)
CHANCE = np.clip(0.7 * TRUTH.failed + 0.3 * RNG.random(CAUSE.size), 0, 1)
MODEL = Answer(CHANCE, CHANCE >= 0.75, np.where(CAUSE == 0, 3, CAUSE))


def scored(answers, truth=TRUTH):
    table = score(Population.LATER, truth, answers, SCORE)
    validate(PLACEMENT_SCORES, table)
    return {(row["method"], row["measure"], row["minus_method"]): row for row in table.iter_rows(named=True)}


def test_values_are_plain_ratios():
    rows = scored({Method.MODEL: MODEL})
    truth, said = TRUTH.failed, MODEL.said

    def value(measure):
        return rows["model", measure, None]["value"]

    assert value("accuracy") == pytest.approx((truth == said).mean())
    assert value("precision") == pytest.approx(truth[said].mean())
    assert value("recall") == pytest.approx(said[truth].mean())
    assert value("f1") == pytest.approx(2 * (truth & said).sum() / (truth.sum() + said.sum()))
    assert value("brier") == pytest.approx(((CHANCE - truth) ** 2).mean())
    for measure, some in {
        "recall_servers": CAUSE == 1,
        "recall_uplinks_count": CAUSE == 2,
        "recall_uplinks_matching": CAUSE == 3,
        "recall_budget": MATCHING == 1,
    }.items():
        assert value(measure) == pytest.approx(said[some].mean()), measure
    assert value("cause_accuracy") == 1.0
    bins = np.minimum((CHANCE * 4).astype(int), 3)
    error = sum(
        (bins == b).mean() * abs(CHANCE[bins == b].mean() - truth[bins == b].mean())
        for b in set(bins.tolist())
    )
    assert value("calibration_error") == pytest.approx(error)


def test_a_method_against_itself_differs_by_nothing():
    rows = scored({Method.MODEL: MODEL, Method.PLANE_STATE: MODEL})
    row = rows["model", "f1", "plane_state"]
    assert (row["value"], row["lower"], row["upper"]) == (0, 0, 0)


def test_intervals_hold_the_value_and_say_who_is_better():
    rows = scored({Method.MODEL: MODEL, **rules_answers(TRUTH, TRUTH)})
    for row in rows.values():
        assert row["lower"] <= row["value"] + 1e-9
        assert row["value"] <= row["upper"] + 1e-9
    assert rows["model", "f1", "count_servers"]["lower"] > 0
    assert rows["model", "brier", "count_servers"]["upper"] < 0


def test_blocks_and_not_rows_are_drawn():
    cause = np.repeat(RNG.integers(0, 2, 30), 10)  # each block of ten is all alike
    truth = Truth(cause, np.full(300, -1))
    answer = Answer(np.full(300, 0.5), np.zeros(300, bool))
    row = scored({Method.MODEL: answer}, truth)["model", "accuracy", None]
    of_blocks = 1.96 * np.sqrt(0.25 / 30)
    assert row["upper"] - row["lower"] == pytest.approx(2 * of_blocks, rel=0.3)


def test_a_measure_of_what_did_not_occur_is_unknown():
    rows = scored(
        {Method.MODEL: Answer(CHANCE[:50], CHANCE[:50] > 2)}, Truth(np.zeros(50, int), np.full(50, -1))
    )
    assert rows["model", "recall", None]["value"] is None
    assert rows["model", "accuracy", None]["value"] == 1.0
    assert ("model", "cause_accuracy", None) not in rows  # this method tells no causes


def test_a_rules_chances_are_how_often_its_answers_were_right():
    answer = rules_answers(TRUTH, TRUTH)[Method.COUNT_UPLINKS]
    assert set(answer.chance[answer.said]) == {1.0}
    assert np.unique(answer.chance[~answer.said]) == pytest.approx([90 / 210])


# --- the visible ceiling ---


def visible(config, servers, free_uplinks, budget):
    """One row of an empty cluster whose leaves have so many free uplinks each."""
    rows = empty_rows(config, 1)
    rows.records["requested_servers"], rows.records["requested_gpus"] = servers, 1
    rows.leaf_utilization[:] = 1 - np.array(free_uplinks, np.float32) / config.planes
    rows.budget_remaining[:] = budget
    return rows


@pytest.mark.parametrize(
    ("servers", "free", "budget", "chance"),
    [
        (1, [0, 0, 0], 2, 0.0),  # one SU needs no uplink
        (4, [3, 3, 3], 2, 1.0),  # more servers than there are
        (2, [0, 3, 3], 2, 1.0),  # counting alone tells
        (2, [1, 1, 3], 2, 2 / 3),  # one plane of three each: the same one with chance 1/3
        (2, [2, 1, 3], 2, 1 / 3),
        (2, [3, 3, 3], 0, 1.0),  # no circuit may be made
        (3, [3, 3, 3], 2, 0.0),
        (3, [2, 2, 2], 2, 7 / 9),  # three leaves, two planes each: only all different joins them, 6 of 27
    ],
)
def test_draws_fail_as_often_as_planes_do_not_match(servers, free, budget, chance):
    config = placement().cluster.model_copy(update={"sus": 3, "servers_per_su": 1, "rails": 1, "planes": 3})
    drawn = draw_failures(config, visible(config, servers, free, budget), 4000, np.random.default_rng(1))
    assert drawn[0] == pytest.approx(chance, abs=0.03)


def test_rivals_are_scored_on_later_time_and_on_another_seed(made):
    table = score_model(made.config, open_predictor(made.onnx, made.bundle), made.snapshots, DATA)
    validate(PLACEMENT_SCORES, table)
    assert set(table["population"]) == {"later", "other_seed"}
    assert set(table["method"]) == set(Method.words())
    assert table.filter(population="later")["evidence_count"].unique().to_list() == [600]
    f1 = {
        (row["population"], row["method"]): row["value"]
        for row in table.filter(pl.col("measure") == "f1", pl.col("minus_method").is_null()).iter_rows(
            named=True
        )
    }
    for population in ("later", "other_seed"):
        assert f1[population, "plane_state"] > f1[population, "model"] > f1[population, "count_uplinks"]
        assert f1[population, "count_uplinks"] > f1[population, "count_servers"]
    again = score_model(made.config, open_predictor(made.onnx, made.bundle), made.snapshots, DATA)
    assert again.equals(table)


def test_a_rule_that_never_said_no_before_has_the_base_rate_for_it():
    known = Truth(np.array([1, 1, 1, 1]), np.full(4, -1))
    answer = rules_answers(TRUTH, known)[Method.COUNT_SERVERS]
    assert np.unique(answer.chance).tolist() == [1.0]
    assert scored({Method.MODEL: MODEL, Method.COUNT_SERVERS: answer})["count_servers", "brier", None][
        "value"
    ]


def test_what_is_scored_is_what_is_served(made):
    chances = open_predictor(made.onnx, made.bundle).chances(made.snapshots, "rows")
    answer = models_answer(chances, 0.5)
    assert (answer.chance == chances.failed).all()
    assert (answer.said == (chances.failed >= 0.5)).all()
    causes = chances.causes[::-1]
    turned = models_answer(Chances(chances.failed, chances.by_cause[:, ::-1], causes), 0.5)
    assert (turned.likely == answer.likely).all()


def test_snapshots_that_the_seed_does_not_give_are_refused(made):
    table = made.snapshots.with_columns(failure_cause=pl.lit("none"))
    with pytest.raises(EvidenceError, match="placement_snapshots"):
        score_model(made.config, open_predictor(made.onnx, made.bundle), table, DATA)


@pytest.mark.parametrize(
    ("seed", "data", "named"), [(77, DATA, "training_seed 1"), (1, "1" * 64, "training_data_sha256 000")]
)
def test_a_model_fitted_on_other_snapshots_is_not_scored_on_these(made, seed, data, named):
    generator = made.config.generator.model_copy(update={"seed": seed})
    config = made.config.model_copy(update={"generator": generator})
    with pytest.raises(EvidenceError, match=named):
        score_model(config, open_predictor(made.onnx, made.bundle), made.snapshots, data)


def test_later_is_what_the_snapshots_call_so_whatever_the_config_says_now(made):
    split = made.config.split.model_copy(update={"fit_share": 0.2})
    config = made.config.model_copy(update={"split": split})
    table = score_model(config, open_predictor(made.onnx, made.bundle), made.snapshots, DATA)
    assert table.filter(population="later")["evidence_count"].unique().to_list() == [600]


@pytest.mark.parametrize("bins", [5, 10])
def test_figures_are_drawn_of_all_that_is_known(bins):
    rows = simulate(small(), rows=500, seed=9).records
    truth = Truth(rows["cause"], rows["matching_cause"])
    by_cause = np.eye(4)[rows["cause"]] * 0.9 + 0.025
    chances = Chances(1 - by_cause[:, 0], by_cause, tuple(PlacementCause))
    drawings = model_figures(truth, models_answer(chances, 0.5), rules_answers(truth, truth), bins)
    assert [drawing.file_name for drawing in drawings] == ["reliability.svg", "roc_pr.svg", "confusion.svg"]
    assert f"in {bins} bins" in drawings[0].caption
    assert "counting servers and uplinks" in drawings[1].svg
    assert f"servers ({(rows['cause'] == 1).sum()})" in drawings[2].svg
    assert all(drawing.svg.lstrip().startswith("<") for drawing in drawings)
