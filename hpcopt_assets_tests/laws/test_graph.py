"""The graph is the chain drawn in the README, and every asset says what it is."""

from __future__ import annotations

import re
from pathlib import Path

import dagster as dg
import pytest

from hpcopt_assets.assets.checks import CONTRACT_CHECK
from hpcopt_assets.definitions import build_definitions
from hpcopt_assets.orchestration.jobs import PUBLISH_JOB, TRACE_JOB

README = Path(__file__).parents[2] / "README.md"
POLICY = re.compile(r"^replay/.*$")


@pytest.fixture(scope="module")
def defs() -> dg.Definitions:
    """The definitions as Dagster loads them from this checkout."""
    return build_definitions()


def drawn_edges() -> set[tuple[str, str]]:
    """Edges of the README's picture."""
    picture = re.search(r"```mermaid\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert picture
    found = set()
    for line in picture[1].splitlines():
        if "-->" in line:
            left, right = re.sub(r"\[.*?\]", "", line).split("-->")
            found |= {(a.strip(), b.strip()) for a in left.split("&") for b in right.split("&")}
    return found


def real_edges(defs: dg.Definitions) -> set[tuple[str, str]]:
    graph = defs.resolve_asset_graph()

    def name(key: dg.AssetKey) -> str:
        return POLICY.sub("replay", key.to_user_string())

    return {
        (name(parent), name(key))
        for key in graph.get_all_asset_keys()
        for parent in graph.get(key).parent_keys
    }


def test_the_graph_is_the_chain_we_drew(defs: dg.Definitions) -> None:
    assert real_edges(defs) == drawn_edges()


def test_every_policy_of_a_kind_has_the_same_edges(defs: dg.Definitions) -> None:
    """Those that believe forecasts have an input and an account more than the others."""
    graph = defs.resolve_asset_graph()
    replays = [key for key in graph.get_all_asset_keys() if key.path[0] == "replay"]
    forecast, account = dg.AssetKey("runtime_estimates"), dg.AssetKey("estimate_accounting")
    believing = [key for key in replays if forecast in graph.get(key).parent_keys]
    others = [key for key in replays if key not in believing]
    assert len(others) >= 3
    assert len(believing) >= 3
    edges = {
        (frozenset(graph.get(k).parent_keys - {forecast}), frozenset(graph.get(k).child_keys - {account}))
        for k in replays
    }
    assert len(edges) == 1
    assert all(account in graph.get(key).child_keys for key in believing)
    assert not any(account in graph.get(key).child_keys for key in others)


def test_every_asset_says_what_it_is_and_whose(defs: dg.Definitions) -> None:
    for spec in defs.resolve_all_asset_specs():
        assert spec.description, spec.key
        assert spec.group_name != "default", spec.key
        assert spec.owners, spec.key
        assert spec.kinds, spec.key
        assert spec.code_version, spec.key


def test_every_table_is_checked_and_shows_its_columns(defs: dg.Definitions) -> None:
    graph = defs.resolve_asset_graph()
    checked = {key.asset_key for key in graph.asset_check_keys if key.name == CONTRACT_CHECK}
    tables = {spec.key: spec for spec in defs.resolve_all_asset_specs() if "table" in spec.metadata}
    assert checked == set(tables)
    assert all(spec.metadata["dagster/column_schema"].columns for spec in tables.values())


@pytest.mark.parametrize(("job", "has_partitions"), [(TRACE_JOB, True), (PUBLISH_JOB, False)])
def test_jobs_split_per_trace_from_published(defs: dg.Definitions, job: str, has_partitions: bool) -> None:  # noqa: FBT001
    assert (defs.resolve_job_def(job).partitions_def is not None) == has_partitions


def test_sensors_and_schedule_run_by_default(defs: dg.Definitions) -> None:
    assert {sensor.default_status for sensor in defs.sensors or []} == {dg.DefaultSensorStatus.RUNNING}
    assert {schedule.default_status for schedule in defs.schedules or []} == {
        dg.DefaultScheduleStatus.RUNNING
    }
