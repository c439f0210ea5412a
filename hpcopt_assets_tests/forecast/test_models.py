"""Models in ONNX: the same predictions as LightGBM's, for whatever a job may look like.

Broken on purpose, and who noticed: inputs not on the grid (float32 flips a split); leaves not rounded (sums
differ in the last bits); null given as NaN (read as zero by one of the two); a model of another quantile
served (parity check).
"""

import json

import numpy as np
import onnxruntime as ort
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.forecast_tables import FEATURES_OF, RUNTIME_IMPORTANCE, RUNTIME_MODEL
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.vocabulary import Inputs, Quantile
from hpcopt_assets.forecast.fit import fit
from hpcopt_assets.forecast.graphs import Graph, parity_ratio, to_onnx
from hpcopt_assets.forecast.models import FITTED, Predictors
from hpcopt_assets.forecast.rounding import BITS, to_grid
from hpcopt_assets_tests.forecast.made import CONFIG, Made


@pytest.fixture(scope="module", params=list(Quantile))
def fitted(made: Made, request: pytest.FixtureRequest):
    return fit(made.jobs, made.folds[-1], Inputs.REPLAY, request.param, CONFIG.model)


def test_one_model_a_fold_inputs_and_quantile(made: Made):
    validate(RUNTIME_MODEL, made.models)
    validate(RUNTIME_IMPORTANCE, made.importance)
    assert made.models.height == len(made.folds) * len(FITTED)
    assert made.models["parity_ratio"].max() == 0


def test_predictions_agree_to_the_last_bit_on_any_job(made: Made, fitted):
    """Values seen and unseen, on the grid; unknown ones; far beyond what was fitted."""
    random = np.random.default_rng(4)
    seen = made.jobs.columns(fitted.features, np.ones(len(made.jobs), dtype=bool))
    mixed = np.column_stack([random.permutation(column) for column in seen.T])
    wild = to_grid(mixed * random.lognormal(0, 3, size=mixed.shape))
    unknown = np.where(random.random(mixed.shape) < 0.3, -1.0, mixed)
    matrix = np.concatenate([seen, wild, unknown]).astype(np.float32)
    graph = Graph(to_onnx(fitted))
    assert np.array_equal(graph.run(matrix), fitted.booster.predict(matrix))
    assert parity_ratio(fitted, graph, matrix, "test") == 0


def test_the_batch_does_not_matter(made: Made, fitted):
    matrix = made.jobs.columns(fitted.features, made.folds[-1].serve(made.jobs))
    graph = Graph(to_onnx(fitted))
    one_by_one = np.concatenate([graph.run(row[None]) for row in matrix])
    assert np.array_equal(graph.run(matrix), one_by_one)


def test_another_model_is_not_taken_for_it(made: Made):
    tail, median = (
        fit(made.jobs, made.folds[0], Inputs.REPLAY, quantile, CONFIG.model)
        for quantile in (Quantile.P10, Quantile.P90)
    )
    matrix = made.jobs.columns(tail.features, made.folds[0].serve(made.jobs))
    with pytest.raises(EvidenceError, match=r"fold 1.*differs by|differs by"):
        parity_ratio(tail, Graph(to_onnx(median)), matrix, "trace made, fold 1")


def test_the_file_says_what_it_is(fitted):
    session = ort.InferenceSession(to_onnx(fitted), providers=["CPUExecutionProvider"])
    told = session.get_modelmeta().custom_metadata_map
    assert json.loads(told["features"]) == list(fitted.features)
    assert told["scale"] in ("share_of_request", "logarithm")
    assert session.get_inputs()[0].shape[1] == len(fitted.features)


def test_predictors_are_what_the_table_holds(made: Made):
    fold = made.folds[0]
    rows = fold.serve(made.jobs)
    said = Predictors(made.models).seconds(made.jobs, fold.fold, Inputs.REPLAY, Quantile.P50, rows)
    assert np.isfinite(said[rows]).all()
    assert np.isnan(said[~rows]).all()
    again = fit(made.jobs, fold, Inputs.REPLAY, Quantile.P50, CONFIG.model)
    summed = again.booster.predict(made.jobs.columns(again.features, rows))
    limit_s = made.jobs.limit_s[rows]
    expected = (made.jobs.nearest_history_s[rows] / limit_s + summed) * limit_s
    assert np.allclose(said[rows], expected)


def test_no_identity_and_no_state_is_among_the_inputs(made: Made):
    read = set(made.models.filter(inputs="replay").explode("features")["features"])
    assert read <= set(FEATURES_OF[Inputs.REPLAY])
    assert not read & {"user", "group", "job_id", "runtime_s", "end_s", "start_s", "queued_count"}
    assert "queued_count" in set(made.models.filter(inputs="queue_state").explode("features")["features"])


def test_importance_adds_up_and_finds_what_matters(made: Made):
    shares = made.importance.group_by("fold", "quantile").agg(pl.col("gain_ratio").sum())
    assert shares["gain_ratio"].to_numpy() == pytest.approx(1.0)
    # The tails are predicted from nothing but the inputs: without the history they would know no user.
    first = made.importance.filter(quantile="p90", fold=3).sort("permutation_loss_s", descending=True)
    assert first["permutation_loss_s"][0] > 0
    assert any(part in first["feature"][0] for part in ("user_", "limit", "area"))


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e15)), min_size=1, max_size=20))
@settings(max_examples=200)
def test_the_grid(values):
    given_ = np.array(values)
    grid = to_grid(given_)
    assert np.array_equal(grid, grid.astype(np.float32).astype(np.float64))
    assert np.all(np.abs(grid - given_) <= given_ * 2.0**-BITS)
    assert np.array_equal(np.argsort(grid[np.argsort(given_)], kind="stable"), np.arange(grid.size))
    assert np.array_equal(to_grid(grid), grid)


def test_small_whole_numbers_stay():
    assert to_grid(np.arange(4096.0)).tolist() == list(range(4096))
    assert to_grid(np.array([-1.0])).tolist() == [-1]
