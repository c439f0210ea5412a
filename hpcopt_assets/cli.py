"""The `hpcopt` command: thin over the same functions as the assets.

In:  arguments.   Out: tables and files; exit code 0, 2 for wrong usage or input, 1 for a failed run.
Not here: any computation. Heavy imports wait until the command that needs them.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.exceptions import TyperException

from hpcopt_assets.contracts.columns import PROCS_MAX, TIME_MAX_S
from hpcopt_assets.contracts.config import SAFE_ID, TraceEntry
from hpcopt_assets.contracts.errors import HpcoptError, InputError
from hpcopt_assets.contracts.vocabulary import CapacitySource, Dialect, Overrun, TraceFormat
from hpcopt_assets.orchestration.project import Project, find_project
from hpcopt_assets.orchestration.terminal import cell, complain, plural, print_table, say
from hpcopt_assets.warehouse.forms import Form, form_of

if TYPE_CHECKING:
    import polars as pl

    from hpcopt_assets.contracts.adapter import ExternalPolicy
    from hpcopt_assets.ingest.reader import Ingested
    from hpcopt_assets.orchestration.configs import Configs
    from hpcopt_assets.orchestration.jobs_file import Machine
    from hpcopt_assets.simulate.engine import Replay

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Would another scheduling policy serve our users better, and can we believe the answer?",
)

SHOWN_ROWS = 200
# A terminal table of more takes minutes to lay out, and nobody reads it.
OPTION = "option"
# Stands where a CapacitySource would: the capacity was given with --capacity.


def _utf8(value: object) -> object:
    """Refuse what is not UTF-8: neither polars nor DuckDB takes it."""
    str(value).encode()
    return value


TracePath = Annotated[
    Path, typer.Argument(help="A raw trace (a log, or a folder of logs) or a trace_jobs.parquet.")
]


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    context.obj = debug


def _configs() -> tuple[Project, Configs]:
    from hpcopt_assets.orchestration.configs import load_configs

    project = find_project()
    return project, load_configs(project.configs)


# --- the whole graph ---------------------------------------------------------------------------------


@app.command()
def demo() -> None:
    """Write the demo trace to data/raw: a synthetic workload with a known story."""
    from hpcopt_assets.orchestration.files import write_beside
    from hpcopt_assets.simulate.reference import priority_starts
    from hpcopt_assets.synthetic.demo import make_demo

    project, configs = _configs()
    settings = configs.synthetic.demo
    target = project.raw / f"{settings.trace_id}.swf"
    say(f"Making a trace of {settings.jobs:,} jobs on {settings.procs} processors ...")
    content = make_demo(configs.synthetic, priority_starts).encode()
    if target.is_file() and target.read_bytes() == content:
        say(f"{target} is there already and unchanged.")
        return
    write_beside(target, content)
    say(f"Wrote {target}.")


@app.command()
def run(
    trace: Annotated[
        list[str] | None,
        typer.Argument(help="Files to take in, or ids of traces in data/raw; all of data/raw if none."),
    ] = None,
) -> None:
    """Take traces through the whole graph, publish the catalog, and say what was found."""
    from hpcopt_assets.orchestration.findings import say_findings
    from hpcopt_assets.orchestration.instance import open_instance
    from hpcopt_assets.orchestration.runner import publish, resolve, run_trace, take_in
    from hpcopt_assets.orchestration.sources import known_traces

    project, configs = _configs()
    wanted = [resolve(project, configs.traces, item) for item in trace or []]

    def probe(path: Path, trace_id: str) -> None:
        with _read_trace(path, configs, trace_id, TraceEntry()):
            pass

    # Each file is read once before anything is copied: a bad one must not take a good one's place.
    for copied in take_in(project, wanted, probe):
        say(copied)
    named = [name for item in wanted for name in (item.trace_id, *configs.traces.parts_of(item.trace_id))]
    trace_ids = list(dict.fromkeys(named)) or list(known_traces(project.raw, configs.traces))
    if not trace_ids:
        raise InputError(
            "no traces",
            "at least one",
            str(project.raw),
            "Name a file, drop one there, or run `hpcopt demo`.",
        )
    say("Loading the graph ...")
    from hpcopt_assets.definitions import build_definitions

    defs = build_definitions()
    exit_code = 0
    done = []
    with open_instance(project) as instance:
        for number, trace_id in enumerate(trace_ids, start=1):
            say(f"[{number}/{len(trace_ids)}] {trace_id}")
            failed = run_trace(defs, instance, trace_id)
            for failure in failed:
                complain(f"{trace_id}: {failure.step}: {failure.reason}")
            exit_code = max([exit_code, *(failure.exit_code for failure in failed)])
            if not failed:
                done.append(trace_id)
        if done:
            say("Publishing the catalog ...")
            for failure in publish(defs, instance):
                complain(f"{failure.step}: {failure.reason}")
                exit_code = max(exit_code, failure.exit_code)
    say_findings(project, configs, done)
    if exit_code:
        raise typer.Exit(exit_code)


@app.command()
def traces() -> None:
    """List the traces in data/raw and what is known of each."""
    import polars as pl

    from hpcopt_assets.ingest.reader import combined_sha256
    from hpcopt_assets.orchestration.io import part_path
    from hpcopt_assets.orchestration.lock import what_to_do
    from hpcopt_assets.orchestration.sources import known_traces

    project, configs = _configs()
    rows = []
    known = known_traces(project.raw, configs.traces)
    if not known:
        say(f"No traces in {project.raw}. Drop a log there, or run `hpcopt demo`.")
    for trace_id in dict.fromkeys([*known, *configs.traces.traces]):
        report = part_path(project.store, ("ingest_report",), trace_id)
        facts = pl.read_parquet(report, glob=False).row(0, named=True) if report.is_file() else {}
        page = project.dossier_of(trace_id)
        entry = configs.traces.entry(trace_id)
        todo = what_to_do(project, configs.traces, trace_id, combined_sha256)
        files = ", ".join(path.name for path in known.get(trace_id, []))
        rows.append(
            [
                trace_id,
                "; ".join(filter(None, (files, todo))),
                f"{facts['jobs_count']:,}" if facts else "not ingested" if files else "",
                str(facts.get("capacity_procs") or entry.capacity_procs or ""),
                entry.note or facts.get("installation") or "",
                str(page) if page.is_file() else "not yet made",
            ]
        )
    print_table(["trace", "file", "jobs", "processors", "note", "dossier"], rows)


@app.command()
def fetch(trace: Annotated[str, typer.Argument(help="A trace of configs/traces.yaml with a url.")]) -> None:
    """Download a trace of the registry into data/raw and verify its hash; an interrupted download resumes."""
    from rich.console import Console
    from rich.progress import Progress

    from hpcopt_assets.orchestration.fetch import fetch as download

    project, configs = _configs()
    if trace not in configs.traces.traces:
        raise InputError(
            f"no trace {trace!r}",
            f"one of {', '.join(configs.traces.traces)}",
            "configs/traces.yaml",
            "Add an entry with a url, or name one that is there.",
        )
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(trace, total=None)
        target = download(
            project.raw,
            trace,
            configs.traces.entry(trace),
            lambda have, total: bar.update(task, completed=have, total=total),
        )
    say(f"Fetched and verified: {target}" if configs.traces.entry(trace).sha256 else f"Fetched: {target}")


@app.command()
def lock(
    replace: Annotated[bool, typer.Option("--replace", help="Also replace hashes that differ.")] = False,
) -> None:
    """Write the hashes of the files in data/raw into the registry, for the traces that have an entry."""
    from hpcopt_assets.ingest.reader import combined_sha256
    from hpcopt_assets.ingest.source import sha256_of
    from hpcopt_assets.orchestration.lock import lock as lock_hashes
    from hpcopt_assets.orchestration.sources import find_sources, source_files

    project, configs = _configs()
    hashes, unread = {}, {}
    for trace_id in find_sources(project.raw):
        if trace_id in configs.traces.traces:
            try:
                files = source_files(project.raw, trace_id, configs.traces)
                named = [(file.relative_to(project.raw).as_posix(), sha256_of(file)) for file in files]
            except HpcoptError as error:
                unread[trace_id] = str(error)
            else:
                hashes[trace_id] = combined_sha256(named)
    done = lock_hashes(project.configs, hashes, replace=replace)
    troubles = {
        trace_id: f"locked is {old}, the file has {new}; --replace locks that one."
        for trace_id, (old, new) in done.differ.items()
    } | {trace_id: f"not locked: {reason}" for trace_id, reason in (unread | done.failed).items()}
    if done.locked or not troubles:
        locked = f"Locked in configs/traces.yaml: {', '.join(done.locked)}."
        say(locked if done.locked else "Nothing to lock.")
    for trace_id, trouble in troubles.items():
        complain(f"{trace_id}: {trouble}")
    if troubles:
        raise typer.Exit(InputError.exit_code)


@app.command()
def policies() -> None:
    """List the scheduling policies and their parameters; external ones are those of installed packages."""
    from hpcopt_assets.orchestration.external import external_policies

    _, configs = _configs()
    external = external_policies(configs)
    print_table(
        ["policy", "order", "backfill", "tail order", "estimate", "hold", "overrun", "what it is"],
        [
            [p.id, p.order, p.backfill, p.backfill_order, p.estimate, p.hold, p.overrun, p.means]
            for p in configs.policies.policies
        ]
        + [[p.id, "external", "-", "-", "-", "-", p.overrun, p.means] for p in external],
    )


# --- one file ----------------------------------------------------------------------------------------


@contextmanager
def _read_trace(path: Path, configs: Configs, trace_id: str | None, stated: TraceEntry) -> Iterator[Ingested]:
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


def _stated(**options: object) -> TraceEntry:
    """What the command line says of a trace; options that were not given say nothing."""
    from pydantic import ValidationError

    try:
        return TraceEntry.model_validate({key: value for key, value in options.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"{first['input']!r}",
            first["msg"].removeprefix("Value error, "),
            "the options",
            "Correct the option.",
        ) from error


FormatOption = Annotated[
    TraceFormat | None, typer.Option("--format", help="Found from the content if absent.")
]
TimezoneOption = Annotated[str | None, typer.Option(help="IANA name of the log's local times.")]
FieldsOption = Annotated[
    str | None, typer.Option(help="Field names of a headerless sacct dump, separated by commas.")
]
DialectOption = Annotated[Dialect | None, typer.Option(help="Whose PBS log it is, where it does not tell.")]
CapacityOption = Annotated[
    int | None, typer.Option(min=1, max=PROCS_MAX, help="Processors; what the trace states if absent.")
]


@app.command()
def ingest(
    path: Annotated[Path, typer.Argument(help="A raw trace: a file, or a folder of files.")],
    out: Annotated[Path, typer.Option(callback=_utf8, help="Folder to write to.")],
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

    _, configs = _configs()
    if out.exists() and not out.is_dir():
        raise InputError("a file", "a folder", str(out), "Name another --out.")
    stated = _stated(
        format=format_,
        timezone=timezone,
        fields=fields.split(",") if fields else None,
        capacity_procs=capacity,
        dialect=dialect,
    )
    with _read_trace(path, configs, trace_id, stated) as found:
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
    tau: Annotated[
        int | None, typer.Option(min=1, max=TIME_MAX_S, help="Seconds; configs/objective.yaml's if absent.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(callback=_utf8, help="Schedule to write: .csv or .parquet.")
    ] = None,
    overrun: Annotated[Overrun | None, typer.Option(help="Replaces the policy's own rule.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object of measures.")] = False,
) -> None:
    """Replay one trace under one policy and measure the schedule."""
    import polars as pl

    from hpcopt_assets.contracts.adapter import ExternalPolicy
    from hpcopt_assets.contracts.config import MeasuresConfig
    from hpcopt_assets.contracts.vocabulary import Window
    from hpcopt_assets.measures.capacity import Capacity
    from hpcopt_assets.measures.schedule import Schedule
    from hpcopt_assets.measures.summary import measure
    from hpcopt_assets.orchestration.external import find_policy
    from hpcopt_assets.orchestration.files import beside
    from hpcopt_assets.simulate.engine import replay as replay_jobs

    _, configs = _configs()
    chosen = find_policy(configs, policy)
    if overrun is not None:
        chosen = chosen.model_copy(update={"overrun": overrun})
    constants = configs.objective.measures
    if tau is not None:
        constants = MeasuresConfig.model_validate(constants.model_dump() | {"tau_s": tau})
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise InputError(f"{out.name}", "a name ending in .csv or .parquet", "--out", "Rename it.")
    jobs, machine = _jobs_and_machine(path, configs)
    procs, source = _capacity(path, capacity, machine)
    if isinstance(chosen, ExternalPolicy):
        result = _replay_external(jobs, chosen, procs)
    else:
        result = replay_jobs(jobs, chosen, procs)
    schedule = Schedule.of(result.schedule)
    whole, steady = (
        measure(schedule, capacity=Capacity(procs), config=constants, window=window)
        for window in (Window.WHOLE, Window.STEADY)
    )
    if out is not None:
        started = result.schedule.filter(pl.col("start_s").is_not_null())
        rows = started.select("job_id", "submit_s", "start_s", "end_s", "procs")
        with beside(out) as target:
            if out.suffix == ".csv":
                rows.write_csv(target)
            else:
                rows.write_parquet(target)
    if as_json:
        about = {
            "trace": path.name,
            "policy": chosen.id,
            "overrun": chosen.overrun,
            "capacity_procs": procs,
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
            f"{path.name} under {chosen.id} (overrun {chosen.overrun}) on {procs:,} processors "
            f"({source}), tau {constants.tau_s} s"
        )
        print_table(
            ["measure", "whole trace", "steady window"],
            [[key, cell(whole[key]), cell(steady[key])] for key in whole],
        )


def _replay_external(jobs: pl.DataFrame, policy: ExternalPolicy, procs: int) -> Replay:
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
            tell=lambda started, total: bar.update(task, completed=started, total=total),
        )
    promised, kept = done.promised_count, done.promised_count - done.broken_count
    complain(
        f"{policy.id} was asked {plural(done.passes_count, 'time')}"
        + (f"; of {plural(promised, 'reservation')} it kept {kept:,}." if promised else ".")
    )
    return done.replay


def _jobs_and_machine(path: Path, configs: Configs) -> tuple[pl.DataFrame, Machine | None]:
    """Jobs of a raw trace or a trace_jobs.parquet, and the machine's processors where they are known."""
    from hpcopt_assets.contracts.vocabulary import Unit
    from hpcopt_assets.measures.units import in_unit
    from hpcopt_assets.orchestration.jobs_file import Machine, is_trace_jobs, machine_of, read_jobs

    if is_trace_jobs(path):
        jobs = read_jobs(path)
        entry = configs.traces.entry(jobs["trace_id"][0])
        sized = in_unit(jobs, entry.unit)
        return sized, machine_of(path, sized, entry.capacity_procs)
    with _read_trace(path, configs, None, TraceEntry()) as found:
        facts = found.report.row(0, named=True)
        return in_unit(found.jobs, Unit(facts["capacity_unit"])), Machine.stated(facts)


