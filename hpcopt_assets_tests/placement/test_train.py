"""The exported graph is the trainer's answer, whatever the batch; nothing later in time was looked at."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import onnx
import onnxruntime as ort
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.placement_bundle import bundle_json_schema
from hpcopt_assets.contracts.placement_words import PlacementCause
from hpcopt_assets.placement.calibration import calibrate, cheapest_threshold, softmax
from hpcopt_assets.placement.predict import open_predictor
from hpcopt_assets.placement.session import open_session
from hpcopt_assets.placement.snapshots import make_snapshots
from hpcopt_assets.placement.train import fed, rows_min, train
from hpcopt_assets.placement.trees import LEAF_STEP, float32_at_most


def test_the_graph_answers_as_the_trainer_does(made):
    found = open_predictor(made.onnx, made.bundle).chances(made.snapshots, "rows")
    trainers = made.trained.trainers_answer(fed(made.snapshots), 1)
    assert np.abs(found.by_cause - trainers).max() <= 1e-6
    assert np.abs(found.failed - (1 - trainers[:, 0])).max() <= 1e-6
    assert np.ptp(found.failed) > 0.9  # a model that says the same of all would agree as well


@pytest.mark.parametrize(("size", "threads"), [(1, 1), (7, 2), (1024, 2)])
def test_answers_do_not_depend_on_the_batch_or_the_threads(made, size, threads):
    rows = made.snapshots.head(200 if size == 1 else 3000)
    together = open_predictor(made.onnx, made.bundle, 1).chances(rows, "rows", 3000)
    parted = open_predictor(made.onnx, made.bundle, threads).chances(rows, "rows", size)
    assert (together.failed == parted.failed).all()
    assert (together.by_cause == parted.by_cause).all()


def test_the_model_needs_onnxruntime_alone_and_speaks_in_plain_tensors(made):
    session = ort.InferenceSession(made.trained.onnx, providers=["CPUExecutionProvider"])
    assert [(item.name, item.type, item.shape) for item in session.get_outputs()] == [
        ("p_failed", "tensor(float)", ["n", 1]),
        ("p_cause", "tensor(float)", ["n", 4]),
    ]
    assert {item.name: item.shape[1] for item in session.get_inputs()} == {
        "scalars": 16,
        "server_bitmap": 128,
        "leaf_utilization": 32,
        "budget_remaining": 16,
    }
    domains = {node.domain for node in onnx.load_from_string(made.trained.onnx).graph.node}
    assert domains <= {"", "ai.onnx.ml"}


def test_scaling_is_in_the_graph_and_in_the_bundle(made):
    fit = made.snapshots.filter(part="fit")["requested_servers"].to_numpy()
    assert made.trained.bundle.scaler_mean[0] == pytest.approx(fit.mean(), rel=1e-5)
    assert made.trained.bundle.scaler_scale[0] == pytest.approx(fit.std(), rel=1e-5)
    session = open_session(made.trained.preprocess, 1)
    blocks = {name: values[:5].astype(np.float32) for name, values in fed(made.snapshots).items()}
    scaled = session.run(["features"], blocks)[0][:, 0]
    expected = (blocks["scalars"][:, 0] - fit.mean()) / fit.std()
    assert scaled == pytest.approx(expected, rel=1e-4)


def test_leaves_and_thresholds_are_what_float32_holds(made):
    for tree in made.trained.booster.dump_model()["tree_info"]:
        nodes = [tree["tree_structure"]]
        while nodes:
            node = nodes.pop()
            if "threshold" in node:
                assert float(np.float32(node["threshold"])) == node["threshold"]
                nodes += [node["left_child"], node["right_child"]]
            else:
                assert node["leaf_value"] / LEAF_STEP == round(node["leaf_value"] / LEAF_STEP)


@settings(max_examples=200, deadline=None)
@given(
    threshold=st.floats(-1e6, 1e6),
    x=st.floats(-1e6, 1e6, width=32) | st.none(),
    nudge=st.sampled_from([-1, 0, 1]),
)
def test_a_rounded_threshold_parts_the_same_float32s(threshold, x, nudge):
    near = np.float32(threshold) if x is None else np.float32(x)
    seen = np.nextafter(near, np.float32(nudge * np.inf)) if nudge else near
    assert (float(seen) <= threshold) == bool(seen <= float32_at_most(threshold))


def test_nothing_later_in_time_changes_the_model(made):
    later = pl.col("part") == "later"
    blank = [
        pl.when(later).then(pl.lit("none")).otherwise("failure_cause").alias("failure_cause"),
        pl.when(later).then(7).otherwise("free_servers").alias("free_servers"),
    ]
    assert train(made.snapshots.with_columns(blank), "0" * 64, made.config).onnx == made.trained.onnx
    earlier = pl.when(pl.col("part") == "fit").then(7).otherwise("free_servers").alias("free_servers")
    assert train(made.snapshots.with_columns(earlier), "0" * 64, made.config).onnx != made.trained.onnx


def test_the_bundle_fits_its_schema(made):
    jsonschema.validate(json.loads(made.bundle.read_text()), bundle_json_schema())


def test_it_is_better_than_counting_even_where_it_is_small(made):
    later = made.snapshots.filter(part="later")
    truth = later["l1_failed"].to_numpy()
    found = open_predictor(made.onnx, made.bundle).chances(later, "rows").failed
    counted = later["failure_cause"].is_in(["servers", "uplinks_count"]).to_numpy().astype(float)
    assert ((found - truth) ** 2).mean() < ((counted - truth) ** 2).mean()


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=20),
    missed=st.sampled_from([0.25, 1.0, 1.5, 10.0]),
)
def test_no_threshold_costs_less(rows, missed):
    chance, truth = np.array([c / 8 for c, _ in rows]), np.array([t for _, t in rows])

    def cost(threshold):
        said = chance >= threshold
        return missed * (truth & ~said).sum() + (~truth & said).sum()

    found = cheapest_threshold(chance, truth, missed)
    assert 0 <= found <= 1
    some = [0.0, *(i / 16 for i in range(17))]
    assert cost(found) <= min(map(cost, some))


def test_calibration_finds_the_slope_and_intercepts_that_scores_lack():
    rng = np.random.default_rng(3)
    raw = rng.normal(scale=2.0, size=(20_000, len(PlacementCause)))
    truth = softmax(raw, 0.5, np.array([0.0, 0.7, -0.7, 0.2]))
    codes = (truth.cumsum(axis=1) < rng.random((len(raw), 1))).sum(axis=1)
    slope, intercepts = calibrate(raw, codes)
    assert slope == pytest.approx(0.5, abs=0.03)
    assert intercepts == pytest.approx([0.0, 0.7, -0.7, 0.2], abs=0.08)
    same = calibrate(
        raw, (softmax(raw, 1.0, np.zeros(4)).cumsum(axis=1) < rng.random((len(raw), 1))).sum(axis=1)
    )
    assert same[0] == pytest.approx(1.0, abs=0.05)


def test_too_few_snapshots_to_train_on_are_refused_with_how_many_it_takes(made):
    least = rows_min(made.config)
    assert least == 200
    rows = make_snapshots(made.config, rows=least, seed=1)
    assert train(rows, "0" * 64, made.config).booster.num_trees() > 4
    with pytest.raises(InputError, match="199 rows; needed: at least 200"):
        train(rows.head(199), "0" * 64, made.config)
