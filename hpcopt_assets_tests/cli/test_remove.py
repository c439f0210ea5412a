"""Taking a trace out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcopt_assets.orchestration.project import Project
from hpcopt_assets_tests.cli.command import Hpcopt, mistake
from hpcopt_assets_tests.pipeline.conftest import swf


@pytest.mark.slow
def test_nothing_of_a_trace_is_left_and_others_stay(hpcopt: Hpcopt, log: Path, project: Project) -> None:
    other = log.with_name("other.swf")
    other.write_text(swf(jobs=30))
    assert hpcopt("run", log, other).returncode == 0
    done = hpcopt("remove", "small")
    assert done.returncode == 0, done.stderr
    assert "small.swf is still there" in done.stdout
    assert hpcopt("remove", "small", "--raw").returncode == 0
    left = {path.name for folder in (project.store, project.profiles) for path in folder.rglob("*small*")}
    assert left == set()
    assert not project.dossier_of("small").exists()
    assert [path.name for path in project.raw.iterdir()] == ["other.swf"]
    sql = "SELECT DISTINCT trace_id FROM trace_jobs"
    assert hpcopt("query", sql, "--format", "csv").stdout == "trace_id\nother\n"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("trace_id", ["none_such", "../raw", "*"])
def test_what_is_not_there_cannot_be_taken_out(hpcopt: Hpcopt, trace_id: str) -> None:
    assert "nothing of that name" in mistake(hpcopt("remove", trace_id))
