"""The real graph on a project of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import dagster as dg
import pytest

from hpcopt_assets.definitions import build_definitions
from hpcopt_assets.orchestration.jobs import TRACE_JOB
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.runner import PARTITIONS


class RunTrace(Protocol):
    """Takes one trace of data/raw through the graph, or through some of its assets."""

    def __call__(self, trace_id: str, only: list[str] | None = None) -> dg.ExecuteInProcessResult: ...


def swf(jobs: int = 60, procs: int = 8) -> str:
    """A small log: jobs of mixed widths that queue for an eight-processor machine."""
    lines = ["; Computer: hand-made", f"; MaxProcs: {procs}", "; UnixStartTime: 1700000000"]
    for i in range(jobs):
        width, runtime = 1 + (i * 5) % procs, 100 + (i * 37) % 400
        lines.append(
            f"{i + 1} {i * 90} {(i * 53) % 700} {runtime} {width} -1 -1 {width} {runtime + 60} -1 "
            f"1 {i % 3} 1 -1 1 1 -1 -1"
        )
    return "\n".join(lines) + "\n"


@pytest.fixture
def defs(project: Project) -> dg.Definitions:
    """The definitions over the project's own folders."""
    assert project.home.is_dir()
    return build_definitions()


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def run_trace(defs: dg.Definitions, instance: dg.DagsterInstance) -> RunTrace:
    def run(trace_id: str, only: list[str] | None = None) -> dg.ExecuteInProcessResult:
        instance.add_dynamic_partitions(PARTITIONS, [trace_id])
        return defs.resolve_job_def(TRACE_JOB).execute_in_process(
            partition_key=trace_id,
            instance=instance,
            raise_on_error=False,
            run_config={"loggers": {"progress": {}}},
            asset_selection=[dg.AssetKey(name) for name in only] if only else None,
        )

    return run
