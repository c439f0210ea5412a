"""Commands over the whole graph: data/raw, the store, the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hpcopt_assets.cli.app import app, project_and_configs
from hpcopt_assets.cli.reading import read_trace
from hpcopt_assets.contracts.errors import HpcoptError, InputError
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.orchestration.terminal import complain, print_table, say


@app.command()
def demo() -> None:
    """Write the demo trace to data/raw: a synthetic workload with a known story."""
    from hpcopt_assets.orchestration.files import write_beside
    from hpcopt_assets.simulate.reference import priority_starts
    from hpcopt_assets.synthetic.demo import make_demo

    project, configs = project_and_configs()
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

    project, configs = project_and_configs()
    wanted = [resolve(project, configs.traces, item) for item in trace or []]

    def probe(path: Path, trace_id: str) -> None:
        with read_trace(path, configs, trace_id, TraceEntry()):
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

    project, configs = project_and_configs()
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
def remove(
    trace: Annotated[str, typer.Argument(help="A trace's id.")],
    raw: Annotated[bool, typer.Option("--raw", help="Its file or folder in data/raw, too.")] = False,
) -> None:
    """Take a trace out: its tables, dossier and figures, and its partition."""
    from hpcopt_assets.definitions import build_definitions
    from hpcopt_assets.orchestration.instance import open_instance
    from hpcopt_assets.orchestration.removal import remove as take_out
    from hpcopt_assets.orchestration.runner import publish
    from hpcopt_assets.orchestration.sources import find_sources

    project, _ = project_and_configs()
    sources = find_sources(project.raw).get(trace, [])
    with open_instance(project) as instance:
        for path in take_out(project, instance, trace, sources if raw else ()):
            say(f"Removed {path}.")
        for failure in publish(build_definitions(), instance):
            complain(f"{failure.step}: {failure.reason}")
    if sources and not raw:
        say(f"{sources[0]} is still there: a running UI takes it in again. Remove it, too, or say --raw.")


@app.command()
def fetch(trace: Annotated[str, typer.Argument(help="A trace of configs/traces.yaml with a url.")]) -> None:
    """Download a trace of the registry into data/raw and verify its hash; an interrupted download resumes."""
    from rich.console import Console
    from rich.progress import Progress

    from hpcopt_assets.orchestration.fetch import fetch as download

    project, configs = project_and_configs()
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

    project, configs = project_and_configs()
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

    _, configs = project_and_configs()
    external = external_policies(configs)
    print_table(
        ["policy", "order", "backfill", "tail order", "estimate", "hold", "overrun", "what it is"],
        [
            [p.id, p.order, p.backfill, p.backfill_order, p.estimate, p.hold, p.overrun, p.means]
            for p in configs.policies.policies
        ]
        + [[p.id, "external", "-", "-", "-", "-", p.overrun, p.means] for p in external],
    )
