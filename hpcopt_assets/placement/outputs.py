"""Where a model's outputs hold the chance of failure.

In:  what a bundle tells, what an ONNX model declares.   Out: `Output`; the chance from what the model said.
Not here: inputs (layout.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.vocabulary import PlacementCause
from hpcopt_assets.placement.bundles import NEXT_STEP, Told

Array = npt.NDArray[Any]
FINE = {"none", "ok", "placed", "success", "not failed", "not_failed", "0"}
# Names of the class that means the job can be placed.
BINARY = 2


@dataclass(frozen=True)
class Port:
    """An input or output of a model: its name, its type in ONNX's words, its shape (None where it may vary).

    `made_by`: the operator of the node that makes an output.
    """

    name: str
    kind: str
    shape: tuple[int | None, ...]
    made_by: str = ""

    @property
    def width(self) -> int | None:
        """Numbers for each row, where they are told; a vector without columns has one."""
        return self.shape[1] if len(self.shape) > 1 else 1


@dataclass(frozen=True)
class Output:
    """Where the chance of failure is found.

    `kind`: probability or logits. `failed`: the column (or key) that means failed; None where the only
    column does. `fine`: the column of 1 - P(failed), which then counts. `causes`: columns by cause.
    """

    port: Port
    kind: str
    failed: int | str | None = None
    fine: int | None = None
    causes: tuple[PlacementCause, ...] = ()
    cause_port: str | None = None


def read_output(told: Told, ports: Sequence[Port]) -> Output:
    """Raises InputError where model and bundle leave open which output it is, or how it is to be read."""
    if told.own is not None:
        by_name = {port.name: port for port in ports}
        missing = [name for name in (told.own.output, told.own.cause_output) if name not in by_name]
        if missing:
            raise told.refuse(f"a model without the output {', '.join(missing)}", "the model of this bundle")
        return Output(
            by_name[told.own.output], "probability", causes=told.own.classes, cause_port=told.own.cause_output
        )
    port = _chance_port(told, ports)
    classes = told.words("classes") or []
    positive = told.keys.get("positive_class")
    if "map" in port.kind:
        return Output(port, "probability", failed=_key(positive, classes))
    width = port.width
    kind = told.keys.get("output_kind") or _kind(port)
    if kind in ("sigmoid", "softmax", "proba", "probabilities"):
        kind = "probability"
    if kind not in ("probability", "logits"):
        raise told.refuse(
            f"output {port.name}, which may be probabilities or logits; no key output_kind",
            "output_kind: probability or logits",
        )
    if width in (1, None) and not classes:
        return Output(port, str(kind))
    fine = [i for i, name in enumerate(classes) if name.lower() in FINE]
    if isinstance(positive, int) and not isinstance(positive, bool):
        failed: int | None = positive
    elif positive in classes:
        failed = classes.index(str(positive))
    elif width == BINARY:
        failed = 1 - fine[0] if len(fine) == 1 else 1
    else:
        failed = None
    if failed is None and (len(fine) != 1 or width != len(classes)):
        raise told.refuse(
            f"output {port.name} with {width} columns; no key classes of which one means placed",
            "classes or positive_class: which column means failed",
        )
    if failed is not None and not 0 <= failed < (width or BINARY):
        raise told.refuse(f"positive_class {failed}", f"a column of output {port.name}")
    return Output(port, str(kind), failed=failed, fine=None if failed is not None else fine[0])


def _chance_port(told: Told, ports: Sequence[Port]) -> Port:
    """The output that is no label: named by the bundle, or the only one."""
    named = told.keys.get("output")
    chances = [
        port
        for port in ports
        if (
            port.name == named
            if named
            else ("int64" not in port.kind and "string" not in port.kind) or "map" in port.kind
        )
    ]
    if len(chances) != 1:
        raise told.refuse(
            f"outputs {', '.join(f'{port.name} {port.kind}' for port in ports)}; output: {named!r}",
            "output: the name of the one that holds the chance of failure",
        )
    return chances[0]


def _kind(port: Port) -> str:
    """Probability or logits, from the output's name or the node that makes it; empty where neither tells."""
    name = port.name.lower()
    if "logit" in name:
        return "logits"
    if port.made_by in ("Sigmoid", "Softmax") or "prob" in name or name.startswith("p_"):
        return "probability"
    return "logits" if port.made_by in ("Gemm", "MatMul", "Add") else ""


def _key(positive: Any, classes: Sequence[str]) -> int | str:
    """The key of a list of maps that means failed."""
    if positive is not None:
        return positive if isinstance(positive, int) else str(positive)
    bad = [name for name in classes if name.lower() not in FINE]
    return bad[0] if len(bad) == 1 else 1


def chance_of_failure(said: Any, output: Output) -> Array:
    """P(failed) of each row, float64."""
    if isinstance(said, list):  # a list of maps, as converters of scikit-learn make by default
        key = output.failed
        keys = [key, str(key), int(str(key))] if str(key).isdigit() else [key]
        return np.array([_of_map(row, keys) for row in said], np.float64)
    values = np.asarray(said, np.float64)
    values = values.reshape(len(values), -1)
    failed = output.failed
    if failed is None and output.fine is None and values.shape[1] == BINARY:
        failed = 1  # two columns where the model did not say how many
    if failed is None and output.fine is None:
        return _sigmoid(values[:, 0]) if output.kind == "logits" else values[:, 0]
    if output.kind == "logits":
        values = np.exp(values - values.max(axis=1, keepdims=True))
        values /= values.sum(axis=1, keepdims=True)
    if output.fine is not None:
        return 1.0 - values[:, output.fine]
    return np.asarray(values[:, int(failed or 0)])


def _of_map(row: dict[Any, float], keys: list[Any]) -> float:
    for key in keys:
        if key in row:
            return row[key]
    raise InputError(
        f"a map of {', '.join(map(str, row))}", f"the key {keys[0]}", "the model's output", NEXT_STEP
    )


def _sigmoid(values: Array) -> Array:
    return np.asarray(np.exp(-np.logaddexp(0.0, -values)))
