"""A released model from elsewhere is taken as it is, or refused by what its bundle leaves open."""

from __future__ import annotations

import json

import numpy as np
import onnx
import polars as pl
import pytest

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.placement_bundle import ALIASES, FOREIGN, bundle_json_schema
from hpcopt_assets.placement.bundles import read_bundle
from hpcopt_assets.placement.outputs import Output, Port, chance_of_failure
from hpcopt_assets.placement.predict import open_predictor
from hpcopt_assets_tests.placement.foreign import (
    BITS,
    COLUMNS,
    MEAN,
    ORDER,
    SCALE,
    bundle,
    expected,
    model,
    refused,
    rows,
    said,
)

JOINED = {"inputs": ("x",)}


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        ({}, {}),
        ({"output": "logits"}, {}),
        ({"output": "logits", "name": "out"}, {"output_kind": "logits"}),
        ({"output": "logits", "name": "out"}, {}),  # the node that makes it is no sigmoid but an addition
        ({"width": 2}, {}),
        ({"width": 2, "output": "logits"}, {}),
        ({"width": 2, "output": "labelled"}, {}),
        ({"width": 2, "output": "maps"}, {}),
        ({"width": 2, "output": "maps"}, {"positive_class": 1}),
        (JOINED, ORDER),
        (JOINED | {"output": "logits"}, ORDER),
        (JOINED | {"width": 2, "output": "maps"}, ORDER),
        ({"inputs": ("a", "b")}, {"inputs": {"a": "scalars", "b": ["server_bitmap"]}}),
        ({"inputs": ("Scalars", "SERVER_BITMAP")}, {}),
        ({}, {"vectors": [{"name": "server_bitmap", "length": BITS}]}),
        ({}, {"vectors": ["server_bitmap"]}),  # its length is told by the model
        (JOINED, ORDER | {"scaler_mean": [*MEAN, 0, 0, 0, 0], "scaler_scale": [*SCALE, 1, 1, 1, 1]}),
        ({"width": 2}, {"classes": ["ok", "bad"]}),
        ({"dtype": np.float64}, {}),
        (JOINED | {"dtype": np.float64}, ORDER),
        (JOINED, ORDER | {"vectors": ["server_bitmap"], "server_bitmap_len": BITS}),
    ],
)
def test_inputs_and_outputs_of_every_usual_kind(tmp_path, graph, told):
    frame = rows()
    assert said(tmp_path, model(**graph), bundle(**told), frame) == pytest.approx(expected(frame), abs=1e-6)


@pytest.mark.parametrize(
    ("values", "kind", "chance"),
    [([[0.3, 0.7]], "probability", 0.7), ([[0.3]], "probability", 0.3), ([[0.0, 2.0]], "logits", 0.880797)],
)
def test_a_model_that_does_not_say_how_wide_it_is(values, kind, chance):
    output = Output(Port("out", "tensor(float)", (None, None)), kind)
    assert chance_of_failure(np.array(values), output, 1) == pytest.approx([chance], abs=1e-6)


@pytest.mark.parametrize("width", [1, 2])
def test_logits_beyond_what_exp_holds_are_certain(tmp_path, width):
    frame = rows(2).with_columns(requested_servers=pl.Series([10**6, -(10**6)]))
    found = said(tmp_path, model(output="logits", width=width), bundle(), frame)
    assert found.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("key", sorted(ALIASES))
def test_every_spelling_of_every_key_is_read(key):
    for spelling in ALIASES[key]:
        value = ["a"]
        for part in reversed(spelling.split(".")):
            value = {part: value}
        assert read_bundle(json.dumps(value), "bundle").keys == {key: ["a"]}, spelling


@pytest.mark.parametrize("key", ["scalar_columns", "scaler_mean", "scaler_scale", "vectors"])
def test_every_documented_spelling_is_read(tmp_path, key):
    frame = rows()
    for spelling in ALIASES[key]:
        told = bundle()
        value = told.pop(key)
        for part in reversed(spelling.split(".")):
            value = {part: value}
        assert said(tmp_path, model(), told | value, frame) == pytest.approx(expected(frame), abs=1e-6), (
            spelling
        )


@pytest.mark.parametrize("block", ["scalars", "server_bitmap"])
def test_every_documented_name_of_an_input_is_known(tmp_path, block):
    frame = rows()
    for name in bundle_json_schema()["x-foreign"]["inputs"]["names"][block]:
        inputs = (name, "bitmap") if block == "scalars" else ("x_scalar", name)
        onnx = model(inputs=inputs, is_in_order=True)
        assert said(tmp_path, onnx, bundle(), frame) == pytest.approx(expected(frame), abs=1e-6), name


def test_only_documented_keys_have_spellings():
    assert set(ALIASES) <= set(FOREIGN)
    everything = [spelling for some in ALIASES.values() for spelling in some] + list(FOREIGN)
    assert len(everything) == len(set(everything))


def test_the_bundles_order_counts_and_not_the_rows(tmp_path):
    frame = rows()
    shuffled = frame.select(reversed(frame.columns))
    assert said(tmp_path, model(), bundle(), shuffled) == pytest.approx(expected(frame), abs=1e-6)
    swapped = bundle(scalar_columns=COLUMNS[::-1], scaler_mean=MEAN[::-1], scaler_scale=SCALE[::-1])
    assert said(tmp_path, model(), swapped, frame) != pytest.approx(expected(frame), abs=1e-2)


def test_scaling_that_the_graph_does_itself_is_not_done_twice(tmp_path):
    frame = rows()
    inside = said(tmp_path, model(), bundle(scaling_in_graph=True), frame)
    assert inside != pytest.approx(expected(frame), abs=1e-2)
    plain = said(tmp_path, model(), bundle(scaler_mean=None, scaler_scale=None), frame)
    assert (inside == plain).all()


