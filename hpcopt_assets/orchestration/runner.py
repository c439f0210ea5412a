"""Runs the graph from the command line on the same instance that the UI shows.

In:  files or trace ids.   Out: partitions, runs, and how each ended.
Not here: saying what was found (findings.py); reading a file (a function is handed in that does).
"""

from __future__ import annotations

import filecmp
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from hpcopt_assets.contracts.config import TracesConfig
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.orchestration.files import beside
from hpcopt_assets.orchestration.jobs import PUBLISH_JOB, TRACE_JOB
from hpcopt_assets.orchestration.orphans import process_tag
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.progress import LOGGER, Failure, failures
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.sources import (
    files_of,
    find_sources,
    is_source_name,
    known_traces,
    trace_id_of,
)

PARTITIONS = traces.name or ""
Probe = Callable[[Path, str], object]
# Reads a file as the trace of that id; raises where it cannot become a table.


@dataclass(frozen=True)
class Wanted:
    """A trace to run, and the file or folder it is to be taken from if that is not in data/raw yet."""

    trace_id: str
    source: Path | None = None


def resolve(project: Project, registry: TracesConfig, item: str) -> Wanted:
    """What a word on the command line means: a file, a trace id, else a folder. Nothing is touched.

    Raises InputError where it is none, is no name for a trace, or another source has the id already.
    """
    known = known_traces(project.raw, registry)
    path = Path(item).expanduser()
    if item in known and not path.is_file():
        return Wanted(item)
    if not path.exists():
        raise InputError(
            found="no such file or trace",
            needed=f"a file, a folder, or one of {', '.join(known) or '(data/raw is empty)'}",
            where=item,
            next_step="Check the path, or see `hpcopt traces`.",
        )
    if not files_of(path) or not (path.is_file() or path.is_dir()):
        found = "an empty folder" if path.is_dir() else "no regular file"
        raise InputError(found, "a log, or a folder of logs", item, "Name another.")
    path = path.resolve() if path.is_dir() else path
    if not is_source_name(path.name):
        raise InputError(
            found=f"the name {path.name!r}",
            needed="a name that is not hidden, README, .tmp or .part: such files in data/raw are no traces",
            where=item,
            next_step="Rename the file.",
        )
    trace_id, target = trace_id_of(path.name), project.raw / path.name
    sources = find_sources(project.raw).get(trace_id, [])
    others = [other.name for other in sources if other.name != path.name]
    whole = registry.entry(trace_id).part_of
    if whole is not None:
        raise InputError(
            found=f"a file whose id, {trace_id}, is that of a part of {whole} in configs/traces.yaml",
            needed="one file or folder for each id",
            where=item,
            next_step="Rename the file, or the part.",
        )
    if others:
        raise InputError(
            found=f"{', '.join(others)} in data/raw has the id {trace_id} already",
            needed="one file or folder for each id",
            where=item,
            next_step="Rename the file, or remove the other one.",
        )
    is_there = target.exists() and (target.samefile(path) or _same(target, path))
    return Wanted(trace_id, None if is_there else path)


def _same(one: Path, other: Path) -> bool:
    """Whether two sources hold the same files."""
    mine, its = files_of(one), files_of(other)
    names = [[path.relative_to(top) for path in paths] for top, paths in ((one, mine), (other, its))]
    return (
        one.is_dir() == other.is_dir()
        and names[0] == names[1]
        and all(filecmp.cmp(a, b, shallow=False) for a, b in zip(mine, its, strict=True))
    )


def take_in(project: Project, wanted: Sequence[Wanted], probe: Probe) -> None:
    """Copy the files and folders that are not in data/raw yet, each whole, after all of them could be read.

    A file that cannot become a table, or two files for one id, raise before anything is copied.
    """
    twice = {w.trace_id for w in wanted if w.source and sum(o.trace_id == w.trace_id for o in wanted) > 1}
    if twice:
        raise InputError(
            found=f"several files for the id {', '.join(sorted(twice))}",
            needed="one file for each id",
            where="the files named",
            next_step="Rename them, or run them one after the other.",
        )
    new = [(item.source, item.trace_id) for item in wanted if item.source is not None]
    for source, trace_id in new:
        probe(source, trace_id)
    for source, _ in new:
        if source.is_dir():
            _replace_folder(project.raw / source.name, source)
        else:
            with beside(project.raw / source.name) as temporary:
                shutil.copyfile(source, temporary)


def _replace_folder(target: Path, source: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as beside_it:
        shutil.copytree(source, Path(beside_it) / "new")
        if target.exists():
            target.rename(Path(beside_it) / "old")
        (Path(beside_it) / "new").rename(target)


def run_trace(defs: dg.Definitions, instance: dg.DagsterInstance, trace_id: str) -> list[Failure]:
    """One trace from raw file to dossier; why it failed, or nothing."""
    instance.add_dynamic_partitions(PARTITIONS, [trace_id])
    return _run(defs, instance, TRACE_JOB, trace_id)


def publish(defs: dg.Definitions, instance: dg.DagsterInstance) -> list[Failure]:
    """The catalog over all traces; why it failed, or nothing."""
    return _run(defs, instance, PUBLISH_JOB, None)


def _run(
    defs: dg.Definitions, instance: dg.DagsterInstance, job: str, partition: str | None
) -> list[Failure]:
    result = defs.resolve_job_def(job).execute_in_process(
        partition_key=partition,
        instance=instance,
        raise_on_error=False,
        run_config={"loggers": {LOGGER: {}}},
        tags=process_tag(),
    )
    return [] if result.success else failures(result)
