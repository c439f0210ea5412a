"""Taking a trace out: what was made of it, its partition, and if asked its files.

In:  a trace id.   Out: nothing of it but the history of its runs.
Not here: the catalog, which is built anew over what is left.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.frozen import SAFE_ID
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project

PARTITIONS = traces.name or ""


def made_of(project: Project, trace_id: str) -> list[Path]:
    """Folders that hold what was made of a trace; those that are there."""
    stored = [
        *project.store.glob(f"*/trace={trace_id}"),
        *project.store.glob(f"replay/*/trace={trace_id}"),
    ]
    return [
        path
        for path in (
            *sorted(stored),
            project.dossier_of(trace_id).parent,
            project.dossiers_with_names / trace_id,
            project.profiles / trace_id,
            project.forecasts / trace_id,
            project.stress / trace_id,
        )
        if path.is_dir()
    ]


def remove(
    project: Project, instance: dg.DagsterInstance, trace_id: str, raw: Sequence[Path] = ()
) -> list[Path]:
    """Remove what was made of a trace, its partition, and the sources `raw`; what was removed.

    Raises `InputError` where there is nothing of that name.
    """
    folders = made_of(project, trace_id) if SAFE_ID.fullmatch(trace_id) else []
    is_known = instance.has_dynamic_partition(PARTITIONS, trace_id)
    if not folders and not is_known and not raw:
        raise InputError(
            found="nothing of that name",
            needed="a trace in data/raw, or one that was run",
            where=trace_id,
            next_step="See `hpcopt traces`.",
        )
    for path in (*folders, *raw):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if is_known:
        instance.delete_dynamic_partition(PARTITIONS, trace_id)
    return [*folders, *raw]
