"""Ranges of array tasks that waited when a dump was made: which of the tasks have rows of their own since.

In:  ranges and jobs, each with the `era` of its number (whose.py).   Out: the ranges with how many are left.
Not here: what stands between the brackets (values.py).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.vocabulary import JobState
from hpcopt_assets.ingest.slurm.values import array_range, state

TASK = r"_(\d+)$"


def with_left(ranges: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """Adds `left`: the tasks of which no job tells; null where the range is cut, so that nobody knows."""
    tasks = (
        jobs.filter(pl.col("era").is_in(ranges["era"].drop_nulls().unique().implode()))
        .select("era", task=pl.col("base_id").str.extract(TASK).cast(pl.Int64, strict=False))
        .drop_nulls()
        .unique()
        .sort("task")
        .group_by("era", maintain_order=True)
        .agg("task")
    )
    known = {era: np.asarray(found, dtype=np.int64) for era, found in tasks.iter_rows()}
    nothing = np.empty(0, dtype=np.int64)
    left = [_left(text, known.get(era, nothing)) for text, era in ranges.select("range", "era").iter_rows()]
    return ranges.with_columns(pl.Series("left", left, dtype=pl.Int64))


def _left(text: str, known: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int | None:
    found = array_range(text)
    if found.pieces is None:
        return None
    left = 0
    for piece in found.pieces:
        here = known[np.searchsorted(known, piece.start) : np.searchsorted(known, piece.stop)]
        left += len(piece) - int(((here - piece.start) % piece.step == 0).sum())
    return left


def reason(root: str, text: str, told_state: str | None, left: int | None) -> str:
    """Why a range is refused."""
    found = array_range(text)
    at_once = f", at most {found.throttle} at once" if found.throttle else ""
    tasks = "some tasks" if found.tasks is None or left is None else plural(found.tasks, "task")
    if left is not None and left != found.tasks:
        tasks = f"{left:,} of {tasks}"
    return (
        f"{tasks} of array {root}{at_once}, state {told_state}; a line for each task needed, which Slurm "
        "writes once the task starts"
    )


def cancelled_tasks(ranges: pl.DataFrame) -> int:
    """How many tasks were cancelled before they had rows of their own; a range told twice counts once."""
    is_cancelled = [state(text or "").state is JobState.CANCELLED for text in ranges["state"]]
    once = ranges.filter(pl.Series(is_cancelled, dtype=pl.Boolean))
    return int(once.unique(["cluster", "era", "base_id"])["left"].sum())
