"""What jobs occupy: processors, or whole nodes on machines that give only those.

In:  a `trace_jobs` frame and the machine's unit.   Out: the frame with sizes in that unit.
"""

from __future__ import annotations

from typing import TypeVar

import polars as pl

from hpcopt_assets.contracts.vocabulary import Unit

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
SIZES = ("procs", "requested_procs", "allocated_procs")


def in_unit(jobs: Frame, unit: Unit) -> Frame:
    """The jobs with their sizes in `unit`: under `nodes` each size is the job's nodes, null where unknown."""
    if unit is Unit.PROCS:
        return jobs
    return jobs.with_columns(pl.col("nodes").alias(size) for size in SIZES)
