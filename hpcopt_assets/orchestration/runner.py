"""Runs the graph from the command line on the same instance that the UI shows.

In:  files or trace ids.   Out: partitions, runs, and how each ended.
Not here: saying what was found (findings.py).
"""

from __future__ import annotations

import filecmp
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from hpcopt_assets.contracts.config import TracesConfig
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.orchestration.files import beside
from hpcopt_assets.orchestration.jobs import PUBLISH_JOB, TRACE_JOB
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.progress import LOGGER, Failure, failures
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.provenance import latest
from hpcopt_assets.orchestration.sources import files_of, find_sources, known_traces, trace_id_of

PARTITIONS = traces.name or ""


@dataclass(frozen=True)
class Registered:
    """A trace to run. `copied_to` is what this call put into data/raw, if it did."""

    trace_id: str
    copied_to: Path | None = None


def register(project: Project, registry: TracesConfig, item: str) -> list[Registered]:
    """The traces that an item means: a trace id, or a file or folder, copied to data/raw whole if need be.

    A log that the registry cuts into parts means its parts too. Raises InputError where the item is
    nothing known, or where another file has the id already.
    """
    path = Path(item).expanduser()
    if path.exists():
        trace_id, copied_to = _taken_in(project.raw, path, item)
        return [Registered(name, copied_to) for name in (trace_id, *registry.parts_of(trace_id))]
    known = known_traces(project.raw, registry)
    if item not in known:
        raise InputError(
            found="no such file or trace",
            needed=f"a file, a folder, or one of {', '.join(known) or '(data/raw is empty)'}",
            where=item,
            next_step="Check the path, or see `hpcopt traces`.",
        )
    return [Registered(name) for name in (item, *registry.parts_of(item))]


def _taken_in(raw: Path, path: Path, item: str) -> tuple[str, Path | None]:
    """The trace id of a file or folder, and where it was copied to if it is new to data/raw."""
    trace_id, target = trace_id_of(path.resolve().name), raw / path.resolve().name
    others = [other.name for other in find_sources(raw).get(trace_id, []) if other.name != target.name]
    if others:
        raise InputError(
            found=f"{', '.join(others)} in data/raw has the id {trace_id} already",
            needed="one file or folder for each id",
            where=item,
            next_step="Rename the file, or remove the other one.",
        )
    if path.is_dir() and not files_of(path):
        raise InputError("an empty folder", "a folder of logs, or one file", item, "Name another.")
    is_new = not target.exists()
    if not is_new and (target.samefile(path) or _same(target, path)):
        return trace_id, None
    if path.is_dir():
        _replace_folder(target, path)
    else:
        with beside(target) as temporary:
            shutil.copyfile(path, temporary)
    return trace_id, target if is_new else None


def _same(one: Path, other: Path) -> bool:
    """Whether two sources hold the same files."""
    if one.is_dir() != other.is_dir():
        return False
    names = [[path.relative_to(source) for path in files_of(source)] for source in (one, other)]
    return names[0] == names[1] and all(
        filecmp.cmp(mine, its, shallow=False)
        for mine, its in zip(files_of(one), files_of(other), strict=True)
    )


def _replace_folder(target: Path, path: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as beside_it:
        shutil.copytree(path, Path(beside_it) / "new")
        if target.exists():
            target.rename(Path(beside_it) / "old")
        (Path(beside_it) / "new").rename(target)


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
        if trace.copied_to.is_dir():
            shutil.rmtree(trace.copied_to)
        else:
            trace.copied_to.unlink(missing_ok=True)
        instance.delete_dynamic_partition(PARTITIONS, trace.trace_id)
    return failures(result)


def publish(defs: dg.Definitions, instance: dg.DagsterInstance) -> list[Failure]:
    """The catalog over all traces; why it failed, or nothing."""
    result = defs.resolve_job_def(PUBLISH_JOB).execute_in_process(
        instance=instance, raise_on_error=False, run_config={"loggers": {LOGGER: {}}}
    )
    return [] if result.success else failures(result)
