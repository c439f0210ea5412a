"""Where a model's outputs hold the chance of failure.

In:  what a bundle tells, what an ONNX model declares.   Out: `Output`; the chance from what the model said.
Not here: inputs (layout.py), which class means failed (classes.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.placement_words import PlacementCause
from hpcopt_assets.placement.bundles import NEXT_STEP, Told
from hpcopt_assets.placement.classes import PLAIN, Classes, read_classes

Array = npt.NDArray[Any]
PROBABILITY, LOGITS = "probability", "logits"
KINDS = {
    PROBABILITY: PROBABILITY,
    "proba": PROBABILITY,
    "probabilities": PROBABILITY,
    "sigmoid": PROBABILITY,
    "softmax": PROBABILITY,
    LOGITS: LOGITS,
}
# What output_kind may say.
MAKERS = {"Sigmoid": PROBABILITY, "Softmax": PROBABILITY, "Gemm": LOGITS}
# What an output is by the node that makes it; Gemm stands for every sum of products (predict.py).


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

    `kind`: probability or logits. `causes`: columns of `cause_port` by cause.
    """

    port: Port
    kind: str
    classes: Classes = PLAIN
    causes: tuple[PlacementCause, ...] = ()
    cause_port: str | None = None

    def misread(self, found: str, needed: str) -> InputError:
        """The error that the model said something else than its bundle has it."""
        return InputError(found, needed, f"output {self.port.name} of the model", NEXT_STEP)


def read_output(told: Told, ports: Sequence[Port]) -> Output:
    """Raises InputError where model and bundle leave open which output it is, or how it is to be read."""
    if told.own is not None:
        by_name = {port.name: port for port in ports}
        missing = [name for name in (told.own.output, told.own.cause_output) if name not in by_name]
        if missing:
            raise told.refuse(f"a model without the output {', '.join(missing)}", "the model of this bundle")
        return Output(
            by_name[told.own.output],
            PROBABILITY,
            causes=told.own.classes,
            cause_port=told.own.cause_output,
        )
    port = _chance_port(told, ports)
    is_map = "map" in port.kind
    kind = _kind(told, port) or (PROBABILITY if is_map else "")
    if not kind:
        raise told.refuse(
            f"output {port.name}, which may be probabilities or logits; no key output_kind",
            "output_kind: probability or logits",
        )
    return Output(port, kind, read_classes(told, None if is_map else port.width, f"output {port.name}"))


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


def _kind(told: Told, port: Port) -> str:
    """Probability or logits: what the bundle says, else the output's name, and the node that makes it.

    Empty where nothing tells; refused where two of them contradict each other.
    """
    said = told.keys.get("output_kind")
    if said is not None and (not isinstance(said, str) or said.lower() not in KINDS):
        raise told.refuse(f"output_kind: {said!r}", "output_kind: probability or logits")
    name, by_name = port.name.lower(), ""
    if "logit" in name:
        by_name = LOGITS
    elif "prob" in name or name.startswith("p_"):
        by_name = PROBABILITY
    told_as, by_node = by_name if said is None else KINDS[said.lower()], MAKERS.get(port.made_by, "")
    if told_as and by_node and told_as != by_node:
        what = f"named {port.name}" if said is None else f"of output_kind {said}"
        raise told.refuse(
            f"an output {what} whose last node makes {by_node} ({port.made_by})", f"output_kind: {by_node}"
        )
    return told_as or by_node


def chance_of_failure(said: Any, output: Output, rows: int) -> Array:
    """P(failed) of each row, float64."""
    if isinstance(said, list):  # a list of maps, as converters of scikit-learn make by default
        values = np.array([_of_map(row, output) for row in said], np.float64)
    else:
        values = np.asarray(said, np.float64)
    if values.ndim == 0 or len(values) != rows:
        found = "one number" if values.ndim == 0 else f"{len(values)} rows"
        raise output.misread(f"{found} of {rows} rows fed", "an answer for each row")
    values = values.reshape(rows, -1) if rows else np.empty((0, 1))
    classes, width = output.classes, values.shape[1]
    if width == 1 and classes.is_last_of_two:
        return _sigmoid(values[:, 0]) if output.kind == LOGITS else values[:, 0]
    if width != len(classes.names):
        raise output.misread(f"{width} columns", f"one for each of classes {', '.join(classes.names)}")
    if output.kind == LOGITS:
        values = np.exp(values - values.max(axis=1, keepdims=True))
        values /= values.sum(axis=1, keepdims=True)
    of_class = np.asarray(values[:, classes.at])
    return of_class if classes.means_failed else 1.0 - of_class


def _of_map(row: dict[Any, float], output: Output) -> list[float]:
    """A map's values in the order of the classes, whose names, or else places, are its keys."""
    names = output.classes.names
    numbers = [int(name) if name.isdecimal() else name for name in names]
    for keys in (names, numbers, range(len(names)), [str(place) for place in range(len(names))]):
        if set(keys) == set(row):
            return [row[key] for key in keys]
    raise output.misread(f"a map of {', '.join(map(str, row))}", f"the keys {', '.join(names)} (classes)")


def _sigmoid(values: Array) -> Array:
    return np.asarray(np.exp(-np.logaddexp(0.0, -values)))
