"""Which of a model's numbers is P(failed): read from model and bundle together, never guessed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcopt_assets_tests.placement.foreign import bundle, expected, model, refused, rows, said

MAPS = {"width": 2, "output": "maps"}


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        ({"width": 2}, {"classes": ["ok", "bad"]}),
        ({"width": 2}, {"classes": ["pass", "fail"], "positive_class": "fail"}),
        ({"width": 2}, {"classes": ["pass", "fail"], "positive_class": 1}),
        ({"width": 2}, {"classes": [0, 1]}),
        ({"width": 2}, {"classes": [False, True]}),
        ({"width": 2}, {"classes": [0, 1], "positive_class": 1}),
        ({"width": 2}, {"labels": ["l1_failed"]}),  # the name of a column of labels
        ({}, {"classes": ["not failed", "failed"]}),
        ({}, {"classes": ["not failed", "failed"], "positive_class": 1}),
        ({}, {"classes": ["not failed", "failed"], "positive_class": "failed"}),
        ({}, {"positive_class": 1}),
        ({}, {"labels": ["l1_failed"]}),
        ({"output": "logits"}, {"classes": ["a", "b"], "positive_class": "b"}),
        (MAPS, {}),
        (MAPS, {"positive_class": 1}),
        (MAPS, {"classes": ["ok", "bad"]}),
        (MAPS, {"classes": ["a", "b"], "positive_class": "b"}),
        ({"name": "logits"}, {"output_kind": "probability"}),
        ({}, {"output_kind": "sigmoid"}),
        ({"output": "logits", "name": "score"}, {"output_kind": "Logits"}),
    ],
)
def test_the_class_that_means_failed_is_found(tmp_path, graph, told):
    frame = rows()
    assert said(tmp_path, model(**graph), bundle(**told), frame) == pytest.approx(expected(frame), abs=1e-6)


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        ({"width": 2}, {"classes": ["bad", "ok"]}),
        ({"width": 2}, {"classes": ["bad", "ok"], "positive_class": "bad"}),
        ({"width": 2}, {"positive_class": 0}),
        ({"width": 2}, {"classes": [1, 0]}),
        (MAPS, {"positive_class": 0}),
        (MAPS, {"classes": ["bad", "ok"]}),
    ],
)
def test_the_class_that_means_failed_may_stand_first(tmp_path, graph, told):
    frame = rows()
    found = said(tmp_path, model(**graph), bundle(**told), frame)
    assert found == pytest.approx(1 - expected(frame), abs=1e-6)


@pytest.mark.parametrize(
    ("graph", "told", "named"),
    [
        ({"width": 2}, {"classes": ["fail", "pass"]}, "no key positive_class"),
        ({"width": 2}, {"classes": ["ok", "none"]}, "no key positive_class"),
        ({"width": 2}, {"classes": ["blocked", "admitted"], "positive_class": "Blocked"}, "'Blocked'"),
        ({"width": 2}, {"classes": ["ok", "bad"], "positive_class": "failed"}, "ok, bad"),
        ({"width": 2}, {"positive_class": 2}, "positive_class 2"),
        ({"width": 2}, {"positive_class": True}, "positive_class True"),
        ({"width": 2}, {"classes": ["a", "b", "c"], "positive_class": "c"}, "2 columns"),
        ({"width": 2}, {"classes": [{}, 1]}, "a list of names"),
        ({"width": 2}, {"classes": ["a", "a"], "positive_class": "a"}, "a name twice"),
        ({}, {"classes": ["failed", "ok"]}, "one column"),
        ({}, {"positive_class": 0}, "one column"),
        (MAPS, {"classes": ["fail", "pass"]}, "no key positive_class"),
        (MAPS, {"classes": ["none", "a", "b"]}, "a map of 0, 1"),
        ({"name": "out", "output": "logits"}, {"output_kind": "score"}, "output_kind"),
        ({"output": "logits", "name": "score"}, {"activation": "sigmoid"}, "output_kind: logits"),
        ({"output": "logits", "name": "score"}, {"output_kind": "probability"}, "output_kind: logits"),
        ({"output": "logits", "name": "probability"}, {}, "output_kind: logits"),
        ({"name": "logits"}, {}, "output_kind: probability"),
        ({}, {"output_kind": "logits"}, "output_kind: probability"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(tmp_path, graph, told, named):
    assert named in refused(tmp_path, model(**graph), bundle(**told))


def ending_in(*nodes, dtype=np.float32, **constants) -> bytes:
    """A model of one input `x` of six numbers that ends in `out`."""
    graph = helper.make_graph(
        list(nodes),
        "ending",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array(values, dtype), name) for name, values in constants.items()],
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    return whole.SerializeToString()


ORDER = {"input_order": ["scalars", "server_bitmap"]}
W = [[0.1]] * 6


def test_a_sum_that_is_no_bias_tells_nothing(tmp_path):
    nodes = (
        helper.make_node("MatMul", ["x", "w"], ["z"]),
        helper.make_node("Sigmoid", ["z"], ["p"]),
        helper.make_node("Add", ["p", "small"], ["out"]),
    )
    assert "no key output_kind" in refused(tmp_path, ending_in(*nodes, w=W, small=[0.0]), bundle(**ORDER))


def test_a_chance_beyond_one_is_refused(tmp_path):
    nodes = (helper.make_node("ReduceSum", ["x", "one"], ["out"]),)
    told = bundle(**ORDER, output_kind="probability", scaler_mean=None, scaler_scale=None)
    onnx = ending_in(*nodes, one=[1], dtype=np.int64)
    assert "beyond 0 to 1" in refused(tmp_path, onnx, told)


@pytest.mark.parametrize(("axes", "found"), [([0], "1 rows of 6"), ([0, 1], "one number of 6")])
def test_an_answer_for_fewer_rows_than_were_fed_is_refused(tmp_path, axes, found):
    nodes = (
        helper.make_node("MatMul", ["x", "w"], ["z"]),
        helper.make_node("Sigmoid", ["z"], ["p"]),
        helper.make_node("ReduceMean", ["p"], ["out"], axes=axes, keepdims=int(axes == [0])),
    )
    told = bundle(**ORDER, output_kind="probability")
    assert found in refused(tmp_path, ending_in(*nodes, w=W), told)
