"""Forecasts in the graph: fitted, served to the policies that believe them, and accounted for."""

from __future__ import annotations

import dagster as dg
import polars as pl
import pytest

from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.definitions import build_definitions
from hpcopt_assets.orchestration.io import part_path
from hpcopt_assets.orchestration.jobs import TRACE_JOB
from hpcopt_assets.orchestration.project import CHECKOUT, Project
from hpcopt_assets.orchestration.provenance import ancestry, latest
from hpcopt_assets.orchestration.runner import PARTITIONS
from hpcopt_assets_tests.forecast.made import habitual_jobs, to_swf, write_small_config


@pytest.fixture
def believing(project: Project) -> Project:
    """A project with one policy more, which believes forecasts, and a small model."""
    write_small_config(project.configs)
    shipped = (CHECKOUT / "configs" / "policies.yaml").read_text(encoding="utf-8")
    first, last = (shipped.index(f"  - id: {name}\n") for name in ("ml_backfill_p50", "ml_backfill_p10"))
    policies = project.configs / "policies.yaml"
    policies.write_text(policies.read_text(encoding="utf-8") + shipped[first:last], encoding="utf-8")
    (project.raw / "habits.swf").write_text(to_swf(habitual_jobs(600)), encoding="utf-8")
    return project


def test_a_trace_is_forecast_replayed_and_accounted_for(believing: Project) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(PARTITIONS, ["habits"])
        done = (
            build_definitions()
            .resolve_job_def(TRACE_JOB)
            .execute_in_process(partition_key="habits", instance=instance, raise_on_error=False)
        )
        assert done.success
        dossier = latest(instance, dg.AssetKey("trace_dossier"), "habits")
        assert dossier is not None
        assert "runtime_model" in {item.asset for item in ancestry(instance, (dossier,))}

    def stored(*key: str) -> pl.DataFrame:
        return pl.read_parquet(part_path(believing.store, key, "habits"), hive_partitioning=False)

    for name in ("job_features", "feature_splits", "runtime_model", "runtime_estimates", "forecast_scores"):
        validate(TABLES[name], stored(name))
    assert stored("runtime_model").height == 12
    schedule = stored("replay", "ml_backfill_p50")
    assert schedule["estimate_source"].value_counts().filter(estimate_source="model")["count"].item() == 360
    accounted = stored("estimate_accounting")
    assert accounted["run"].to_list() == ["as_replayed", "history_honest"]
    assert accounted["unfinished_history_count"][1] == 0
    assert {path.name for path in (believing.forecasts / "habits").iterdir()} == {
        *("calibration.svg", "error_by_size.svg", "error_over_time.svg")
    }