FOR_ALL = {"scaler_mean": [*MEAN, 0.5, 0, 0, 0], "scaler_scale": [*SCALE, 0.5, 1, 1, 1]}
SWAPPED = {"scaler_mean": [0.5, 0, 0, 0, *MEAN], "scaler_scale": [0.5, 1, 1, 1, *SCALE]}
NO_SCALER = {"scaler_mean": None, "scaler_scale": None}
SCALER_OF_OTHER_KEYS = NO_SCALER | {"normalizer_mu": MEAN, "normalizer_sd": SCALE}
NESTED_SCALER = NO_SCALER | {"normalizer": {"sd": SCALE}}


@pytest.mark.parametrize("told", [FOR_ALL | ORDER, SWAPPED | {"input_order": ["server_bitmap", "scalars"]}])
@pytest.mark.parametrize("inputs", [("x_scalar", "bitmap"), ("bitmap", "x_scalar")])
def test_a_scaler_for_all_is_cut_as_the_bundle_has_it_whatever_the_graphs_order(tmp_path, inputs, told):
    frame = rows()
    bits = frame["server_bitmap"].to_numpy().astype(float)
    bits[:, 0] = (bits[:, 0] - 0.5) / 0.5
    right = expected(frame.with_columns(server_bitmap=pl.Series(bits)))
    found = said(tmp_path, model(inputs=inputs), bundle(**told), frame)
    assert found == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize(
    ("graph", "told", "named"),
    [
        ({}, {"scalar_columns": None}, "scalar_columns"),
        (JOINED, {}, "input_order"),
        (JOINED, {"input_order": ["scalars"]}, "server_bitmap"),
        (JOINED, {"input_order": ["scalars", "scalars"]}, "twice"),
        ({"inputs": ("a", "b")}, {}, "no key inputs"),
        ({"inputs": ("a", "b")}, {"inputs": {"a": "scalars", "c": "server_bitmap"}}, "inputs a, b"),
        ({}, {"vectors": {"server_bitmap": 5}}, "5 numbers"),
        ({}, {"vectors": None}, "no key vectors"),
        ({}, {"vectors": None, "bitmap_dim": 4}, "no key vectors"),
        ({"inputs": ("a", "b")}, {"inputs": {"a": 2, "b": "scalars"}}, "inputs: a: 2"),
        ({"inputs": ("a", "b")}, {"inputs": {"a": [2], "b": "scalars"}}, "inputs: a: [2]"),
        ({}, {"scaling_in_graph": "false"}, "scaling_in_graph: 'false'"),
        ({}, SCALER_OF_OTHER_KEYS, "key normalizer_mu"),
        ({}, NESTED_SCALER, "key normalizer.sd"),
        ({"batch": 3}, {}, "batch is fixed at 3 rows"),
        ({}, {"vectors": ["server_bitmap"], "server_bitmap_dim": 5}, "5 numbers"),
        ({}, {"scalar_columns": ["free_servers"]}, "scalars 1"),
        ({}, {"scaler_mean": [1.0]}, "1 of scaler_mean"),
        ({}, {"scaler_scale": None}, "both or neither"),
        ({}, {"scaler_scale": [1.0, 0.0]}, "above 0"),
        ({}, {"scaler_scale": [1.0, "x"]}, "finite numbers"),
        ({}, {"threshold": 2}, "threshold"),
        ({"width": 2, "output": "labelled"}, {"output": "nowhere"}, "output"),
        ({}, {"std": [9.0, 9.0]}, "differ"),
        ({}, {"model_sha256": "0" * 64}, "the model of this bundle"),
        ({}, {"model_sha256": 3}, "the model of this bundle"),
        ({}, {"categories": {"qos": {"a": 0}}}, "qos"),
        ({}, {"categories": ["free_servers"]}, "categories: ['free_servers']"),
        ({}, {"categories": {"free_servers": [1]}}, "{word: code}"),
        ({}, {"categories": {"free_servers": {"c": [1]}}}, "{word: code}"),
        ({}, {"unknown_value": "x"}, "unknown_value: 'x'"),
        ({}, FOR_ALL, "no key input_order"),
        ({}, FOR_ALL | {"input_order": ["scalars"]}, "each once"),
    ],
)
def test_what_is_left_open_or_contradicts_is_refused_by_name(tmp_path, graph, told, named):
    assert named in refused(tmp_path, model(**graph), bundle(**told))


@pytest.mark.parametrize(
    ("text", "named"),
    [("{", "no JSON"), ("[1]", "a list"), ('{"format": "hpcopt-placement-1"}', "scalar_columns")],
)
def test_a_bundle_that_is_none(tmp_path, text, named):
    assert named in refused(tmp_path, model(), text)


def test_weights_may_be_in_a_file_beside_the_model(tmp_path):
    frame, folder = rows(), tmp_path / "made"
    folder.mkdir()
    whole = onnx.load_from_string(model())
    for tensor in whole.graph.initializer:
        onnx.external_data_helper.set_external_data(tensor, "weights.bin")
    onnx.save_model(whole, str(folder / "model.onnx"))
    told = folder / "bundle.json"
    told.write_text(json.dumps(bundle()))
    assert (folder / "weights.bin").is_file()
    found = open_predictor(folder / "model.onnx", told).chances(frame, "rows").failed
    assert found == pytest.approx(expected(frame), abs=1e-6)
    (folder / "weights.bin").unlink()
    with pytest.raises(InputError, match="no model"):
        open_predictor(folder / "model.onnx", told)


def test_a_model_that_is_none(tmp_path):
    assert "no model" in refused(tmp_path, b"not a model", bundle())