def _capacity(path: Path, given: int | None, machine: Machine | None) -> tuple[int, str]:
    """Processors to replay on and where the number is from; an inferred one is said on standard error."""
    if given is not None:
        return given, OPTION
    if machine is None:
        raise InputError(
            "no number of processors",
            "the machine's size",
            str(path),
            "Give --capacity N, as the trace states none.",
        )
    if machine.capacity_source is CapacitySource.OBSERVED_PEAK:
        complain(
            f"{path}: no number of processors is stated; {machine.capacity_procs}, the most in use at once, "
            "is taken. Give --capacity N, or state it in configs/traces.yaml."
        )
    return machine.capacity_procs, machine.capacity_source


# --- results -----------------------------------------------------------------------------------------


@app.command()
def query(
    sql: Annotated[
        str, typer.Argument(callback=_utf8, help='One SELECT, such as "SELECT * FROM replay_measures".')
    ],
    format_: Annotated[
        Form | None, typer.Option("--format", help="The ending of --out, or table, if absent.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write to instead of the terminal.")] = None,
) -> None:
    """Ask the DuckDB catalog, read-only, from any directory."""
    from hpcopt_assets.orchestration.files import write_beside
    from hpcopt_assets.warehouse import answer
    from hpcopt_assets.warehouse.query import query as ask

    form = form_of(format_, out, is_terminal=sys.stdout.isatty())
    rows = ask(find_project().duckdb, sql)
    if form is Form.TABLE:
        shown = rows.slice(0, SHOWN_ROWS).to_pylist()
        print_table(
            rows.column_names, [[cell(answer.flat(value)) for value in row.values()] for row in shown]
        )
        if rows.num_rows > SHOWN_ROWS:
            say(f"... {SHOWN_ROWS} of {rows.num_rows:,} rows; use --format csv for all.")
        return
    content = answer.encoded(rows, form)
    if out is not None:
        write_beside(out, content)
    else:
        sys.stdout.buffer.write(content)


