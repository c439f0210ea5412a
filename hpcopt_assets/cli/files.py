"""Commands on one trace, without Dagster: ingest, replay."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcopt_assets.cli.app import app, project_and_configs, utf8
from hpcopt_assets.cli.asked import (
    CapacityOption,
    DialectOption,
    EstimatesOption,
    FieldsOption,
    FormatOption,
    JsonOption,
    ScaleOption,
    SinceOption,
    StepsOption,
    TauOption,
    TimezoneOption,
    TracePath,
    UnitOption,
    UntilOption,
    scenario_of,
    steps_of,
)
from hpcopt_assets.cli.reading import capacity_of, known_of, read_estimates, read_trace, stated_entry
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.order import JOB_KEY
from hpcopt_assets.contracts.vocabulary import EstimateSource, Overrun, Unit
from hpcopt_assets.orchestration.terminal import cell, complain, plural, print_table, say

if TYPE_CHECKING:
    import polars as pl

    from hpcopt_assets.contracts.adapter import ExternalPolicy
    from hpcopt_assets.contracts.config import Policy
    from hpcopt_assets.simulate.engine import Replay
    from hpcopt_assets.simulate.scenario import Scenario


@app.command()
def ingest(
    path: Annotated[Path, typer.Argument(help="A raw trace: a file, or a folder of files.")],
    out: Annotated[Path, typer.Option(callback=utf8, help="Folder to write to.")],
    trace_id: Annotated[
        str | None, typer.Option(help="Name of the trace; the file's name if absent.")
    ] = None,
    format_: FormatOption = None,
    timezone: TimezoneOption = None,
    fields: FieldsOption = None,
    capacity: CapacityOption = None,
    dialect: DialectOption = None,
) -> None:
    """Read one trace: trace_jobs.parquet, trace_rejects.parquet and ingest_report.json."""
    from hpcopt_assets.contracts.schemas import validate, validate_file
    from hpcopt_assets.contracts.tables import INGEST_REPORT, TRACE_JOBS, TRACE_REJECTS
    from hpcopt_assets.orchestration.files import beside, write_beside
    from hpcopt_assets.orchestration.jobs_file import REPORT_NAME, Machine, with_machine

    _, configs = project_and_configs()
    if out.exists() and not out.is_dir():
        raise InputError("a file", "a folder", str(out), "Name another --out.")
    stated = stated_entry(
        format=format_,
        timezone=timezone,
        fields=fields.split(",") if fields else None,
        capacity_procs=capacity,
        dialect=dialect,
    )
    with read_trace(path, configs, trace_id, stated) as found:
        validate_file(TRACE_JOBS, found.jobs_path)
        validate(TRACE_REJECTS, found.rejects)
        validate(INGEST_REPORT, found.report)
        report = found.report.row(0, named=True)
        with beside(out / f"{TRACE_JOBS.name}.parquet") as target:
            with_machine(found.jobs_path, Machine.stated(report), target)
    with beside(out / f"{TRACE_REJECTS.name}.parquet") as target:
        found.rejects.write_parquet(target, compression="zstd")
    content = json.dumps(report | {"breakdown": found.breakdown}, indent=2) + "\n"
    write_beside(out / REPORT_NAME, content.encode())
    jobs, rejects = plural(report["jobs_count"], "job"), plural(report["rejects_count"], "rejected line")
    say(f"Wrote {jobs} and {rejects} of {path.name} to {out}.")


@app.command()
def replay(
    path: TracePath,
    policy: Annotated[str, typer.Option(help="A policy of `hpcopt policies`.")],
    capacity: CapacityOption = None,
    capacity_steps: StepsOption = None,
    arrival_scale: ScaleOption = 1.0,
    since: SinceOption = None,
    until: UntilOption = None,
    unit: UnitOption = None,
    tau: TauOption = None,
    out: Annotated[
        Path | None, typer.Option(callback=utf8, help="Schedule to write: .csv or .parquet.")
    ] = None,
    events: Annotated[
        Path | None, typer.Option(callback=utf8, help="Releases, starts and ends to write: .csv or .parquet.")
    ] = None,
    overrun: Annotated[Overrun | None, typer.Option(help="Replaces the policy's own rule.")] = None,
    estimates: EstimatesOption = None,
    is_strict: Annotated[
        bool, typer.Option("--strict", help="Check the whole state of the machine at every pass.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Replay one trace under one policy and measure the schedule."""
    import polars as pl

    from hpcopt_assets.contracts.adapter import ExternalPolicy
    from hpcopt_assets.contracts.config import MeasuresConfig
    from hpcopt_assets.contracts.vocabulary import Window
    from hpcopt_assets.measures.events import events as events_of
    from hpcopt_assets.measures.schedule import Schedule
    from hpcopt_assets.measures.summary import measure
    from hpcopt_assets.orchestration.external import find_policy
    from hpcopt_assets.simulate.engine import replay as replay_jobs

    _, configs = project_and_configs()
    chosen = find_policy(configs, policy)
    if overrun is not None:
        chosen = chosen.model_copy(update={"overrun": overrun})
    constants = configs.objective.measures
    if tau is not None:
        constants = MeasuresConfig.model_validate(constants.model_dump() | {"tau_s": tau})
    for option, path_out in (("--out", out), ("--events", events)):
        if path_out is not None and path_out.suffix not in (".csv", ".parquet"):
            raise InputError(f"{path_out.name}", "a name ending in .csv or .parquet", option, "Rename it.")
    known = known_of(path, configs, stated_entry(unit=unit))
    machine, source = capacity_of(path, known, capacity, steps_of(capacity_steps))
    scenario = replace(scenario_of(arrival_scale, since, until), capacity_steps=machine.steps)
    if isinstance(chosen, ExternalPolicy):
        if estimates is not None:
            raise InputError(
                "an external policy", "a policy that believes forecasts", "--estimates", "Leave it away."
            )
        result = _replay_external(known.jobs, chosen, machine.procs, scenario)
    else:
        told = read_estimates(estimates)
        if told is not None:
            _say_what_is_told(known.jobs, told, chosen)
        result = replay_jobs(known.jobs, chosen, machine.procs, scenario, estimates=told, is_strict=is_strict)
    schedule = Schedule.of(result.schedule)
    whole, steady = (
        measure(schedule, capacity=machine, config=constants, window=window)
        for window in (Window.WHOLE, Window.STEADY)
    )
    if out is not None:
        started = result.schedule.filter(pl.col("start_s").is_not_null())
        _write(started.select("job_id", "submit_s", "start_s", "end_s", "procs"), out)
    if events is not None:
        _write(events_of(result.schedule), events)
    size = " -> ".join(f"{procs:,}" for procs in (machine.procs, *(procs for _, procs in machine.steps)))
    words = {Unit.PROCS: "processors", Unit.NODES: "nodes"}[known.unit]
    if as_json:
        about = {
            "trace": path.name,
            "policy": chosen.id,
            "overrun": chosen.overrun,
            "capacity_procs": machine.procs,
            "capacity_steps": machine.steps,
            "capacity_unit": known.unit,
            "capacity_source": source,
            "tau_s": constants.tau_s,
        }
        accounts = {
            "left_out": {str(reason): count for reason, count in result.left_out.items()},
            "estimates_from": {str(source): count for source, count in result.estimate_sources.items()},
        }
        say(json.dumps(whole | {"steady": steady} | about | accounts, indent=2))
    else:
        say(
            f"{path.name} under {chosen.id} (overrun {chosen.overrun}) on {size} {words} "
            f"({source}), tau {constants.tau_s} s"
        )
        if not isinstance(chosen, ExternalPolicy) and chosen.is_forecasting:
            by = result.estimate_sources.items()
            say("Estimates from: " + ", ".join(f"{count:,} {source}" for source, count in by if count) + ".")
        print_table(
            ["measure", "whole trace", "steady window"],
            [[key, cell(whole[key]), cell(steady[key])] for key in whole],
        )


