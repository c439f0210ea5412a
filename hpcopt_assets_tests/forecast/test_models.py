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
from hpcopt_assets.contracts.forecast_words import Inputs, Quantile
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.forecast.fit import Fitted, fit
from hpcopt_assets.forecast.graphs import Graph, parity_ratio, to_onnx
from hpcopt_assets.forecast.models import FITTED, Predictors
from hpcopt_assets.forecast.rounding import BITS, to_grid
from hpcopt_assets.measures.forecast import pinball
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.forecast.made import CONFIG, Made, jobs_of


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


def test_inputs_are_on_the_grid_and_never_nan(made: Made):
    jobs = jobs_of(made.trace_jobs.with_columns(requested_memory_bytes=pl.col("submit_s") * 1_000_003))
    matrix = jobs.columns(FEATURES_OF[Inputs.QUEUE_STATE], np.ones(len(jobs), dtype=bool))
    assert np.isfinite(matrix).all()
    assert np.array_equal(to_grid(matrix.astype(float)), matrix)


def test_off_the_grid_float32_would_flip_a_split():
    """Why there is a grid: between two neighbours of float32 no threshold of float32 is left."""
    import lightgbm as lgb

    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    x = np.where(np.arange(400) % 2, low, high).astype(np.float32)[:, None]
    parameters = {"objective": "regression", "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1}
    booster = lgb.train(parameters, lgb.Dataset(x, (x[:, 0] > low) * 1.0), num_boost_round=2)
    fitted = Fitted(booster, ("x",), 2, 0.0, 400, Quantile.P50, 0)
    said = Graph(to_onnx(fitted)).run(x)
    assert len(set(booster.predict(x))) == 2
    assert not np.allclose(said, booster.predict(x))
    assert to_grid(x.astype(float)).std() == 0


def test_the_batch_does_not_matter(made: Made, fitted):
    matrix = made.jobs.columns(fitted.features, made.folds[-1].serve(made.jobs))
    graph = Graph(to_onnx(fitted))
    one_by_one = np.concatenate([graph.run(row[None]) for row in matrix])
    assert np.array_equal(graph.run(matrix), one_by_one)


def test_another_model_is_not_taken_for_it(made: Made):
    tail, other = (
        fit(made.jobs, made.folds[0], Inputs.REPLAY, quantile, CONFIG.model)
        for quantile in (Quantile.P10, Quantile.P90)
    )
    rows = made.folds[0].serve(made.jobs)
    assert parity_ratio(tail, Graph(to_onnx(tail)), made.jobs, rows, "here") == 0
    with pytest.raises(EvidenceError, match=r"here.*a prediction of .* s differs by"):
        parity_ratio(tail, Graph(to_onnx(other)), made.jobs, rows, "here")


def test_parity_is_that_of_predictions_not_of_sums(made: Made, monkeypatch: pytest.MonkeyPatch):
    """A sum may be off by 2e-4 of itself and a prediction, small beside its request, by far more."""
    fitted = fit(made.jobs, made.folds[0], Inputs.REPLAY, Quantile.P50, CONFIG.model)
    graph, rows = Graph(to_onnx(fitted)), made.folds[0].serve(made.jobs)
    honest = Graph.run
    monkeypatch.setattr(Graph, "run", lambda graph, matrix: honest(graph, matrix) + 5e-5)
    with pytest.raises(EvidenceError, match="differs by"):
        parity_ratio(fitted, graph, made.jobs, rows, "here")


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
    expected = (made.jobs.recent_history_s[rows] / limit_s + summed) * limit_s
    assert np.allclose(said[rows], expected)


def test_no_identity_and_no_state_is_among_the_inputs(made: Made):
    read = set(made.models.filter(inputs="replay").explode("features")["features"])
    assert read <= set(FEATURES_OF[Inputs.REPLAY])
    assert not read & {"user", "group", "job_id", "runtime_s", "end_s", "start_s", "queued_count"}
    assert "queued_count" in set(made.models.filter(inputs="queue_state").explode("features")["features"])


def test_importance_adds_up_and_finds_what_matters(made: Made):
    """Users have habits: the median rests on their history, by the start of the trees if by no split."""
    shares = made.importance.group_by("fold", "quantile").agg(pl.col("gain_ratio").sum())
    assert shares["gain_ratio"].to_numpy() == pytest.approx(1.0)
    last = made.importance.filter(quantile="p50", fold=3).sort("permutation_loss_s", descending=True)
    assert last["feature"][0] in ("user_procs_request_last2_mean_s", "user_request_last2_mean_s")
    loss = pinball(made.jobs.target_s, made.estimates["p50_s"].to_numpy(), 0.5)
    assert last["permutation_loss_s"][0] > 0.5 * loss[made.folds[-1].score(made.jobs)].mean()
    calendar = last.filter(pl.col("feature") == "hour_of_day")["permutation_loss_s"][0]
    assert abs(calendar) < 0.2 * last["permutation_loss_s"][0]  # no habit of theirs knows the hour


def test_the_start_is_the_mean_of_the_closest_history_and_the_wider_one():
    rows = [
        job("1", 0, 1, 10, 100, wait_s=0, user="u"),
        job("2", 0, 1, 20, 100, wait_s=0, user="u"),
        job("3", 50, 2, 60, 100, wait_s=0, user="u"),  # another size
        job("4", 200, 1, 5, 100, wait_s=0, user="u"),
        job("5", 200, 1, 5, 100, wait_s=0, user="w"),
    ]
    start = jobs_of(trace(rows)).recent_history_s.tolist()
    assert start[3] == (15 + 40) / 2  # the last two of one processor; the last two of 100 s
    assert start[4] == 100


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
