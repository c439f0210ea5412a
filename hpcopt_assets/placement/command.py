"""The command `predict`, with the flags and the output of the script published with the original data set.

In:  paths of a model, a bundle and rows.   Out: one line a row; with labels, a line of metrics.
Not here: the terminal (cli/placement.py) and `python -m` (__main__.py), both of which print these lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.placement_words import PlacementCause
from hpcopt_assets.measures.classification import accuracy, counts, f1, precision, recall
from hpcopt_assets.measures.schedule import BoolArray
from hpcopt_assets.placement.categories import at_first, unfit
from hpcopt_assets.placement.explain import what_moved
from hpcopt_assets.placement.feeding import blocks_of
from hpcopt_assets.placement.predict import Chances, open_predictor

ROWS = 1000


@dataclass(frozen=True)
class Asked:
    """What the command was asked for. `n`: rows to load, 0 for all. `threshold`: the bundle's if None."""

    onnx: Path
    bundle: Path
    parquet: Path
    n: int = ROWS
    label_col: str | None = None
    threshold: float | None = None
    explain: bool = False


def predict_lines(asked: Asked) -> Iterator[str]:
    """Lines without their ends; InputError before the first where anything does not fit."""
    if asked.n < 0:
        raise InputError(f"--n {asked.n}", "a number of rows, or 0 for all", "the command", "Change --n.")
    if asked.threshold is not None and not 0 <= asked.threshold <= 1:
        raise InputError(
            f"--threshold {asked.threshold}", "a number from 0 to 1", "the command", "Change it."
        )
    for path in (asked.onnx, asked.bundle, asked.parquet):
        if not path.is_file():
            raise InputError("no such file", "a model, its bundle and rows", str(path), "Check the path.")
    predictor = open_predictor(asked.onnx, asked.bundle)
    frame = _rows(asked)
    truth = None if asked.label_col is None else _labels(frame, asked.label_col, str(asked.parquet))
    chances = predictor.chances(frame, str(asked.parquet))
    threshold = predictor.layout.threshold if asked.threshold is None else asked.threshold
    said = chances.failed >= threshold
    more = [""] * frame.height
    if asked.explain:
        blocks = blocks_of(frame, predictor.layout, str(asked.parquet))
        moved = what_moved(predictor, blocks, chances.failed)
        causes = likely_causes(chances)
        more = [
            (f" cause={cause}" if cause else "")
            + " moved_by="
            + ",".join(f"{name}:{change:+.3f}" for name, change in some)
            for cause, some in zip(causes, moved, strict=True)
        ]
    for row, (failed, chance) in enumerate(zip(said, chances.failed, strict=True)):
        yield f"{row} {'failed' if failed else 'not failed'} proba={chance:.6f}{more[row]}"
    if truth is not None:
        found = counts(truth, said)
        named = {"accuracy": accuracy, "precision": precision, "recall": recall, "f1": f1}
        # As the published script has it, a ratio with nothing below it is 0.
        shown = (f"{name}={np.nan_to_num(measure(found)):.6f}" for name, measure in named.items())
        yield f"Metrics on loaded rows: {' '.join(shown)}"


def likely_causes(chances: Chances) -> list[str | None]:
    """For each row the most likely cause should it fail; None where the model tells none."""
    likely = chances.likely()
    words = PlacementCause.words()
    return [None] * chances.failed.size if likely is None else [words[code] for code in likely]


def _rows(asked: Asked) -> pl.DataFrame:
    try:
        rows = pl.read_parquet(asked.parquet, n_rows=asked.n or None, glob=False, hive_partitioning=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"no parquet ({' '.join(str(error).split())[:120]})",
            "a parquet file of rows",
            str(asked.parquet),
            "Name another file.",
        ) from error
    if rows.is_empty():
        raise InputError("no rows", "at least one row", str(asked.parquet), "Name another file.")
    return rows


def _labels(frame: pl.DataFrame, name: str, where: str) -> BoolArray:
    if name not in frame.columns:
        raise InputError(f"no column {name}", "the column of labels", where, "Change --label_col.")
    column = frame[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise unfit(column, "true and false, or 1 and 0", where, f"type {column.dtype}")
    labels = column.cast(pl.Float64)
    is_label = ((labels == 0) | (labels == 1)).fill_null(False)
    if not is_label.all():
        raise unfit(column, "true and false, or 1 and 0", where, at_first(column, ~is_label))
    return (labels == 1).to_numpy()
