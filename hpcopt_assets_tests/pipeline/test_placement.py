"""Placement as a job: a cluster of another shape by config alone, and what its model refuses afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest
import yaml

from hpcopt_assets.definitions import build_definitions
from hpcopt_assets.orchestration.io import part_path
from hpcopt_assets.orchestration.jobs import PLACEMENT_JOB, PUBLISH_JOB
from hpcopt_assets.orchestration.progress import failures
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.warehouse.query import query
from hpcopt_assets_tests.placement.builders import SMALL, changed

TABLES = ("placement_snapshots", "placement_predictions", "placement_scores", "placement_study")
Run = Callable[..., dg.ExecuteInProcessResult]


@pytest.fixture
def run(project: Project, instance: dg.DagsterInstance) -> Run:
    """Run a job, or some of its assets, with configs/placement.yaml as the small cluster has it."""

    def of(
        job: str, only: list[str] | None = None, **sections: dict[str, object]
    ) -> dg.ExecuteInProcessResult:
        both = {name: SMALL.get(name, {}) | sections.get(name, {}) for name in {*SMALL, *sections}}
        path = project.configs / "placement.yaml"
        path.write_text(yaml.safe_dump(changed(**both)), encoding="utf-8")
        return (
            build_definitions()
            .resolve_job_def(job)
            .execute_in_process(
                instance=instance,
                raise_on_error=False,
                asset_selection=[dg.AssetKey(name) for name in only] if only else None,
            )
        )

    return of


def told_across(project: Project) -> dict[str, Any]:
    """The dossier over all traces, as data."""
    found: dict[str, Any] = json.loads(project.credibility.with_suffix(".json").read_text(encoding="utf-8"))
    return found


def test_another_shape_goes_end_to_end_by_config_alone(project: Project, run: Run) -> None:
    result = run(PLACEMENT_JOB)
    assert result.success, failures(result)
    checks = {event.check_name for event in result.get_asset_check_evaluations()}
    assert checks == {"keeps_its_contract", "vectors_fit_the_cluster"}
    assert all(event.passed for event in result.get_asset_check_evaluations())
    bundle = json.loads((project.placement / "bundle.json").read_text(encoding="utf-8"))
    assert {vector["name"]: vector["length"] for vector in bundle["vectors"]} == {
        "server_bitmap": 128,
        "leaf_utilization": 32,
        "budget_remaining": 16,
    }
    stored = part_path(project.store, ("placement_snapshots",), None)
    assert pl.read_parquet(stored).height == 3000
    made = result.asset_materializations_for_node("placement_snapshots")[0]
    assert made.tags["dagster/data_version"] == bundle["training_data_sha256"]
    figures = {path.name for path in project.placement.glob("*.svg")}
    assert figures == {"reliability.svg", "roc_pr.svg", "confusion.svg"}

    assert run(PUBLISH_JOB).success
    for table in TABLES:
        assert query(project.duckdb, f"SELECT count(*) AS n FROM {table}").to_pylist()[0]["n"] > 0  # noqa: S608
    length = query(project.duckdb, "SELECT DISTINCT len(server_bitmap) AS n FROM placement_snapshots")
    assert length.to_pylist() == [{"n": 128}]

    told = told_across(project)
    assert told["errors"] == []
    study = next(part for part in told["content"] if part.get("assets") == ["placement_study"])
    assert [row[0] for row in study["rows"]] == ["admit all", "counting rule", "model"]
    rests_on = {item["asset"] for item in told["lineage"]}
    assert {"placement_snapshots", "placement_model", "placement_scores", "placement_study"} <= rests_on

    # Its numbers are of the model that was made; another in its place is an error by name.
    model = project.placement / "model.onnx"
    content = model.read_bytes()
    model.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert run(PUBLISH_JOB).success
    assert [error["asset"] for error in told_across(project)["errors"]] == ["placement_model"]
    model.unlink()
    assert run(PUBLISH_JOB).success
    assert [error["found"] for error in told_across(project)["errors"]] == ["no file model.onnx"]
    model.write_bytes(content)

    # The bundle is of that cluster: another's snapshots, whatever their shape, are refused before scoring.
    for cluster, named in (({"sus": 4}, "sus"), ({"circuits_per_interval": 3}, "circuits_per_interval")):
        remade = run(PLACEMENT_JOB, ["placement_snapshots"], cluster=cluster)
        assert remade.success, failures(remade)
        for asset in ("placement_predictions", "placement_scores", "placement_study"):
            refused = failures(run(PLACEMENT_JOB, [asset], cluster=cluster))
            assert [named in failure.reason for failure in refused] == [True], refused
            assert refused[0].exit_code == 2


def test_snapshots_of_another_shape_than_configured_stop_what_is_downstream(
    project: Project, run: Run
) -> None:
    assert run(PLACEMENT_JOB, ["placement_snapshots"]).success
    stored = part_path(project.store, ("placement_snapshots",), None)
    rows = pl.read_parquet(stored)
    rows.with_columns(server_bitmap=pl.Series(rows["server_bitmap"].to_numpy()[:, :64])).write_parquet(stored)
    defs = build_definitions()
    checked = defs.resolve_job_def(PLACEMENT_JOB).get_subset(
        asset_check_selection={
            dg.AssetCheckKey(dg.AssetKey("placement_snapshots"), "vectors_fit_the_cluster")
        }
    )
    result = checked.execute_in_process(raise_on_error=False)
    assert [event.passed for event in result.get_asset_check_evaluations()] == [False]


def test_what_was_never_made_is_listed_and_no_failure(project: Project, run: Run) -> None:
    result = run(PUBLISH_JOB)
    assert result.success
    views = str(result.asset_materializations_for_node("duckdb_catalog")[0].metadata["views"].value)
    assert all(f"| {table} | 0 | {table} |" in views for table in TABLES)
    assert query(project.duckdb, "SELECT count(*) AS n FROM placement_study").to_pylist() == [{"n": 0}]


def test_rows_may_be_asked_for_in_one_run(project: Project, run: Run, instance: dg.DagsterInstance) -> None:
    run(PLACEMENT_JOB, ["placement_snapshots"])
    result = (
        build_definitions()
        .resolve_job_def(PLACEMENT_JOB)
        .execute_in_process(
            instance=instance,
            asset_selection=[dg.AssetKey("placement_snapshots")],
            run_config={"ops": {"placement_snapshots": {"config": {"rows": 200}}}},
        )
    )
    assert result.success
    assert pl.read_parquet(part_path(project.store, ("placement_snapshots",), None)).height == 200


def predictions_version() -> str | None:
    graph = build_definitions().get_repository_def().asset_graph
    return graph.get(dg.AssetKey("placement_predictions")).code_version


def test_a_replaced_model_from_elsewhere_makes_predictions_stale(project: Project, tmp_path: Path) -> None:
    named = {"onnx": str(tmp_path / "model.onnx"), "bundle": str(tmp_path / "bundle.json")}
    path = project.configs / "placement.yaml"
    path.write_text(yaml.safe_dump(changed(inference=named)), encoding="utf-8")
    versions = [predictions_version()]
    for name in named.values():
        for content in ("one", "other"):
            Path(name).write_text(content, encoding="utf-8")
            versions.append(predictions_version())
    assert len(set(versions)) == 5
    assert predictions_version() == versions[-1]


def test_a_model_of_our_own_is_an_input_and_no_part_of_the_code(project: Project) -> None:
    before = predictions_version()
    project.placement.mkdir(parents=True, exist_ok=True)
    (project.placement / "model.onnx").write_text("trained", encoding="utf-8")
    assert predictions_version() == before
