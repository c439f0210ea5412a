"""Runs the graph from the command line on the same instance that the UI shows.

In:  files or trace ids.   Out: partitions, runs, and how each ended.
Not here: saying what was found (findings.py).
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.orchestration.files import beside
from hpcopt_assets.orchestration.jobs import PUBLISH_JOB, TRACE_JOB
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.progress import LOGGER, Failure, failures
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.provenance import latest
from hpcopt_assets.orchestration.sources import find_sources, trace_id_of

PARTITIONS = traces.name or ""


@dataclass(frozen=True)
class Registered:
    """A trace to run. `copied_to` is the file this call put into data/raw, if it did."""

    trace_id: str
    copied_to: Path | None = None


def register(project: Project, item: str) -> Registered:
    """A trace id of data/raw, or a file: copied there whole unless it is there already.

    Raises InputError where the item is neither, or where another file has the id already.
    """
    known = find_sources(project.raw)
    path = Path(item).expanduser()
    if not path.exists():
        if item in known:
            return Registered(item)
        raise InputError(
            found="no such file or trace",
            needed=f"a file, or one of {', '.join(known) or '(data/raw is empty)'}",
            where=item,
            next_step="Check the path, or see `hpcopt traces`.",
        )
    if not path.is_file():
        raise InputError("a folder", "one file, such as trace.swf.gz", item, "Name each file.")
    trace_id = trace_id_of(path.name)
    target = project.raw / path.name
    others = [other.name for other in known.get(trace_id, []) if other.name != path.name]
    if others:
        raise InputError(
            found=f"{', '.join(others)} in data/raw has the id {trace_id} already",
            needed="one file for each id",
            where=item,
            next_step="Rename the file, or remove the other one.",
        )
    if target.exists():
        if target.samefile(path):
            return Registered(trace_id)
        if target.read_bytes() == path.read_bytes():
            return Registered(trace_id)
    is_new = not target.exists()
    with beside(target) as temporary:
        shutil.copyfile(path, temporary)
    return Registered(trace_id, target if is_new else None)


def run_trace(defs: dg.Definitions, instance: dg.DagsterInstance, trace: Registered) -> list[Failure]:
    """One trace from raw file to dossier; why it failed, or nothing.

    A file that this command brought in and that became no table is taken out again.
    """
    instance.add_dynamic_partitions(PARTITIONS, [trace.trace_id])
    result = defs.resolve_job_def(TRACE_JOB).execute_in_process(
        partition_key=trace.trace_id,
        instance=instance,
        raise_on_error=False,
        run_config={"loggers": {LOGGER: {}}},
    )
    if result.success:
        return []
    if trace.copied_to and latest(instance, dg.AssetKey("trace_jobs"), trace.trace_id) is None:
        trace.copied_to.unlink(missing_ok=True)
        instance.delete_dynamic_partition(PARTITIONS, trace.trace_id)
    return failures(result)


def publish(defs: dg.Definitions, instance: dg.DagsterInstance) -> list[Failure]:
    """The catalog over all traces; why it failed, or nothing."""
    result = defs.resolve_job_def(PUBLISH_JOB).execute_in_process(
        instance=instance, raise_on_error=False, run_config={"loggers": {LOGGER: {}}}
    )
    return [] if result.success else failures(result)
