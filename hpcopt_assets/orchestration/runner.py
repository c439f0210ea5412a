"""Runs the graph from the command line on the same instance that the UI shows.

In:  files or trace ids.   Out: partitions, runs, and how each ended.
Not here: saying what was found (findings.py); reading a file (a function is handed in that does).
"""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.orchestration.files import beside
from hpcopt_assets.orchestration.jobs import PUBLISH_JOB, TRACE_JOB
from hpcopt_assets.orchestration.orphans import process_tag
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.progress import LOGGER, Failure, failures
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.sources import find_sources, is_source_name, trace_id_of

PARTITIONS = traces.name or ""
Probe = Callable[[Path, str], object]
# Reads a file as the trace of that id; raises where it cannot become a table.


@dataclass(frozen=True)
class Wanted:
    """A trace to run, and the file it is to be taken from if that is not in data/raw yet."""

    trace_id: str
    file: Path | None = None


def resolve(project: Project, item: str) -> Wanted:
    """What a word on the command line means: a file, else a trace id. Nothing is touched.

    Raises InputError where it is neither, is no name for a trace, or another file has the id already.
    """
    known = find_sources(project.raw)
    path = Path(item).expanduser()
    if item in known and not path.is_file():
        return Wanted(item)
    if not path.exists():
        raise InputError(
            found="no such file or trace",
            needed=f"a file, or one of {', '.join(known) or '(data/raw is empty)'}",
            where=item,
            next_step="Check the path, or see `hpcopt traces`.",
        )
    if not path.is_file():
        found = "a folder" if path.is_dir() else "no regular file"
        raise InputError(found, "one file, such as trace.swf.gz", item, "Name each file.")
    if not is_source_name(path.name):
        raise InputError(
            found=f"the name {path.name!r}",
            needed="a name that is not hidden, README, .tmp or .part: such files in data/raw are no traces",
            where=item,
            next_step="Rename the file.",
        )
    trace_id, target = trace_id_of(path.name), project.raw / path.name
    others = [other.name for other in known.get(trace_id, []) if other.name != path.name]
    if others:
        raise InputError(
            found=f"{', '.join(others)} in data/raw has the id {trace_id} already",
            needed="one file for each id",
            where=item,
            next_step="Rename the file, or remove the other one.",
        )
    is_there = target.exists() and (target.samefile(path) or filecmp.cmp(target, path, shallow=False))
    return Wanted(trace_id, None if is_there else path)


def take_in(project: Project, wanted: Sequence[Wanted], probe: Probe) -> None:
    """Copy the files that are not in data/raw yet, each whole, after all of them could be read.

    A file that cannot become a table, or two files for one id, raise before anything is copied.
    """
    twice = {w.trace_id for w in wanted if w.file and sum(o.trace_id == w.trace_id for o in wanted) > 1}
    if twice:
        raise InputError(
            found=f"several files for the id {', '.join(sorted(twice))}",
            needed="one file for each id",
            where="the files named",
            next_step="Rename them, or run them one after the other.",
        )
    new = [(item.file, item.trace_id) for item in wanted if item.file is not None]
    for file, trace_id in new:
        probe(file, trace_id)
    for file, _ in new:
        with beside(project.raw / file.name) as temporary:
            shutil.copyfile(file, temporary)


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
