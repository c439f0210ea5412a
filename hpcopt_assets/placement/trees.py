"""Trees that float32 carries exactly: LightGBM fitted on what the graph computes, rounded, as ONNX nodes.

In:  features (float32), codes of causes.   Out: a booster, its raw scores, the same trees as an ONNX model.
Not here: preprocessing (graph.py), calibration (train.py).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcopt_assets.contracts.placement_config import ModelConfig
from hpcopt_assets.contracts.placement_words import PlacementCause
from hpcopt_assets.placement.graph import OPSET

Array = npt.NDArray[Any]
CLASSES = len(PlacementCause)
LEAF_STEP = 2.0**-14
# Leaves are multiples of it. A float32 holds such multiples exactly up to 1024, so that sums of them are the
# same in any order, on any number of threads, in float32 as in LightGBM's float64.
RAW = "raw"


def fit_trees(fit: tuple[Array, Array], stop: tuple[Array, Array], config: ModelConfig, seed: int) -> Any:
    """A multiclass booster on (features, codes); trees are added until the loss on `stop` no longer falls."""
    import lightgbm as lgb

    data = lgb.Dataset(fit[0], fit[1])
    booster = lgb.train(
        {
            "objective": "multiclass",
            "num_class": CLASSES,
            "learning_rate": config.learning_rate,
            "num_leaves": config.leaves,
            "min_data_in_leaf": config.min_rows_per_leaf,
            "num_threads": config.threads,
            "seed": seed,
            "deterministic": True,
            "force_col_wise": True,
            "use_missing": False,  # nothing is missing: NaN is refused before
            "verbose": -1,
        },
        data,
        config.trees_max,
        valid_sets=[lgb.Dataset(stop[0], stop[1], reference=data)],
        callbacks=[lgb.early_stopping(config.stop_after, verbose=False)],
    )
    return rounded(booster)


def rounded(booster: Any) -> Any:
    """The booster up to its best iteration, with leaves in steps and thresholds that are float32.

    A threshold is rounded down: for every float32 x, x <= t exactly where x <= the largest float32 below t.
    """
    import lightgbm as lgb

    def thresholds(line: re.Match[str]) -> str:
        return line[1] + " ".join(repr(float(float32_at_most(float(value)))) for value in line[2].split())

    def leaves(line: re.Match[str]) -> str:
        return line[1] + " ".join(
            repr(round(float(value) / LEAF_STEP) * LEAF_STEP) for value in line[2].split()
        )

    text = booster.model_to_string(num_iteration=booster.best_iteration)
    text = re.sub(r"^(threshold=)(.+)$", thresholds, text, flags=re.MULTILINE)
    text = re.sub(r"^(leaf_value=)(.+)$", leaves, text, flags=re.MULTILINE)
    # The sizes of trees in bytes, which the text states for parallel reading, are no longer true.
    text = re.sub(r"^tree_sizes=.*\n", "", text, flags=re.MULTILINE)
    return lgb.Booster(model_str=text)


def raw_scores(booster: Any, features: Array, threads: int) -> Array:
    """Sums of leaves (rows, classes), float64."""
    return np.asarray(booster.predict(features, raw_score=True, num_threads=threads))


def trees_as_onnx(booster: Any, width: int) -> Any:
    """ONNX model from `tree_features` (n, width) to `raw` (n, classes): sums of leaves, without a softmax."""
    import onnxmltools
    from onnx import helper
    from onnxmltools.convert.common.data_types import FloatTensorType

    model = onnxmltools.convert_lightgbm(
        booster,
        initial_types=[("tree_features", FloatTensorType([None, width]))],
        zipmap=False,
        target_opset=OPSET,
    )
    (trees,) = [node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier"]
    for attribute in trees.attribute:
        if attribute.name == "post_transform":
            attribute.s = b"NONE"
    graph = helper.make_graph(
        [helper.make_node(trees.op_type, ["tree_features"], ["tree_label", RAW], domain=trees.domain)],
        "trees",
        list(model.graph.input),
        [helper.make_tensor_value_info(RAW, 1, ["n", CLASSES])],
    )
    graph.node[0].attribute.extend(trees.attribute)
    # The converter states an older set of the common operators, of which its trees use none.
    ours = [opset for opset in model.opset_import if opset.domain] + [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=ours, ir_version=model.ir_version)


def float32_at_most(value: float) -> np.float32:
    """The largest float32 that is no larger."""
    nearest = np.float32(value)
    return nearest if float(nearest) <= value else np.nextafter(nearest, np.float32(-np.inf))
