"""A released model from elsewhere is taken as it is, or refused by what its bundle leaves open."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.placement_bundle import ALIASES, FOREIGN
from hpcopt_assets.placement.outputs import Output, Port, chance_of_failure
from hpcopt_assets.placement.predict import open_predictor
from hpcopt_assets_tests.placement.foreign import (
    BITS,
    COLUMNS,
    MEAN,
    SCALE,
    bundle,
    expected,
    model,
    refused,
    rows,
    said,
    write,
)

JOINED = {"inputs": ("x",)}
ORDER = {"input_order": ["scalars", "server_bitmap"]}


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
        ({}, {"vectors": None}, "bitmap"),
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
        ({}, {"categories": {"qos": {"a": 0}}}, "qos"),
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


def test_a_model_that_is_none(tmp_path):
    assert "no model" in refused(tmp_path, b"not a model", bundle())


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda f: f.drop("free_servers"), "no column free_servers"),
        (lambda f: f.drop("server_bitmap"), "no column server_bitmap"),
        (lambda f: f.with_columns(free_servers=pl.lit(None, pl.Int64)), "None in row 0"),
        (lambda f: f.with_columns(free_servers=pl.lit(float("nan"))), "nan in row 0"),
        (lambda f: f.with_columns(free_servers=pl.lit(float("inf"))), "inf in row 0"),
        (lambda f: f.with_columns(free_servers=pl.lit("7")), "type String"),
        (lambda f: f.with_columns(server_bitmap=pl.lit(1)), "a list of 4 numbers"),
        (lambda f: f.with_columns(pl.col("server_bitmap").arr.to_list().list.head(3)), "3 in row 0"),
        (
            lambda f: f.with_columns(server_bitmap=pl.Series([[0.0, 1.0, float("nan"), 0.0]] * f.height)),
            "NaN, null or infinity in row 0",
        ),
        (
            lambda f: f.with_columns(
                server_bitmap=pl.Series([[0, 1, 1, 0]] * 5 + [[0, 1, None, 0]], dtype=pl.Array(pl.UInt8, 4))
            ),
            "NaN, null or infinity in row 5",
        ),
    ],
)
def test_rows_that_do_not_fit_are_refused_before_any_is_scored(tmp_path, change, named):
    message = refused(tmp_path, model(), bundle(), change(rows()))
    assert named in message
    assert "needed" in message


# --- columns of words (an encoder in the bundle) ---

WORDS = {
    "scalar_columns": ["partition", "qos"],
    "scaler_mean": None,
    "scaler_scale": None,
    "categories": {"partition": {"a": 0, "b": 1}, "qos": {"high": 3}},
}


def words(**columns: object) -> pl.DataFrame:
    return rows(3).with_columns(
        **{name: pl.Series(values, dtype=pl.String) for name, values in columns.items()}
    )


def fed_as(tmp_path, frame, **told):
    paths = write(tmp_path, model(), bundle(**WORDS, **told), frame)
    from hpcopt_assets.placement.feeding import blocks_of

    return blocks_of(frame, open_predictor(*paths[:2]).layout, "rows")["scalars"].tolist()


def test_unseen_and_missing_words_have_codes_of_their_own(tmp_path):
    frame = words(partition=["b", "zzz", None], foo=["x", "y", "z"])
    codes = fed_as(tmp_path, frame, unknown_value=-1, missing_value=-2)
    assert codes == [[1, -2], [-1, -2], [-2, -2]]


def test_without_such_codes_they_are_refused_and_never_the_first_word(tmp_path):
    with pytest.raises(InputError, match="unknown_value"):
        fed_as(tmp_path, words(partition=["b", "zzz", "a"], qos=["high"] * 3))
    with pytest.raises(InputError, match="missing_value"):
        fed_as(tmp_path, words(partition=["b", "a", "a"]))
