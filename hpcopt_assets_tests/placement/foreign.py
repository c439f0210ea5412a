"""Models and bundles of another maker, node by node: as an export of a network with its scaler beside it.

In:  what the model is like.   Out: bytes of an ONNX model, a bundle as a mapping, what it should say.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.placement.predict import open_predictor

ORDER = {"input_order": ["scalars", "server_bitmap"]}
COLUMNS = ["free_servers", "requested_servers"]
MEAN, SCALE = [10.0, 5.0], [4.0, 2.0]
BITS = 4
WEIGHTS = {"scalars": np.array([[-0.5], [0.9]]), "server_bitmap": np.array([[0.1], [-0.2], [0.3], [0.4]])}
BIAS = 0.25


def rows(count: int = 6) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    return pl.DataFrame(
        {
            "note": ["of no use to the model"] * count,
            "requested_servers": rng.integers(1, 12, count),
            "server_bitmap": pl.Series(rng.integers(0, 2, (count, BITS)).astype(np.uint8)),
            "free_servers": rng.integers(0, 20, count),
            "l1_failed": rng.random(count) < 0.5,
        }
    )


def expected(frame: pl.DataFrame) -> np.ndarray:
    """P(failed) by plain arithmetic."""
    scalars = (frame.select(COLUMNS).to_numpy() - MEAN) / SCALE
    logit = scalars @ WEIGHTS["scalars"] + frame["server_bitmap"].to_numpy() @ WEIGHTS["server_bitmap"] + BIAS
    return (1 / (1 + np.exp(-logit)))[:, 0]


def model(
    *,
    inputs=("x_scalar", "bitmap"),
    output="probability",
    width=1,
    name=None,
    dtype=np.float32,
    batch="n",
    widths=None,
    is_in_order=False,
) -> bytes:
    """A logistic regression; one input joins scalars and bits. `output`: probability, logits, maps ...

    `inputs` stand in the graph in their order, what they are told by their names unless `is_in_order`;
    `widths`: what is declared instead of the true ones.
    """
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes, constants = [], {"bias": np.array([[BIAS]])}
    if len(inputs) == 1:
        constants["w"] = np.concatenate([WEIGHTS["scalars"], WEIGHTS["server_bitmap"]])
        true_widths = [6]
        nodes.append(helper.make_node("MatMul", [inputs[0], "w"], ["sum"]))
    else:
        some = [WEIGHTS["server_bitmap" if "bitmap" in x.lower() else "scalars"] for x in inputs]
        if is_in_order or len({x.shape for x in some}) == 1:
            some = list(WEIGHTS.values())
        constants |= {"w0": some[0], "w1": some[1]}
        true_widths = [len(x) for x in some]
        nodes += [helper.make_node("MatMul", [x, f"w{i}"], [f"part{i}"]) for i, x in enumerate(inputs)]
        nodes.append(helper.make_node("Add", ["part0", "part1"], ["sum"]))
    nodes.append(helper.make_node("Add", ["sum", "bias"], ["z"]))
    last = "z"
    if width == 2:
        constants["zero"] = np.array([[0.0]])
        nodes += [
            helper.make_node("Mul", ["z", "zero"], ["z0"]),
            helper.make_node("Concat", ["z0", "z"], ["zz"], axis=1),
        ]
        last = "zz"
    out = name or ("logits" if output == "logits" else "score")
    if output == "logits":
        nodes.append(helper.make_node("Identity", [last], [out]))
    else:
        nodes.append(helper.make_node("Softmax" if width == 2 else "Sigmoid", [last], [out]))
    outputs = [helper.make_tensor_value_info(out, kind, [batch, width])]
    opsets = [helper.make_opsetid("", 15)]
    if output == "labelled":
        nodes.append(helper.make_node("ArgMax", [out], ["label"], axis=1, keepdims=0))
        outputs.insert(0, helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]))
    if output == "maps":
        nodes.append(
            helper.make_node("ZipMap", [out], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[0, 1])
        )
        map_type = helper.make_map_type_proto(
            TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
        )
        outputs = [helper.make_value_info("maps", helper.make_sequence_type_proto(map_type))]
        opsets.append(helper.make_opsetid("ai.onnx.ml", 1))
    graph = helper.make_graph(
        nodes,
        "foreign",
        [
            helper.make_tensor_value_info(x, kind, [batch, w])
            for x, w in zip(inputs, widths or true_widths, strict=True)
        ],
        outputs,
        [numpy_helper.from_array(values.astype(dtype), key) for key, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def bundle(**changes: object) -> dict[str, object]:
    """A bundle in our spelling; a change to None takes a key out."""
    whole = {
        "scalar_columns": COLUMNS,
        "scaler_mean": MEAN,
        "scaler_scale": SCALE,
        "vectors": {"server_bitmap": BITS},
    } | changes
    return {key: value for key, value in whole.items() if value is not None}


def write(folder: Path, onnx: bytes, told: object, frame: pl.DataFrame) -> tuple[Path, Path, Path]:
    """The three files of a call."""
    paths = folder / "model.onnx", folder / "bundle.json", folder / "rows.parquet"
    paths[0].write_bytes(onnx)
    paths[1].write_text(told if isinstance(told, str) else json.dumps(told))
    frame.write_parquet(paths[2])
    return paths


def said(folder: Path, onnx: bytes, told: object, frame: pl.DataFrame) -> np.ndarray:
    """P(failed) by a model and its bundle."""
    return open_predictor(*write(folder, onnx, told, frame)[:2]).chances(frame, "rows").failed


def refused(folder: Path, onnx: bytes, told: object, frame: pl.DataFrame | None = None) -> str:
    """Why they are refused."""
    with pytest.raises(InputError) as caught:
        said(folder, onnx, told, rows() if frame is None else frame)
    return str(caught.value)
