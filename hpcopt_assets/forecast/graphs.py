"""Models as ONNX graphs: exported, served, and compared with what was fitted.

In:  a `Fitted` model; a graph's bytes and a matrix of inputs.   Out: bytes; sums of leaves; their difference.
Not here: how a sum becomes seconds (scales.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.forecast.fit import Fitted
from hpcopt_assets.forecast.jobs import Jobs, Matrix
from hpcopt_assets.forecast.scales import scale_of
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
from hpcopt_assets.measures.schedule import BoolArray, FloatArray

INPUT = "features"
OPSET = 15
MAX_PARITY_RATIO = 1e-4


@dataclass(frozen=True)
class Graph:
    """An ONNX model of one input, float32 of shape (jobs, features), and one output of shape (jobs, 1)."""

    model: bytes

    @cached_property
    def _session(self) -> Any:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1  # models are fitted side by side: a pool each would be in the way
        options.inter_op_num_threads = 1
        return ort.InferenceSession(self.model, options, providers=["CPUExecutionProvider"])

    def run(self, matrix: Matrix) -> FloatArray:
        """The sum of the leaves that each row falls into, shape (jobs,)."""
        if not matrix.shape[0]:
            return np.empty(0)
        (summed,) = self._session.run(None, {INPUT: np.ascontiguousarray(matrix)})
        return np.asarray(summed, dtype=np.float64).reshape(-1)


def to_onnx(fitted: Fitted) -> bytes:
    """The model as ONNX, which says itself what it reads; the same model gives the same bytes."""
    from onnx.helper import set_model_props
    from onnxmltools.convert import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType

    width = len(fitted.features)
    model = convert_lightgbm(
        fitted.booster,
        name="runtime_quantile",
        initial_types=[(INPUT, FloatTensorType([None, width]))],
        target_opset=OPSET,
        zipmap=False,
    )
    set_model_props(model, fitted.described)
    exported: bytes = model.SerializeToString(deterministic=True)
    return exported


def parity_ratio(fitted: Fitted, graph: Graph, jobs: Jobs, rows: BoolArray, where: str) -> float:
    """Largest relative difference of the two, in seconds as predicted for the jobs in `rows`.

    `EvidenceError` above `MAX_PARITY_RATIO`.
    """
    if not rows.any():
        return 0.0
    matrix = jobs.columns(fitted.features, rows)

    def seconds(summed: FloatArray) -> FloatArray:
        spread = np.zeros(len(jobs))
        spread[rows] = summed
        said = scale_of(fitted.quantile).seconds(jobs, spread)[rows]
        return np.clip(said, SHORTEST_ESTIMATE_S, jobs.limit_s[rows])

    expected = seconds(np.asarray(fitted.booster.predict(matrix, num_threads=1)))
    difference = np.abs(seconds(graph.run(matrix)) - expected) / expected
    largest = float(difference.max())
    if not largest <= MAX_PARITY_RATIO:
        raise EvidenceError(
            found=f"a prediction of {expected[int(difference.argmax())]:.6g} s differs by {largest:.3g}",
            needed=f"predictions by ONNX within {MAX_PARITY_RATIO:g} of LightGBM's",
            where=where,
            next_step="Report it with the versions of lightgbm, onnxmltools and onnxruntime; do not use it.",
        )
    return largest
