"""The night: what is missing or was made by older decisions is taken through again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg
import pytest

from hpcopt_assets.definitions import build_definitions
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.schedules import nightly_repair
from hpcopt_assets_tests.pipeline.conftest import RunTrace, swf


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """On disk: a schedule's context opens the instance a second time, by reference."""
    with dg.DagsterInstance.local_temp(overrides={"telemetry": {"enabled": False}}) as temporary:
        yield temporary


def repaired(defs: dg.Definitions, instance: dg.DagsterInstance) -> list[str | None] | str | None:
    context = dg.build_schedule_context(
        instance=instance,
        scheduled_execution_time=datetime(2026, 1, 2, 2, 30, tzinfo=UTC),
        repository_def=defs.get_repository_def(),
        resources={"project": defs.resources["project"], "loaded": defs.resources["loaded"]},
    )
    result = nightly_repair(context)
    return result.skip_message if isinstance(result, dg.SkipReason) else [r.partition_key for r in result]


def test_the_night_repairs_what_is_missing_or_made_by_older_decisions(
    project: Project, defs: dg.Definitions, run_trace: RunTrace, instance: dg.DagsterInstance
) -> None:
    (project.raw / "a.swf").write_text(swf())
    (project.raw / "b.swf").write_text(swf())
    assert run_trace("a").success
    instance.add_dynamic_partitions("traces", ["b"])
    assert repaired(defs, instance) == ["b"]
    assert run_trace("b").success
    assert repaired(defs, instance) == "every trace is complete and up to date"
    limits = project.configs / "fidelity.yaml"
    limits.write_text(limits.read_text().replace("max_bsld_ks: 0.15", "max_bsld_ks: 0.2"))
    assert "reload the definitions" in str(repaired(defs, instance))
    assert repaired(build_definitions(), instance) == ["a", "b"]
