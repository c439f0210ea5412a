"""The dossier over the real graph: the same from two clean runs, honest about evidence that was changed."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import jsonschema
import pytest

from hpcopt_assets.contracts import tables
from hpcopt_assets.contracts.makers import flag
from hpcopt_assets.contracts.schemas import all_json_schemas
from hpcopt_assets.orchestration.io import part_path
from hpcopt_assets.orchestration.jobs import PUBLISH_JOB, TRACE_JOB
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.runner import PARTITIONS
from hpcopt_assets_tests.pipeline.conftest import RunTrace, swf


def dossier_of(project: Project, trace_id: str = "small") -> dict[str, Any]:
    path = project.dossier_of(trace_id).with_suffix(".json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_two_clean_runs_differ_in_nothing_but_when_and_in_which_run(
    project: Project, defs: dg.Definitions
) -> None:
    (project.raw / "small.swf").write_text(swf())
    told = []
    for _ in range(2):
        shutil.rmtree(project.store, ignore_errors=True)
        shutil.rmtree(project.dossiers, ignore_errors=True)
        with dg.DagsterInstance.ephemeral() as instance:
            instance.add_dynamic_partitions(PARTITIONS, ["small"])
            job = defs.resolve_job_def(TRACE_JOB)
            assert job.execute_in_process(
                partition_key="small", instance=instance, run_config={"loggers": {"progress": {}}}
            ).success
            publish(instance, defs, project)
        pages = project.dossier_of("small"), project.credibility
        told.append([page.with_suffix(".json").read_text(encoding="utf-8") for page in pages])
    assert told[0] != told[1]
    for one, other in zip(*told, strict=True):
        first, second = (text[: text.index('\n "provenance": {')] for text in (one, other))
        assert first == second
        jsonschema.validate(json.loads(one), all_json_schemas()["dossier"])
        assert not json.loads(one)["errors"]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


CHANGED = [
    ("robustness", flip, "a file of SHA-256 "),
    ("replay_measures", Path.unlink, "no file"),
    ("shaken_measures", flip, "a file of SHA-256 "),  # not read by the dossier, but by what it rests on
    ("job_features", Path.unlink, "no file"),
]


@pytest.mark.parametrize(("asset", "change", "found"), CHANGED, ids=[case[0] for case in CHANGED])
def test_a_changed_artefact_is_an_error_by_name_and_the_rest_is_told(
    project: Project, run_trace: RunTrace, asset: str, change: Callable[[Path], None], found: str
) -> None:
    (project.raw / "small.swf").write_text(swf())
    assert run_trace("small").success
    whole = dossier_of(project)
    change(part_path(project.store, (asset,), "small"))
    assert run_trace("small", ["trace_dossier"]).success
    told = dossier_of(project)
    assert [(error["asset"], error["partition"]) for error in told["errors"]] == [(asset, "small")]
    assert told["errors"][0]["found"].startswith(found)
    assert {table["asset"] for table in told["tables"]} == {t["asset"] for t in whole["tables"]} - {asset}
    page = project.dossier_of("small").read_text(encoding="utf-8")
    assert '<p class="error">' in page
    text = project.dossier_of("small").with_suffix(".md").read_text(encoding="utf-8")
    assert f"| {asset} | small | {found}" in text[: text.index("What survives")]


def test_evidence_is_found_by_its_record_and_never_by_the_name_of_a_file(
    project: Project, run_trace: RunTrace
) -> None:
    """Newer files of nearly the same names, in the right places, with other contents."""
    (project.raw / "small.swf").write_text(swf())
    assert run_trace("small").success
    before = dossier_of(project)
    for asset in ("robustness", "claim_verdicts", "replay_measures"):
        part = part_path(project.store, (asset,), "small")
        for decoy in (
            part.with_name("part-1.parquet"),
            project.store / f"{asset}_final" / "trace=small" / "part.parquet",
            project.store / asset / "trace=small-2" / "part.parquet",
        ):
            decoy.parent.mkdir(parents=True, exist_ok=True)
            decoy.write_bytes(b"other evidence")
    assert run_trace("small", ["trace_dossier"]).success
    after = dossier_of(project)
    assert {**before, "provenance": None} == {**after, "provenance": None}


def test_an_error_of_a_table_with_names_quotes_no_hash(project: Project, run_trace: RunTrace) -> None:
    (project.raw / "small.swf").write_text(swf())
    assert run_trace("small").success
    for asset in ("trace_jobs", "replay_measures"):
        flip(part_path(project.store, (asset,), "small"))
    assert run_trace("small", ["trace_dossier"]).success
    found = {error["asset"]: error["found"] for error in dossier_of(project)["errors"]}
    assert found["trace_jobs"] == "a file of SHA-256 (keyed)"
    assert found["replay_measures"].startswith("a file of SHA-256 ")
    assert "(keyed)" not in found["replay_measures"]


def test_a_raw_file_that_was_changed_or_removed_is_an_error(project: Project, run_trace: RunTrace) -> None:
    source = project.raw / "small.swf"
    source.write_text(swf())
    assert run_trace("small").success
    source.write_text(swf() + "; a line more\n")
    assert run_trace("small", ["trace_dossier"]).success
    told = dossier_of(project)
    assert [error["asset"] for error in told["errors"]] == [told["sources"][0]["source_file"]]
    source.unlink()
    assert run_trace("small", ["trace_dossier"]).success
    assert [error["found"] for error in dossier_of(project)["errors"]] == ["no file"]


def test_a_wiped_record_is_an_error_in_the_dossier(
    project: Project, run_trace: RunTrace, instance: dg.DagsterInstance
) -> None:
    (project.raw / "small.swf").write_text(swf())
    assert run_trace("small").success
    instance.wipe_assets([dg.AssetKey("fidelity_verdicts"), dg.AssetKey("shaken_measures")])
    assert run_trace("small", ["trace_dossier"]).success
    errors = {error["asset"]: error["found"] for error in dossier_of(project)["errors"]}
    assert errors["fidelity_verdicts"] == "never materialized"
    assert "no record of shaken_measures" in errors["robustness"]
    assert dossier_of(project)["lineage"]


def publish(instance: dg.DagsterInstance, defs: dg.Definitions, project: Project) -> dict[str, Any]:
    """The dossier over all traces, made from what there is."""
    job, only = defs.resolve_job_def(PUBLISH_JOB), [dg.AssetKey("credibility_dossier")]
    assert job.execute_in_process(instance=instance, asset_selection=only).success
    found: dict[str, Any] = json.loads(project.credibility.with_suffix(".json").read_text(encoding="utf-8"))
    return found


def test_the_dossier_over_all_traces_tells_what_there_is_and_what_is_missing(
    project: Project, run_trace: RunTrace, instance: dg.DagsterInstance, defs: dg.Definitions
) -> None:
    assert "nothing can be told" in json.dumps(publish(instance, defs, project))
    for name, jobs in (("a", 60), ("b", 30)):
        (project.raw / f"{name}.swf").write_text(swf(jobs))
        assert run_trace(name).success
    instance.add_dynamic_partitions(PARTITIONS, ["never_run"])
    flip(part_path(project.store, ("claim_verdicts",), "b"))
    told = publish(instance, defs, project)
    assert [(error["asset"], error["partition"]) for error in told["errors"]] == [("claim_verdicts", "b")]
    missing = next(part for part in told["content"] if part.get("caption") == "Tables that were never made.")
    assert ["robustness", "never_run"] in missing["rows"]
    assert ["placement_scores", "none"] in missing["rows"]
    assert not [row for row in missing["rows"] if row[1] in ("a", "b")]
    of = {table["asset"] for table in told["tables"]}
    assert {"claim_verdicts/a", "robustness/a", "robustness/b"} < of
    assert "claim_verdicts/b" not in of
    assert {source["trace_id"] for source in told["sources"]} == {"a", "b"}
    made = {(item["asset"], item["partition"]) for item in told["lineage"]}
    assert {("raw_trace", "a"), ("raw_trace", "b"), ("shaken_measures", "b")} < made
    again = publish(instance, defs, project)
    assert {**told, "provenance": None} == {**again, "provenance": None}


def test_a_table_of_another_version_is_an_error_and_no_crash(
    project: Project,
    run_trace: RunTrace,
    instance: dg.DagsterInstance,
    defs: dg.Definitions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A store that was made before a column was added holds tables that are what was recorded, and older."""
    (project.raw / "a.swf").write_text(swf())
    assert run_trace("a").success
    table = tables.TABLES["robustness"]
    newer = dataclasses.replace(table, columns=(*table.columns, flag("is_new", "whether it is new")))
    monkeypatch.setitem(tables.TABLES, "robustness", newer)
    found = {error["asset"]: error["found"] for error in publish(instance, defs, project)["errors"]}
    assert found == {"robustness": "columns of another version of this program (is_new)"}
