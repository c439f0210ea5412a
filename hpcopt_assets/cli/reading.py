"""A trace named on the command line: its jobs, and the machine they ran on.

In:  a path, what the command line states of it.   Out: `Ingested`; jobs with a `Capacity`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.frozen import SAFE_ID
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.contracts.vocabulary import CapacitySource, Unit
from hpcopt_assets.orchestration.terminal import complain

if TYPE_CHECKING:
    import polars as pl

    from hpcopt_assets.ingest.reader import Ingested
    from hpcopt_assets.measures.capacity import Capacity
    from hpcopt_assets.orchestration.configs import Configs
    from hpcopt_assets.orchestration.jobs_file import Machine

FOUND_CHARACTERS = 200
OPTION = "option"
# Stands where a CapacitySource would: the capacity was given with --capacity.


@contextmanager
def read_trace(path: Path, configs: Configs, trace_id: str | None, stated: TraceEntry) -> Iterator[Ingested]:
    """A raw trace read into a temporary folder; `stated` on the command line beats the registry."""
    import tempfile

    from hpcopt_assets.ingest.parsed import SourceFile
    from hpcopt_assets.ingest.reader import ingest as read
    from hpcopt_assets.orchestration.sources import files_of, trace_id_of

    name = trace_id_of(path.resolve().name) if trace_id is None else trace_id
    if not SAFE_ID.fullmatch(name):
        raise InputError(
            f"trace id {name!r}", f"letters, digits and _ . - ({SAFE_ID.pattern})", "--trace-id", "Rename it."
        )
    if path.is_dir() and not files_of(path):
        raise InputError("an empty folder", "a log, or a folder of logs", str(path), "Name another.")
    entry = configs.traces.entry(name)
    entry = entry.model_copy(update=stated.model_dump(exclude_unset=True))
    files = tuple(
        SourceFile(file, file.relative_to(path.parent).as_posix() if path.is_dir() else file.name)
        for file in files_of(path)
    )
    with tempfile.TemporaryDirectory(prefix="hpcopt-") as staging:
        yield read(files, trace_id=name, entry=entry, limits=configs.ingest, staging=Path(staging))


def stated_entry(**options: object) -> TraceEntry:
    """What the command line says of a trace; options that were not given say nothing."""
    from pydantic import ValidationError

    try:
        return TraceEntry.model_validate({key: value for key, value in options.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        said = first["msg"].removeprefix("Value error, ")
        where = " ".join(f"--{str(key).replace('_', '-')}" for key in first["loc"]) or "the options"
        found, needed = (repr(first["input"]), said) if first["loc"] else (said, "options that make sense")
        raise InputError(found, needed, where, "Correct the option.") from error


class Known(NamedTuple):
    """Jobs in the unit of the machine's size, and what is known of that; `steps` are the registry's."""

    jobs: pl.DataFrame
    machine: Machine | None
    steps: tuple[tuple[int, int], ...]
    unit: Unit
    timezone: str | None


def known_of(path: Path, configs: Configs, stated: TraceEntry) -> Known:
    """A raw trace or a trace_jobs.parquet; `stated` on the command line beats the registry."""
    from hpcopt_assets.ingest.report import steps_of
    from hpcopt_assets.measures.units import in_unit
    from hpcopt_assets.orchestration.jobs_file import Machine, is_trace_jobs, machine_of, read_jobs

    if is_trace_jobs(path):
        jobs = read_jobs(path)
        entry = configs.traces.entry(jobs["trace_id"][0])
        entry = entry.model_copy(update=stated.model_dump(exclude_unset=True))
        sized = in_unit(jobs, entry.unit)
        return Known(
            sized, machine_of(path, sized, entry.capacity_procs), steps_of(entry), entry.unit, entry.timezone
        )
    with read_trace(path, configs, None, stated) as found:
        facts = found.report.row(0, named=True)
        unit = Unit(facts["capacity_unit"])
        steps = zip(facts["capacity_step_at_s"], facts["capacity_step_procs"], strict=True)
        return Known(in_unit(found.jobs, unit), Machine.stated(facts), tuple(steps), unit, facts["timezone"])


def read_estimates(path: Path | None) -> pl.DataFrame | None:
    """A `runtime_estimates` table from a parquet file; `InputError` where it is none."""
    import polars as pl

    from hpcopt_assets.contracts.errors import ContractError
    from hpcopt_assets.contracts.forecast_tables import RUNTIME_ESTIMATES
    from hpcopt_assets.contracts.schemas import validate

    if path is None:
        return None
    try:
        told = RUNTIME_ESTIMATES.shape(pl.read_parquet(path, hive_partitioning=False, glob=False))
        validate(RUNTIME_ESTIMATES, told)
    except (OSError, pl.exceptions.PolarsError, ContractError) as error:
        said = error.found if isinstance(error, ContractError) else str(error).splitlines()[0]
        raise InputError(
            found=textwrap.shorten(said, FOUND_CHARACTERS, placeholder=" ..."),
            needed="a parquet file of the table runtime_estimates",
            where=str(path),
            next_step="`hpcopt forecast` writes one; so does the asset of that name, under data/store.",
        ) from error
    return told


def capacity_of(
    path: Path, known: Known, given: int | None, steps: tuple[tuple[int, int], ...]
) -> tuple[Capacity, str]:
    """The machine to replay on and where its size is from; an inferred one is said on standard error.

    A size given is that of a machine that does not change, unless steps are given too.
    """
    from hpcopt_assets.measures.capacity import Capacity

    machine = known.machine
    if given is not None:
        return Capacity(given, steps), OPTION
    if machine is None:
        raise InputError(
            f"no number of {known.unit}",
            "the machine's size",
            str(path),
            "Give --capacity N, as the trace states none.",
        )
    if machine.capacity_source is CapacitySource.OBSERVED_PEAK:
        complain(
            f"{path}: no number of {known.unit} is stated; {machine.capacity_procs}, the most in use at "
            "once, is taken. Give --capacity N, or state it in configs/traces.yaml."
        )
    return Capacity(machine.capacity_procs, steps or known.steps), machine.capacity_source
