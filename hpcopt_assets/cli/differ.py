"""Where do two schedules of a trace part, and whom does that help?"""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcopt_assets.cli.app import app, project_and_configs
from hpcopt_assets.cli.asked import (
    CapacityOption,
    EstimatesOption,
    JsonOption,
    StepsOption,
    TauOption,
    TracePath,
    UnitOption,
    steps_of,
)
from hpcopt_assets.cli.reading import FOUND_CHARACTERS, capacity_of, known_of, read_estimates, stated_entry
from hpcopt_assets.contracts.errors import ConfigError, ContractError, InputError
from hpcopt_assets.contracts.vocabulary import OBSERVED, Unit
from hpcopt_assets.orchestration.terminal import say

if TYPE_CHECKING:
    import polars as pl

    from hpcopt_assets.measures.capacity import Capacity
    from hpcopt_assets.orchestration.configs import Configs

FILES = (".csv", ".parquet")
Schedule = Annotated[
    str,
    typer.Argument(help="A built-in policy, `observed`, or a schedule of the trace (.csv or .parquet)."),
]


@app.command()
def differ(
    path: TracePath,
    first: Schedule,
    second: Schedule,
    capacity: CapacityOption = None,
    capacity_steps: StepsOption = None,
    unit: UnitOption = None,
    tau: TauOption = None,
    estimates: EstimatesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find where two schedules of a trace first part, and which jobs the second helps or hurts.

    Policies are replayed; `observed` is what the log recorded; a file is what `hpcopt replay --out` or the
    asset replay/POLICY wrote, or any table with columns job_id, start_s and end_s.
    """
    from hpcopt_assets.claims.differences import what_differs
    from hpcopt_assets.cli.told import tell
    from hpcopt_assets.contracts.config import MeasuresConfig

    _, configs = project_and_configs()
    constants = configs.objective.measures
    if tau is not None:
        constants = MeasuresConfig.model_validate(constants.model_dump() | {"tau_s": tau})
    known = known_of(path, configs, stated_entry(unit=unit))
    machine, source = capacity_of(path, known, capacity, steps_of(capacity_steps))
    told = read_estimates(estimates)
    schedules = [_schedule(known.jobs, name, configs, machine, told) for name in (first, second)]
    found = what_differs(
        *schedules, capacity=machine, config=constants, procs_bands=configs.forecast.scores.procs_bands
    )
    if as_json:
        about: dict[str, object] = {
            "trace": path.name,
            "first": first,
            "second": second,
            "capacity": asdict(machine),
        }
        about |= {"capacity_unit": known.unit, "capacity_source": source, "tau_s": constants.tau_s}
        say(json.dumps(about | asdict(found), indent=2, default=lambda frame: frame.to_dicts()))
        return
    size = " -> ".join(f"{procs:,}" for procs in (machine.procs, *(procs for _, procs in machine.steps)))
    word = {Unit.PROCS: "processors", Unit.NODES: "nodes"}[known.unit]
    say(f"{path.name}: {first} and {second} on {size} {word} ({source}), tau {constants.tau_s} s")
    tell(found, _labels(first, second), word)


def _labels(first: str, second: str) -> tuple[str, str]:
    """What the two are called: policies by their ids, files by their names where these tell them apart."""
    names = [Path(name).name if name.endswith(FILES) else name for name in (first, second)]
    return (names[0], names[1]) if names[0] != names[1] else (first, second)


def _schedule(
    jobs: pl.DataFrame, name: str, configs: Configs, machine: Capacity, told: pl.DataFrame | None
) -> pl.DataFrame:
    """The `replay_schedule` that a word of the command line means."""
    import polars as pl

    from hpcopt_assets.measures.schedule import has_run
    from hpcopt_assets.simulate.engine import replay
    from hpcopt_assets.simulate.given import given_schedule
    from hpcopt_assets.simulate.scenario import Scenario

    policy = configs.policies.get(name)
    if policy is not None:
        scenario = Scenario(capacity_steps=machine.steps)
        return replay(jobs, policy, machine.procs, scenario, estimates=told).schedule
    if name == OBSERVED:
        ended = jobs.filter(has_run()).with_columns(end_s=pl.col("start_s") + pl.col("runtime_s"))
        return given_schedule(jobs, ended.select("job_id", "attempt", "start_s", "end_s"), name)
    if not name.endswith(FILES):
        raise ConfigError(
            found=f"schedule {name!r}",
            needed=f"one of {', '.join(configs.policies.ids)}; {OBSERVED}; or a file .csv or .parquet",
            where="the schedules to compare",
            next_step="Choose one of these (see `hpcopt policies`); `hpcopt replay --out` writes a file.",
        )
    return _read_schedule(jobs, Path(name))


def _read_schedule(jobs: pl.DataFrame, path: Path) -> pl.DataFrame:
    """A schedule in a file: a whole `replay_schedule`, or starts and ends of the trace's jobs."""
    import polars as pl

    from hpcopt_assets.contracts.schemas import validate
    from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE
    from hpcopt_assets.simulate.given import given_schedule

    needed = {"job_id": pl.String(), "start_s": pl.Int64(), "end_s": pl.Int64()}
    try:
        if path.suffix == ".csv":
            rows = pl.read_csv(path, schema_overrides={"job_id": pl.String()}, glob=False)
        else:
            rows = pl.read_parquet(path, hive_partitioning=False, glob=False)
        missing = [name for name in needed if name not in rows.columns]
        if missing:
            raise _unusable(path, f"no column {', '.join(missing)}")
        if set(REPLAY_SCHEDULE.names) == set(rows.columns):
            schedule = REPLAY_SCHEDULE.shape(rows)
            validate(REPLAY_SCHEDULE, schedule)
            return schedule
        whole = {**needed, "attempt": pl.Int64(), "submit_s": pl.Int64(), "procs": pl.Int64()}
        rows = rows.select(pl.col(name).cast(kind) for name, kind in whole.items() if name in rows.columns)
    except (OSError, pl.exceptions.PolarsError, ContractError) as error:
        said = error.found if isinstance(error, ContractError) else str(error).splitlines()[0]
        raise _unusable(path, said) from error
    return given_schedule(jobs, rows, str(path))


def _unusable(path: Path, found: str) -> InputError:
    return InputError(
        found=textwrap.shorten(found, FOUND_CHARACTERS, placeholder=" ..."),
        needed="a schedule with whole numbers in job_id, start_s and end_s",
        where=str(path),
        next_step="`hpcopt replay --out` writes one.",
    )
