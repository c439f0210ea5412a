"""Runs the graph from the command line on the same instance that the UI shows.

In:  files or trace ids.   Out: partitions, runs, and how each ended.
Not here: saying what was found (findings.py); reading a file (a function is handed in that does).
"""

from __future__ import annotations

import filecmp
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.traces_config import TracesConfig
from hpcopt_assets.orchestration.files import beside
from hpcopt_assets.orchestration.jobs import PLACEMENT_JOB, PUBLISH_JOB, TRACE_JOB
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
SNAPSHOTS_STEP = "placement_snapshots"
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
    is_there = target.exists() and (target.samefile(path) or _holds(target, path))
    return Wanted(trace_id, None if is_there else path)


def _holds(target: Path, source: Path) -> bool:
    """Whether a source in data/raw has all that another holds: the file, or each file of the folder."""
    if target.is_dir() != source.is_dir():
        return False
    pairs = [(path, target / path.relative_to(source)) for path in files_of(source)]
    return all(mine.is_file() and filecmp.cmp(path, mine, shallow=False) for path, mine in pairs)


def take_in(project: Project, wanted: Sequence[Wanted], probe: Probe) -> list[str]:
    """Copy what is not in data/raw yet, each source whole, after all of them could be read.

    A folder's files are added to those of the folder that is there. Says what was added and what replaced. A
    file that cannot become a table, or two files for one id, raise before anything is copied.
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
    return [_copy(source, project.raw / source.name) for source, _ in new]


def _copy(source: Path, target: Path) -> str:
    """Copy a file, or add a folder's files, in one step; what was done."""
    if source.is_dir():
        return _add_folder(source, target)
    before = target.stat().st_size if target.exists() else None
    with beside(target) as temporary:
        shutil.copyfile(source, temporary)
    was = "" if before is None else f", in place of another of {before:,} bytes"
    return f"Copied {source} to {target} ({target.stat().st_size:,} bytes{was})."


def _add_folder(source: Path, target: Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    replaced = sum((target / path.relative_to(source)).is_file() for path in files_of(source))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as beside_it:
        new = Path(beside_it) / "new"
        if target.exists():
            shutil.copytree(target, new)
        shutil.copytree(source, new, dirs_exist_ok=True)
        if target.exists():
            target.rename(Path(beside_it) / "old")
        new.rename(target)
    count = len(files_of(source))
    return f"Copied the files of {source} to {target}: {count}, of which {replaced} replaced others."


def run_trace(defs: dg.Definitions, instance: dg.DagsterInstance, trace_id: str) -> list[Failure]:
    """One trace from raw file to dossier; why it failed, or nothing."""
    instance.add_dynamic_partitions(PARTITIONS, [trace_id])
    return _run(defs, instance, TRACE_JOB, trace_id)


def run_placement(defs: dg.Definitions, instance: dg.DagsterInstance, rows: int | None) -> list[Failure]:
    """Snapshots (so many, else the config's number), model, scores; why it failed, or nothing."""
    asked = {} if rows is None else {"ops": {SNAPSHOTS_STEP: {"config": {"rows": rows}}}}
    return _run(defs, instance, PLACEMENT_JOB, None, asked)


def publish(defs: dg.Definitions, instance: dg.DagsterInstance) -> list[Failure]:
    """The catalog over all traces; why it failed, or nothing."""
    return _run(defs, instance, PUBLISH_JOB, None)


def _run(
    defs: dg.Definitions,
    instance: dg.DagsterInstance,
    job: str,
    partition: str | None,
    asked: Mapping[str, Any] | None = None,
) -> list[Failure]:
    result = defs.resolve_job_def(job).execute_in_process(
        partition_key=partition,
        instance=instance,
        raise_on_error=False,
        run_config={"loggers": {LOGGER: {}}, **(asked or {})},
        tags=process_tag(),
    )
    return [] if result.success else failures(result)
