"""A model from snapshots: scaled, derived, fitted, calibrated, and all of that in one ONNX graph.

In:  placement_snapshots, configs.   Out: `Trained`: model.onnx, its bundle, the trainer's own answer.
Not here: scores on rows that nothing was chosen by (score.py).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.placement_bundle import Bundle, Calibration, Vector
from hpcopt_assets.contracts.placement_config import PlacementConfig
from hpcopt_assets.contracts.placement_words import PlacementCause, SnapshotPart
from hpcopt_assets.placement.bundles import SCALARS
from hpcopt_assets.placement.calibration import calibrate, cheapest_threshold, softmax
from hpcopt_assets.placement.graph import DERIVED, FEATURES, OPSET, preprocessing
from hpcopt_assets.placement.session import BATCH_ROWS, open_session
from hpcopt_assets.placement.snapshots import SCALAR_COLUMNS, VECTOR_COLUMNS
from hpcopt_assets.placement.trees import RAW, fit_trees, raw_scores, trees_as_onnx

Array = npt.NDArray[Any]
P_FAILED, P_CAUSE = "p_failed", "p_cause"
PACKAGES = ("hpcopt-assets", "lightgbm", "numpy", "onnx", "onnxmltools", "onnxruntime")


ROWS_OF_A_PART = 10
# Fewer to stop by, or to calibrate on, say nothing.


class Trained(NamedTuple):
    """A model with its bundle; `booster` and `preprocess` answer without the exported graph."""

    onnx: bytes
    bundle: Bundle
    booster: Any
    preprocess: bytes

    def trainers_answer(self, blocks: dict[str, Array], threads: int) -> Array:
        """P(cause) (rows, causes) by LightGBM and numpy in float64."""
        raw = raw_scores(self.booster, features_of(self.preprocess, blocks, threads), threads)
        return softmax(raw, self.bundle.calibration.slope, np.array(self.bundle.calibration.intercepts))


def rows_min(config: PlacementConfig) -> int:
    """Fewest snapshots to train on: some in each part, and enough to fit that a tree can part them."""
    split = config.split
    later = 1.0 - split.fit_share - split.stop_share - split.calibrate_share
    least = min(split.stop_share, split.calibrate_share, later)
    of_all = max(2 * config.model.min_rows_per_leaf / split.fit_share, ROWS_OF_A_PART / least)
    return math.ceil(of_all - 1e-6)


def train(snapshots: pl.DataFrame, data_sha256: str, config: PlacementConfig) -> Trained:
    """Fit on the first part in time, stop on the second, calibrate and choose the threshold on the third."""
    if snapshots.height < rows_min(config):
        raise InputError(
            f"{snapshots.height} rows",
            f"at least {rows_min(config)} to fit, stop, calibrate and score by",
            "placement_snapshots",
            "Make more snapshots.",
        )
    blocks, codes = fed(snapshots), cause_codes(snapshots)
    part = snapshots["part"].to_numpy()
    fit, stop, third = (part == of for of in (SnapshotPart.FIT, SnapshotPart.STOP, SnapshotPart.CALIBRATE))
    mean, scale = scaling(blocks[SCALARS][fit])
    graph = preprocessing(config.cluster, SCALAR_COLUMNS, mean, scale)
    preprocess = graph.SerializeToString()
    threads = config.model.threads
    features = features_of(preprocess, blocks, threads)
    booster = fit_trees(
        (features[fit], codes[fit]), (features[stop], codes[stop]), config.model, config.generator.seed
    )
    raw = raw_scores(booster, features[third], threads)
    slope, intercepts = calibrate(raw, codes[third])
    failed = 1.0 - softmax(raw, slope, intercepts)[:, PlacementCause.NONE.code]
    threshold = cheapest_threshold(
        failed, codes[third] != PlacementCause.NONE.code, config.model.missed_failure_cost
    )
    model = _joined(graph, trees_as_onnx(booster, features.shape[1]), _calibrated(slope, intercepts))
    model_bytes = model.SerializeToString()
    bundle = Bundle(
        format="hpcopt-placement-1",
        scalar_columns=SCALAR_COLUMNS,
        scaler_mean=tuple(map(float, mean)),
        scaler_scale=tuple(map(float, scale)),
        scaling_in_graph=True,
        vectors=tuple(Vector(name=name, length=blocks[name].shape[1]) for name in VECTOR_COLUMNS),
        cluster=config.cluster,
        derived_features=DERIVED,
        classes=tuple(PlacementCause),
        output=P_FAILED,
        cause_output=P_CAUSE,
        output_kind="probability",
        calibration=Calibration(slope=slope, intercepts=tuple(map(float, intercepts))),
        threshold=threshold,
        label_column="l1_failed",
        training_data_sha256=data_sha256,
        training_seed=config.generator.seed,
        model_sha256=hashlib.sha256(model_bytes).hexdigest(),
        versions={name: metadata.version(name) for name in PACKAGES},
    )
    return Trained(model_bytes, bundle, booster, preprocess)


def fed(snapshots: pl.DataFrame) -> dict[str, Array]:
    """The blocks that a model is fed: `scalars`, float32, and the vectors in their stored types."""
    scalars = snapshots.select(pl.col(SCALAR_COLUMNS).cast(pl.Float32)).to_numpy()
    vectors = {name: snapshots[name].to_numpy() for name in VECTOR_COLUMNS}
    return {SCALARS: np.ascontiguousarray(scalars), **vectors}


def cause_codes(snapshots: pl.DataFrame) -> Array:
    """Code of each row's cause."""
    codes = {cause.value: cause.code for cause in PlacementCause}
    return snapshots["failure_cause"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()


def scaling(scalars: Array) -> tuple[Array, Array]:
    """StandardScaler: means and standard deviations (1 where a column is constant), as float32."""
    deviation = scalars.std(axis=0, dtype=np.float64)
    return (
        scalars.mean(axis=0, dtype=np.float64).astype(np.float32),
        np.where(deviation > 0, deviation, 1.0).astype(np.float32),
    )


def batches(rows: int, size: int = BATCH_ROWS) -> Iterator[slice]:
    """Consecutive slices."""
    return (slice(lo, min(lo + size, rows)) for lo in range(0, rows, size))


def features_of(preprocess: bytes, blocks: dict[str, Array], threads: int) -> Array:
    """What the trees see, as onnxruntime computes it."""
    session = open_session(preprocess, threads)
    parts = [
        session.run([FEATURES], {name: values[some].astype(np.float32) for name, values in blocks.items()})[0]
        for some in batches(len(blocks[SCALARS]))
    ]
    return np.concatenate(parts)


def _calibrated(slope: float, intercepts: Array) -> Any:
    """ONNX model from raw scores to P(cause) and P(failed) = 1 - P(none)."""
    from onnx import helper, numpy_helper

    constants: dict[str, Array] = {
        "slope": np.array(slope, np.float32),
        "intercepts": intercepts.astype(np.float32)[None, :],
        "one": np.array(1, np.float32),
        "none": np.array([PlacementCause.NONE.code], np.int64),
        "behind_none": np.array([PlacementCause.NONE.code + 1], np.int64),
        "axis": np.array([1], np.int64),
    }
    nodes = [
        helper.make_node("Mul", ["scores", "slope"], ["sloped"]),
        helper.make_node("Add", ["sloped", "intercepts"], ["shifted"]),
        helper.make_node("Softmax", ["shifted"], [P_CAUSE], axis=1),
        helper.make_node("Slice", [P_CAUSE, "none", "behind_none", "axis"], ["p_none"]),
        helper.make_node("Sub", ["one", "p_none"], [P_FAILED]),
    ]
    width = len(PlacementCause)
    graph = helper.make_graph(
        nodes,
        "calibration",
        [helper.make_tensor_value_info("scores", 1, ["n", width])],
        [
            helper.make_tensor_value_info(P_FAILED, 1, ["n", 1]),
            helper.make_tensor_value_info(P_CAUSE, 1, ["n", width]),
        ],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


def _joined(preprocess: Any, trees: Any, calibration: Any) -> Any:
    """The three graphs as one."""
    import onnx
    from onnx import compose

    for model in (preprocess, trees, calibration):
        model.ir_version = trees.ir_version
    front = compose.merge_models(preprocess, trees, io_map=[(FEATURES, "tree_features")], outputs=[RAW])
    whole = compose.merge_models(front, calibration, io_map=[(RAW, "scores")])
    onnx.checker.check_model(whole)
    return whole
