"""ONNX nodes written as calls.

In:  operators, names of tensors, numbers.   Out: nodes and constants, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class Nodes:
    """Nodes in the order they are made; each call returns the name of its output.

    `places` names the constant 0, 1 ... count - 1 of shape (1, count).
    """

    def __init__(self, count: int) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.places = self.constant(np.arange(count)[None, :])

    def constant(self, values: npt.ArrayLike, dtype: type = np.float32) -> str:
        """A named constant."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.asarray(values, dtype), name)
        return name

    def __call__(
        self, op: str, *inputs: str | float | Sequence[int], outputs: int = 1, **attributes: Any
    ) -> Any:
        """Append a node. Numbers are float constants, sequences of them int64 ones (shapes and axes)."""
        from onnx import helper

        named = [
            item
            if isinstance(item, str)
            else self.constant(item)
            if isinstance(item, int | float)
            else self.constant(item, np.int64)
            for item in inputs
        ]
        out = [f"{op}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, named, out, **attributes))
        return out[0] if outputs == 1 else out

    def number(self, truth: str) -> str:
        """0 or 1."""
        from onnx import TensorProto

        return str(self("Cast", truth, to=TensorProto.FLOAT))

    def index(self, *digits: str, base: int) -> str:
        """A flat index from digits, the first the most significant."""
        from onnx import TensorProto

        flat = digits[0]
        for digit in digits[1:]:
            flat = self("Add", self("Mul", flat, float(base)), digit)
        return str(self("Cast", flat, to=TensorProto.INT64))
