"""Our bundle is the only authority: rows, models and clusters that it does not speak of are refused."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.placement_tables import PLACEMENT_PREDICTIONS
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.placement.inference import predictions
from hpcopt_assets.placement.predict import open_predictor
from hpcopt_assets.placement.snapshots import make_snapshots
from hpcopt_assets_tests.placement import foreign
from hpcopt_assets_tests.placement.builders import placement, small


def spoiled(made, own, tmp_path, **changes):
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(own | changes))
    with pytest.raises(InputError) as caught:
        open_predictor(made.onnx, path).chances(made.snapshots, "rows")
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model_sha256": "0" * 64}, "the model of this bundle"),
        ({"scaler_mean": [1.0]}, "scaler_mean"),
        ({"foreign": 1}, "foreign"),
        ({"threshold": 1.5}, "threshold"),
        ({"vectors": [{"name": "server_bitmap", "length": 128}]}, "inputs scalars, server_bitmap, leaf"),
        ({"output": "nowhere"}, "nowhere"),
    ],
)
def test_a_bundle_that_is_not_the_models_is_refused(made, own, tmp_path, changes, named):
    assert named in spoiled(made, own, tmp_path, **changes)


@pytest.mark.parametrize("named", ["hpcopt-placement-2", None])
def test_a_bundle_of_ours_is_never_taken_for_anothers(made, own, tmp_path, named):
    own["format"] = named
    if named is None:
        del own["format"]
    assert "hpcopt-placement-1" in spoiled(made, own, tmp_path)


@pytest.mark.parametrize(
    "key", ["scalar_columns", "vectors", "cluster", "threshold", "classes", "model_sha256"]
)
def test_no_key_of_ours_may_be_missing(made, own, tmp_path, key):
    del own[key]
    assert key in spoiled(made, own, tmp_path)


def test_rows_of_another_cluster_are_refused(made):
    rows = make_snapshots(placement(), rows=5, seed=1)
    with pytest.raises(InputError, match="server_bitmap: 1024 in row 0; needed: a list of 128 numbers"):
        open_predictor(made.onnx, made.bundle).chances(rows, "rows")


@pytest.mark.parametrize(
    ("cluster", "named"),
    [({"allocation": "roomiest_first"}, "allocation"), ({"ring_orders": ["interleaved"]}, "ring_orders")],
)
def test_rows_allocated_otherwise_are_refused_although_their_shape_fits(made, cluster, named):
    rows = make_snapshots(small(cluster=cluster), rows=5, seed=1)
    with pytest.raises(InputError, match=f"{named} {next(iter(np.ravel(list(cluster.values()))))}"):
        open_predictor(made.onnx, made.bundle).chances(rows, "rows")


@pytest.mark.parametrize("change", [{"circuits_per_interval": 3}, {"interval_s": 60}])
def test_rows_of_another_cluster_are_refused_although_their_shape_fits(made, change):
    rows = make_snapshots(small(cluster=change), rows=5, seed=1)
    with pytest.raises(InputError, match="cluster_sha256"):
        open_predictor(made.onnx, made.bundle).chances(rows, "rows")


def test_rows_that_do_not_say_which_cluster_they_are_of_are_refused_with_what_to_add(made):
    rows = made.snapshots.drop("cluster_sha256")
    with pytest.raises(InputError, match=f"no column cluster_sha256.*{made.config.cluster.sha256}"):
        open_predictor(made.onnx, made.bundle).chances(rows, "rows")
    some = made.snapshots.with_columns(cluster_sha256=pl.lit(None, pl.String))
    with pytest.raises(InputError, match="cluster_sha256 None"):
        open_predictor(made.onnx, made.bundle).chances(some, "rows")


@pytest.mark.parametrize("change", [{"circuits_per_interval": 3}, {"interval_s": 60}, {"sus": 9}])
def test_a_cluster_that_differs_in_anything_is_told_apart(made, change):
    predictor = open_predictor(made.onnx, made.bundle)
    predictor.check_cluster(made.config.cluster)
    with pytest.raises(InputError, match=next(iter(change))):
        predictor.check_cluster(small(cluster=change).cluster)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"leaf_utilization": lambda v: v * 100}, "column leaf_utilization"),
        ({"leaf_utilization": lambda v: v - 0.1}, "column leaf_utilization"),
        ({"server_bitmap": lambda v: v * 5}, "column server_bitmap: 5 in row"),
        ({"budget_remaining": lambda v: v + 1}, "column budget_remaining: 3 in row"),
        ({"requested_servers": lambda v: v * 0 - 4}, "column requested_servers: -4 in row 0"),
        ({"requested_servers": lambda v: v + 0.5}, "whole"),
        ({"requested_gpus": lambda v: v * 0 + 5}, "column requested_gpus: 5 in row 0"),
        ({"uplinks_used_ratio": lambda v: v + 1}, "column uplinks_used_ratio"),
    ],
)
def test_numbers_that_no_cluster_has_are_refused_before_any_is_scored(made, change, found):
    (name, of), rows = next(iter(change.items())), made.snapshots.head(40)
    spoilt = rows.with_columns(pl.Series(name, of(rows[name].to_numpy())))
    with pytest.raises(InputError, match=found):
        open_predictor(made.onnx, made.bundle).chances(spoilt, "rows")


def test_predictions_are_a_table_in_the_rows_order(made):
    table = predictions(open_predictor(made.onnx, made.bundle), made.snapshots, 500, "0" * 64)
    validate(PLACEMENT_PREDICTIONS, table)
    assert table["part"].equals(made.snapshots["part"])
    assert table["attempt"].equals(made.snapshots["attempt"])
    sums = table.select(pl.sum_horizontal("p_servers", "p_uplinks_count", "p_uplinks_matching")).to_series()
    assert np.allclose(sums, table["p_failed"], atol=1e-6)
    assert (table["is_predicted_failed"] == (table["p_failed"] >= made.trained.bundle.threshold)).all()
    sure = table.filter(pl.col("failure_cause") == "servers")
    assert (sure["likely_cause"] == "servers").mean() > 0.95


def test_what_a_model_used_rows_for_is_unknown_if_it_was_not_fitted_on_them(made):
    table = predictions(open_predictor(made.onnx, made.bundle), made.snapshots, 500, "1" * 64)
    validate(PLACEMENT_PREDICTIONS, table)
    assert table["part"].null_count() == table.height


def test_a_model_from_elsewhere_predicts_snapshots_and_leaves_causes_open(made, tmp_path):
    columns = list(made.trained.bundle.scalar_columns[:6])
    told = {"scalar_columns": columns, "threshold": 0.25}
    paths = foreign.write(tmp_path, foreign.model(inputs=("x",)), told, made.snapshots)
    table = predictions(open_predictor(*paths[:2]), made.snapshots, 500, "0" * 64)
    validate(PLACEMENT_PREDICTIONS, table)
    assert table.select(
        "p_servers", "p_uplinks_count", "p_uplinks_matching", "likely_cause", "part"
    ).null_count().row(0) == ((made.snapshots.height,) * 5)
    assert table["is_predicted_failed"].equals((table["p_failed"] >= 0.25).alias("is_predicted_failed"))