@app.command(hidden=True)
def schemas(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("schemas"),
) -> None:
    """Write the JSON Schema of every table, every config file and the adapter's messages."""
    from hpcopt_assets.contracts.schemas import all_json_schemas
    from hpcopt_assets.orchestration.files import write_beside

    documents = all_json_schemas()
    kinds = ("table.*.json", "config.*.json", "adapter_*.json")
    ours = {path.name for kind in kinds for path in out.glob(kind)}
    for stale in ours - {f"{name}.json" for name in documents}:
        (out / stale).unlink()
    for name, document in documents.items():
        write_beside(out / f"{name}.json", (json.dumps(document, indent=2) + "\n").encode())
    say(f"Wrote {plural(len(documents), 'schema')} to {out}.")


# --- how a command ends ------------------------------------------------------------------------------


def main() -> None:
    """Entry point: each error is one sentence with its next step; tracebacks only with --debug."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no error
    arguments = sys.argv[1:]
    try:
        sys.exit(_exit_code(arguments))
    except HpcoptError as error:
        if "--debug" in arguments:
            raise
        complain(str(error))
        sys.exit(error.exit_code)
    except Exception as error:
        if "--debug" in arguments:
            raise
        complain(
            f"{type(error).__name__}: {str(error).rstrip('.')}. This is a fault of ours: "
            "run `hpcopt --debug ...` and report what it prints."
        )
        sys.exit(1)


def _exit_code(arguments: list[str]) -> int:
    """Run a command; wrong usage is said here, and what the system refuses becomes an InputError."""
    try:
        return app(arguments or ["--help"], prog_name="hpcopt", standalone_mode=False) or 0
    except TyperException as error:
        context: typer.Context | None = getattr(error, "ctx", None)
        command = context.command_path if context else "hpcopt"
        said = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
        complain(f"{said}. See `{command} --help`.")
        return error.exit_code
    except typer.Abort:
        return 1
    except (OSError, UnicodeEncodeError) as error:
        raise InputError.of_system(error) from error


if __name__ == "__main__":
    main()
