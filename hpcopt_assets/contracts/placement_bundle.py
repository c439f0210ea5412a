"""What stands in a model's bundle.json, ours or another's: the only authority on what the model is fed.

In:  nothing.   Out: `Bundle`, how other bundles may spell its keys, and the JSON Schema of both.
Not here: reading a bundle against a model (placement/layout.py).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from hpcopt_assets.contracts.frozen import Frozen, Ratio, Words
from hpcopt_assets.contracts.placement_config import ClusterConfig
from hpcopt_assets.contracts.placement_words import PlacementCause

FORMAT = "hpcopt-placement-1"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Vector(Frozen):
    """A column of lists that goes to a model's input of the same name."""

    name: Words
    length: PositiveInt


class Calibration(Frozen):
    """P(cause) = softmax(slope * raw + intercepts), where raw are the sums of the trees' leaves."""

    slope: float
    intercepts: tuple[float, ...]


class Bundle(Frozen):
    """A bundle of ours. The model's inputs are `scalars` and the vectors, each by its own name."""

    format: Literal["hpcopt-placement-1"]
    scalar_columns: Annotated[tuple[Words, ...], Field(min_length=1)]
    # In the order of the input `scalars`.
    scaler_mean: tuple[float, ...]
    scaler_scale: tuple[float, ...]
    scaling_in_graph: Literal[True]
    vectors: tuple[Vector, ...]
    cluster: ClusterConfig
    # Whose allocation and first ring order the derived features assume.
    derived_features: tuple[Words, ...]
    classes: tuple[PlacementCause, ...]
    output: Words
    # P(failed), shape (n, 1) ...
    cause_output: Words
    # ... and P(cause), shape (n, classes).
    output_kind: Literal["probability"]
    calibration: Calibration
    threshold: Ratio
    # A row is predicted to fail where the unrounded P(failed) >= threshold.
    label_column: Words
    training_data_sha256: Sha256
    training_seed: NonNegativeInt
    # Of the simulation that the training data come from.
    model_sha256: Sha256
    versions: dict[str, str]

    @model_validator(mode="after")
    def _lengths_agree(self) -> Self:
        columns = len(self.scalar_columns)
        if len(self.scaler_mean) != columns or len(self.scaler_scale) != columns:
            raise ValueError(
                f"{columns} scalar_columns, {len(self.scaler_mean)} of scaler_mean, "
                f"{len(self.scaler_scale)} of scaler_scale"
            )
        if len(set(self.scalar_columns)) < columns:
            raise ValueError("a scalar column stands twice")
        return self


ALIASES: dict[str, tuple[str, ...]] = {
    "scalar_columns": (
        *("scalar_cols", "scalar_features", "scalar_names", "scalars", "numeric_columns", "numeric_cols"),
        *("feature_columns", "feature_cols", "feature_names", "features", "columns", "cols"),
    ),
    "scaler_mean": (
        *("scalar_mean", "scalar_means", "scaler_means", "mean", "means", "mean_", "x_mean", "mu"),
        *("scaler.mean", "scaler.mean_", "scaler.means", "standard_scaler.mean", "standard_scaler.mean_"),
    ),
    "scaler_scale": (
        *(
            "scalar_scale",
            "scalar_std",
            "scaler_std",
            "scaler_stds",
            "scale",
            "scale_",
            "std",
            "stds",
            "x_std",
        ),
        *("sigma", "scaler.scale", "scaler.scale_", "scaler.std", "standard_scaler.scale_"),
    ),
    "vectors": (
        "vector_columns",
        "vector_cols",
        "vector_features",
        "vector_lengths",
        "vector_dims",
        "arrays",
    ),
    "input_order": ("concat_order", "feature_order", "block_order", "layout", "order"),
    "inputs": ("input_names", "input_map", "onnx_inputs"),
    "output": ("output_name", "onnx_output"),
    "output_kind": ("output_type", "output_activation", "activation"),
    "classes": ("class_names", "labels", "class_labels"),
    "positive_class": ("positive_label", "failed_class", "pos_label"),
    "threshold": ("decision_threshold", "best_threshold", "cutoff"),
    "categories": ("category_maps", "categorical_maps", "label_encoders", "encoders"),
    "unknown_value": ("unknown", "unseen_value", "encoders_unknown"),
    "missing_value": ("missing", "encoded_missing_value", "null_value"),
    "scaling_in_graph": ("scaler_in_graph", "normalization_in_graph"),
    "model_sha256": ("onnx_sha256", "model_hash"),
}
# Key -> other spellings in a bundle of another maker; a dot goes into an object. Other keys are ignored.

FOREIGN: dict[str, str] = {
    "scalar_columns": "columns of numbers, in the order in which the model wants them; needed",
    "scaler_mean": "StandardScaler: subtracted, for the scalars alone or for all that is fed",
    "scaler_scale": "StandardScaler: divided by, as many as scaler_mean",
    "vectors": "columns of lists: names with lengths (object, or list of {name, length}), or "
    "names alone, the lengths under <name>_length, _len, _dim or _size or told by the model",
    "input_order": "how scalars (`scalars`) and vectors (by name) are joined where the model has one input; "
    "needed there if there are vectors, and with several inputs where a scaler speaks of all",
    "inputs": "input of the model -> `scalars`, a vector's name, or a list of them that are joined; not "
    "needed where the inputs' names are among `names`",
    "output": "which output is meant, where the model has several that are no labels",
    "output_kind": "`probability` (also sigmoid, softmax) or `logits`; needed where neither the output's "
    "name nor the node that makes it tells, or they contradict each other",
    "classes": "names of the output's columns, or of a map's values; one named none, ok, placed, success, "
    "not failed, 0 or false means placed; two if there is one column, which is the chance of the second; a "
    "single name is that of a column of labels and says nothing",
    "positive_class": "name, else place, of the class that means failed; needed unless one class is known "
    "to mean placed; 1 if there are no names and two columns",
    "threshold": "0.5 if absent",
    "categories": "column -> {value: code} for columns of words among scalar_columns; numbers in such a "
    "column are compared as numbers, truth values as true and false or 1 and 0",
    "unknown_value": "code of a word that `categories` lacks; without it such a word is refused",
    "missing_value": "code of a null, a NaN or an absent column of words; without it such a row is refused",
    "scaling_in_graph": "true where the model scales by itself or is fed numbers as they are; scaler_* are "
    "then for information",
    "model_sha256": "SHA-256 of the model's file; another file is refused",
}


INPUT_NAMES: dict[str, tuple[str, ...]] = {
    "scalars": ("scalar", "numeric", "num", "features", "scalar_features", "x_scalar", "x_scalars", "x_num"),
    "server_bitmap": ("bitmap", "servers", "x_bitmap", "x_server_bitmap", "server_bits"),
    "leaf_utilization": ("leaf", "leaves", "leaf_util", "x_leaf", "x_leaf_utilization", "utilization"),
    "budget_remaining": ("budget", "x_budget", "x_budget_remaining"),
}
# What is fed -> names of a model's inputs, in any case of letters, that say without `inputs` what they want.


def bundle_json_schema() -> dict[str, Any]:
    """JSON Schema of our bundles; under x-foreign, what is read of others and in which spellings."""
    foreign: dict[str, dict[str, Any]] = {
        key: {"means": means, "aliases": list(ALIASES.get(key, ()))} for key, means in FOREIGN.items()
    }
    foreign["inputs"]["names"] = {block: list(names) for block, names in INPUT_NAMES.items()}
    return Bundle.model_json_schema() | {"x-foreign": foreign}
