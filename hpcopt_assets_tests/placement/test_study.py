"""Admission rules over the same arrivals: what each lets through, and what that costs."""

from __future__ import annotations

import dataclasses

import pytest

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.placement_tables import PLACEMENT_STUDY
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.placement.cluster import simulate
from hpcopt_assets.placement.predict import open_predictor
from hpcopt_assets.placement.study import study_admission


def studied(made, threshold=None):
    predictor = open_predictor(made.onnx, made.bundle)
    if threshold is not None:
        predictor = dataclasses.replace(
            predictor, layout=dataclasses.replace(predictor.layout, threshold=threshold)
        )
    table = study_admission(made.config, predictor)
    validate(PLACEMENT_STUDY, table)
    return {row["admission"]: row for row in table.iter_rows(named=True)}


@pytest.fixture(scope="module")
def rows(made):
    return studied(made)


def test_admitting_all_is_the_simulation_itself(made, rows):
    generator = made.config.generator.model_copy(update={"warm_up_ratio": 0.0})
    plain = simulate(made.config.model_copy(update={"generator": generator}), rows=300, seed=3)
    assert rows["admit_all"]["failed_count"] == (plain.records["cause"] != 0).sum()
    assert rows["admit_all"]["turned_away_count"] == 0


def test_counting_avoids_what_it_foresees_and_turns_no_good_job_away(rows):
    counting, everyone = rows["counting_rule"], rows["admit_all"]
    assert counting["good_turned_away_count"] == 0
    assert counting["failures_avoided_count"] > 0
    assert counting["placed_count"] == everyone["placed_count"]  # a failed attempt takes nothing
    assert counting["utilisation_ratio"] == everyone["utilisation_ratio"]
    assert counting["cost_per_attempt"] < everyone["cost_per_attempt"]


def test_the_model_avoids_more_than_counting(rows):
    assert rows["model"]["failed_count"] < rows["counting_rule"]["failed_count"]
    assert rows["model"]["cost_per_attempt"] < rows["counting_rule"]["cost_per_attempt"]


def test_a_threshold_of_zero_turns_everybody_away(made):
    row = studied(made, threshold=0.0)["model"]
    assert (row["placed_count"], row["turned_away_count"], row["utilisation_ratio"]) == (0, 300, 0.0)
    # The cluster stays empty: only jobs that no empty cluster could place would have failed.
    assert row["failures_avoided_count"] < 30


def test_cost_is_what_the_config_says(rows):
    for row in rows.values():
        cost = 1.5 * row["failed_count"] + row["good_turned_away_count"]
        assert row["cost_per_attempt"] == pytest.approx(cost / 300)


def test_arrivals_that_the_model_was_fitted_on_are_no_study_of_it(made):
    config = made.config.model_copy(
        update={"study": made.config.study.model_copy(update={"seed": made.trained.bundle.training_seed})}
    )
    with pytest.raises(EvidenceError, match=r"study\.seed 1"):
        study_admission(config, open_predictor(made.onnx, made.bundle))
