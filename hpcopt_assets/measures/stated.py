"""What an ingest report states of a trace's machine, as whoever replays or measures the trace needs it.

In:  the one-row table ingest_report, trace_jobs.   Out: `Capacity`, jobs in its unit.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.errors import ConfigError
from hpcopt_assets.contracts.vocabulary import Unit
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.units import in_unit


def capacity_of(ingest_report: pl.DataFrame) -> Capacity:
    """The trace's machine, with its dated steps; ConfigError where nothing tells its size."""
    capacity = ingest_report["capacity_procs"].item()
    if capacity is None:
        trace_id = ingest_report["trace_id"].item()
        raise ConfigError(
            found="neither MaxProcs in the header nor a recorded start",
            needed="the number of processors",
            where=f"trace {trace_id}",
            next_step=f"State capacity_procs for {trace_id} in configs/traces.yaml (reload a running UI).",
        )
    names = ("capacity_step_at_s", "capacity_step_procs")
    steps = ingest_report.select(names).explode(names).drop_nulls()
    return Capacity(int(capacity), tuple(steps.iter_rows()))


def sized_jobs(trace_jobs: pl.DataFrame, ingest_report: pl.DataFrame) -> pl.DataFrame:
    """The jobs with their sizes in the unit of the machine's capacity."""
    return in_unit(trace_jobs, Unit(ingest_report["capacity_unit"].item()))


def is_synthetic(ingest_report: pl.DataFrame) -> bool:
    """Whether no machine stood behind the trace."""
    return bool(ingest_report["is_synthetic"].item())