def _say_what_is_told(jobs: pl.DataFrame, told: pl.DataFrame, policy: Policy) -> None:
    """On standard error: estimates that nobody reads, jobs that have none."""
    if not policy.is_forecasting:
        complain(f"{policy.id} believes no forecasts: --estimates changes nothing.")
        return
    missing = jobs.join(told, on=JOB_KEY, how="anti").height
    if missing:
        complain(
            f"{plural(missing, 'job')} of {jobs.height:,} have no estimate and are believed by their request."
        )
    if not (told["source"] == EstimateSource.MODEL.value).any():
        complain("No model made any of the estimates: they are users' histories, requests, and stand-ins.")


def _write(rows: pl.DataFrame, path: Path) -> None:
    from hpcopt_assets.orchestration.files import beside

    with beside(path) as target:
        rows.write_csv(target) if path.suffix == ".csv" else rows.write_parquet(target)


def _replay_external(jobs: pl.DataFrame, policy: ExternalPolicy, procs: int, scenario: Scenario) -> Replay:
    """A replay under an external policy, with its progress and what came of it on standard error."""
    from rich.console import Console
    from rich.progress import Progress

    from hpcopt_assets.orchestration.external import load_policy
    from hpcopt_assets.simulate.external import replay_external

    complain(
        f"{policy.id} is external: it is asked at every pass of the reference loop, which is slow "
        f"({plural(jobs.height, 'job')})."
    )
    progress = Progress(
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    )  # piped, it would leave an empty line
    # What a policy prints must not stand among the measures.
    with redirect_stdout(sys.stderr), progress as bar:
        task = bar.add_task(policy.id, total=None)
        done = replay_external(
            jobs,
            policy,
            load_policy(policy.id),
            procs,
            scenario,
            tell=lambda started, total: bar.update(task, completed=started, total=total),
        )
    promised, kept = done.promised_count, done.promised_count - done.broken_count
    complain(
        f"{policy.id} was asked {plural(done.passes_count, 'time')}"
        + (f"; of {plural(promised, 'reservation')} it kept {kept:,}." if promised else ".")
    )
    return done.replay
