"""Rows to chances of failure, with any model and bundle that tell how.

In:  an ONNX model, its bundle, a frame.   Out: P(failed), and P(cause) where the model tells it.
Not here: how bundles are spelled (bundles.py), what is printed (command.py).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.placement_config import ClusterConfig
from hpcopt_assets.contracts.placement_words import PlacementCause
from hpcopt_assets.placement.bundles import NEXT_STEP, SCALARS, Told, read_bundle
from hpcopt_assets.placement.domains import refuse_rows_of_another_cluster, refuse_what_no_cluster_has
from hpcopt_assets.placement.feeding import blocks_of, scaled
from hpcopt_assets.placement.layout import Layout, read_layout
from hpcopt_assets.placement.outputs import Port, chance_of_failure
from hpcopt_assets.placement.session import BATCH_ROWS, open_session

Array = npt.NDArray[Any]
PASSING = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast")
# Operators that change no value.
CONSTANT = "Constant"


class Chances(NamedTuple):
    """P(failed) (rows), and P(cause) (rows, causes) where the model tells it."""

    failed: Array
    by_cause: Array | None
    causes: tuple[PlacementCause, ...]

    def likely(self) -> Array | None:
        """Code of each row's most likely cause should it fail; None where the model tells none."""
        if self.by_cause is None:
            return None
        if_failed = self.by_cause.copy()
        if_failed[:, self.causes.index(PlacementCause.NONE)] = -1.0
        codes = np.array([cause.code for cause in self.causes])
        return np.asarray(codes[np.argmax(if_failed, axis=1)])

    def of(self, some: Array) -> Chances:
        """Some of the rows."""
        by_cause = None if self.by_cause is None else self.by_cause[some]
        return Chances(self.failed[some], by_cause, self.causes)


@dataclass(frozen=True)
class Predictor:
    """A model with its layout, ready to score."""

    session: Any
    layout: Layout
    told: Told

    def chances(self, frame: pl.DataFrame, where: str, batch_rows: int = BATCH_ROWS) -> Chances:
        """Score all rows; every one is checked before any is scored."""
        blocks = blocks_of(frame, self.layout, where)
        if self.told.own is not None:
            refuse_rows_of_another_cluster(frame, self.told.own.cluster, where)
            refuse_what_no_cluster_has(blocks, self.told.own, where)
        return self.of_blocks(blocks, batch_rows)

    def of_blocks(self, blocks: dict[str, Array], batch_rows: int = BATCH_ROWS) -> Chances:
        """Score checked blocks."""
        output, rows = self.layout.output, len(blocks[SCALARS])
        wanted = [output.port.name] + ([output.cause_port] if output.cause_port else [])
        failed, by_cause = [np.empty(0)], []
        batch_rows = 1 if self.layout.is_one_row else batch_rows
        for lo in range(0, rows, batch_rows):
            some = {name: values[lo : lo + batch_rows] for name, values in blocks.items()}
            said = self._run(wanted, scaled(some, self.layout))
            failed.append(chance_of_failure(said[0], output, len(some[SCALARS])))
            by_cause += said[1:]
        chances = np.concatenate(failed)
        if not np.isfinite(chances).all() or (chances < 0).any() or (chances > 1).any():
            raise self.told.refuse(
                f"output {output.port.name} beyond 0 to 1 or NaN", "probabilities; or output_kind: logits"
            )
        return Chances(chances, np.concatenate(by_cause) if by_cause else None, output.causes)

    def _run(self, wanted: list[str], fed: dict[str, Array]) -> list[Any]:
        try:
            return list(self.session.run(wanted, fed))
        except Exception as error:  # onnxruntime's errors have no common base
            shapes = ", ".join(f"{name} {list(values.shape)}" for name, values in fed.items())
            raise self.told.refuse(
                f"inputs {shapes} on which the model fails ({' '.join(str(error).split())[:120]})",
                "a bundle and rows that the model takes",
            ) from error

    def is_fitted_on(self, data_sha256: str) -> bool:
        """Whether it is a model of ours, fitted on a part of these very snapshots."""
        own = self.told.own
        return own is not None and own.training_data_sha256 == data_sha256

    def check_cluster(self, cluster: ClusterConfig) -> None:
        """InputError where the model is one of ours and was made for another cluster."""
        own = self.told.own
        if own is not None and own.cluster != cluster:
            mine, theirs = cluster.model_dump(mode="json"), own.cluster.model_dump(mode="json")
            differ = ", ".join(
                f"{key} {theirs[key]} (not {mine[key]})" for key in mine if mine[key] != theirs[key]
            )
            raise self.told.refuse(f"a bundle for {differ}", "a bundle made for this cluster")


def open_predictor(onnx: Path, bundle: Path, threads: int = 2) -> Predictor:
    """Read a model and its bundle. InputError where either is none, or they disagree."""
    told = read_bundle(_text(bundle), str(bundle))
    model = onnx.read_bytes()
    said = told.keys.get("model_sha256")
    found = hashlib.sha256(model).hexdigest()
    if said is not None and said != found:
        raise told.refuse(
            f"a bundle of the model {str(said)[:12]}... and the model {found[:12]}...",
            "the model of this bundle",
        )
    return predictor_of(model, told, str(onnx), threads, str(onnx))


def predictor_of(
    model: bytes, told: Told, where: str, threads: int = 2, path: str | None = None
) -> Predictor:
    """The same, of bytes; weights beside the model are found if its path is given."""
    try:
        session = open_session(path or model, threads)
    except Exception as error:  # onnxruntime's errors have no common base
        raise InputError(
            f"no model ({' '.join(str(error).split())[:120]})", "an ONNX model", where, NEXT_STEP
        ) from error
    makers = _makers(model)
    layout = read_layout(
        told,
        [Port(item.name, item.type, _shape(item)) for item in session.get_inputs()],
        [
            Port(item.name, item.type, _shape(item), makers.get(item.name, ""))
            for item in session.get_outputs()
        ],
    )
    return Predictor(session, layout, told)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError("bytes that are no text", "a bundle.json", str(path), NEXT_STEP) from error


def _shape(item: Any) -> tuple[int | None, ...]:
    return tuple(size if isinstance(size, int) else None for size in item.shape or ())


def _makers(model: bytes) -> dict[str, str]:
    """Output -> operator of the node that makes it, for outputs that say nothing else of themselves.

    A sum of products, and of numbers that are in the graph, is called Gemm whatever adds it up: that a bias
    is added tells logits, that anything else is added tells nothing.
    """
    import onnx

    graph = onnx.load_from_string(model).graph
    made = dict.fromkeys((item.name for item in graph.initializer), CONSTANT)
    for node in graph.node:  # in the order of their making
        known = [made.get(name, "") for name in node.input]
        by = node.op_type
        if by in PASSING:
            by = known[0] if known else ""
        elif by == "MatMul" or (by == "Add" and "Gemm" in known and set(known) <= {"Gemm", CONSTANT}):
            by = "Gemm"
        made |= dict.fromkeys(node.output, by)
    return made
