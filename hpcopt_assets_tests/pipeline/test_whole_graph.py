"""A trace through the whole graph: what is stored, what is recorded, and what a bad one costs."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.orchestration.findings import SAMPLE_QUERY
from hpcopt_assets.orchestration.io import part_path
from hpcopt_assets.orchestration.jobs import PUBLISH_JOB
from hpcopt_assets.orchestration.project import CHECKOUT, Project
from hpcopt_assets.orchestration.provenance import ancestry, latest
from hpcopt_assets_tests.pipeline.conftest import RunTrace, swf

STORED = [
    "raw_trace", "trace_jobs", "trace_rejects", "ingest_report", "trace_profile",
    "job_features", "feature_splits", "runtime_model", "runtime_importance", "runtime_estimates",
    "forecast_scores", "estimate_accounting", "replay/fifo_strict",
    "replay/easy_backfill",
    "replay/easy_clairvoyant", "invariant_report", "replay_measures", "shaken_measures",
    "fidelity_verdicts", "policy_closeness", "robustness", "claim_verdicts", "recommendation",
    "stress_replays", "sensitivity",
]  # fmt: skip

NO_EVIDENCE = {"trace_profile"}
# What the dossier of a trace does not rest on.


def store_files(project: Project) -> list[Path]:
    return sorted(path for path in project.store.rglob("*") if path.is_file())


def versions(instance: dg.DagsterInstance, trace_id: str) -> dict[str, str | None]:
    made = {
        name: latest(instance, dg.AssetKey(name.split("/")), trace_id) for name in [*STORED, "trace_dossier"]
    }
    return {name: item.data_version if item else None for name, item in made.items()}


def test_every_table_is_stored_within_its_contract(
    project: Project, run_trace: RunTrace, instance: dg.DagsterInstance
) -> None:
    (project.raw / "small.swf").write_text(swf())
    assert run_trace("small").success
    stored = {name: part_path(project.store, tuple(name.split("/")), "small") for name in STORED}
    assert store_files(project) == sorted(stored.values())
    for name, path in stored.items():
        table = TABLES["replay_schedule" if name.startswith("replay/") else name]
        validate(table, pl.read_parquet(path, hive_partitioning=False))
        assert versions(instance, "small")[name] == hashlib.sha256(path.read_bytes()).hexdigest()
    page = project.dossier_of("small").read_text(encoding="utf-8")
    assert hashlib.sha256((project.raw / "small.swf").read_bytes()).hexdigest() in page


def test_the_same_trace_again_gives_the_same_versions(
    project: Project, run_trace: RunTrace, instance: dg.DagsterInstance
) -> None:
    (project.raw / "small.swf").write_text(swf())
    assert run_trace("small").success
    first = versions(instance, "small")
    assert run_trace("small").success
    assert versions(instance, "small") == first
    assert None not in first.values()


def test_the_ancestry_of_a_dossier_is_of_its_own_trace_and_reaches_the_raw_file(
    project: Project, run_trace: RunTrace, instance: dg.DagsterInstance
) -> None:
    """Two traces at work at once: Dagster's pointers then name the other trace's records."""
    (project.raw / "small.swf").write_text(swf())
    (project.raw / "other.swf").write_text(swf(jobs=30))
    for only in (["raw_trace"], ["trace_jobs", "trace_rejects", "ingest_report"], None):
        for trace_id in ("small", "other"):
            assert run_trace(trace_id, only).success
    dossier = latest(instance, dg.AssetKey("trace_dossier"), "small")
    assert dossier is not None
    line = ancestry(instance, (dossier,))
    assert {item.asset for item in line} == {*STORED, "trace_dossier"} - NO_EVIDENCE
    assert {item.partition for item in line} == {"small"}
    assert line[0].asset == "raw_trace"
    recorded = {item.record_id: item for item in line}
    for item in line:
        for source in item.inputs:
            assert source.record_id is not None
            assert recorded[source.record_id].asset == source.asset
            assert recorded[source.record_id].data_version == source.data_version


def test_a_wiped_history_is_an_error_not_a_gap(
    project: Project, run_trace: RunTrace, instance: dg.DagsterInstance
) -> None:
    (project.raw / "small.swf").write_text(swf())
    assert run_trace("small").success
    dossier = latest(instance, dg.AssetKey("trace_dossier"), "small")
    assert dossier is not None
    instance.wipe_assets([dg.AssetKey("raw_trace")])
    with pytest.raises(EvidenceError, match="raw_trace"):
        ancestry(instance, (dossier,))


@pytest.mark.parametrize("content", [b"", b"\0\1\2binary", b"; only: a header\n", b"no job here\n"])
def test_a_bad_file_fails_alone_and_leaves_no_table_of_jobs(
    project: Project, run_trace: RunTrace, content: bytes
) -> None:
    (project.raw / "bad.swf").write_bytes(content)
    (project.raw / "good.swf").write_text(swf())
    assert not run_trace("bad").success
    assert run_trace("good").success
    of_bad = {
        path.relative_to(project.store).parts[0] for path in store_files(project) if "trace=bad" in str(path)
    }
    assert of_bad <= {"raw_trace"}
    assert not list(project.store.rglob("*.tmp"))


def test_two_files_for_one_trace_fail_that_trace(project: Project, run_trace: RunTrace) -> None:
    (project.raw / "twin.swf").write_text(swf())
    (project.raw / "twin.swf.gz").write_text(swf())
    assert not run_trace("twin").success


def test_a_value_outside_its_contract_stops_what_is_downstream(
    project: Project, run_trace: RunTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hpcopt_assets.assets.ingest as room

    honest = room.ingest

    def broken(path: Path, **kwargs: object) -> object:
        found = honest(path, **kwargs)  # type: ignore[arg-type]
        if kwargs["trace_id"] != "bad":
            return found
        negative = found.jobs.with_columns(runtime_s=pl.lit(-5, pl.Int64), end_s=pl.col("start_s") - 5)
        return type(found)(negative, found.rejects, found.report, found.breakdown)

    monkeypatch.setattr(room, "ingest", broken)
    for name in ("bad", "good"):
        (project.raw / f"{name}.swf").write_text(swf())
    result = run_trace("bad")
    assert not result.success
    checks = [
        event.asset_check_evaluation_data
        for event in result.all_events
        if event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION
    ]
    failed = {check.asset_key.to_user_string(): check.severity for check in checks if not check.passed}
    assert failed == {"trace_jobs": dg.AssetCheckSeverity.ERROR}
    assert not part_path(project.store, ("replay", "fifo_strict"), "bad").exists()
    assert run_trace("good").success


def test_the_catalog_spans_all_traces_and_says_what_is_missing(
    project: Project, run_trace: RunTrace, instance: dg.DagsterInstance, defs: dg.Definitions
) -> None:
    from hpcopt_assets.warehouse.query import query

    for name, jobs in (("a", 60), ("b", 30)):
        (project.raw / f"{name}.swf").write_text(swf(jobs))
        assert run_trace(name).success
    instance.add_dynamic_partitions("traces", ["never_run"])
    result = defs.resolve_job_def(PUBLISH_JOB).execute_in_process(instance=instance)
    assert result.success
    counted = query(
        project.duckdb, "SELECT trace_id, count(*) AS jobs FROM trace_jobs GROUP BY ALL ORDER BY ALL"
    )
    assert counted.to_pylist() == [{"trace_id": "a", "jobs": 60}, {"trace_id": "b", "jobs": 30}]
    replays = query(project.duckdb, "SELECT count(DISTINCT policy) AS n FROM replay_schedule").to_pylist()
    assert replays == [{"n": 3}]
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    shown = [SAMPLE_QUERY, *re.findall(r'hpcopt query "(.*?)"', readme)]
    assert len(shown) >= 4
    for sql in shown:
        query(project.duckdb, sql)
    views = result.asset_materializations_for_node("duckdb_catalog")[0].metadata["views"].value
    assert "replay/fifo_strict/trace=never_run" in str(views)
    assert not list(project.duckdb.parent.glob("*.tmp"))
