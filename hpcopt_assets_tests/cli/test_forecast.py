"""`hpcopt forecast`, and replays that are given what it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.contracts.forecast_tables import FORECAST_TABLES
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.orchestration.project import CHECKOUT, Project
from hpcopt_assets_tests.cli.command import Hpcopt, mistake
from hpcopt_assets_tests.forecast.made import habitual_jobs, to_swf, write_small_config
from hpcopt_assets_tests.pipeline.conftest import swf


@pytest.fixture
def habits(project: Project, tmp_path: Path) -> Path:
    """A log of habits, in a project with a small forecast and all policies."""
    write_small_config(project.configs)
    policies = (CHECKOUT / "configs" / "policies.yaml").read_text(encoding="utf-8")
    (project.configs / "policies.yaml").write_text(policies, encoding="utf-8")
    path = tmp_path / "habits.swf"
    path.write_text(to_swf(habitual_jobs(600)), encoding="utf-8")
    return path


def test_tables_models_and_figures_are_written_and_believed(hpcopt: Hpcopt, habits: Path) -> None:
    out = habits.parent / "out"
    done = hpcopt("forecast", habits, "--out", out)
    assert done.returncode == 0, done.stderr
    for table in FORECAST_TABLES:
        if table.name != "estimate_accounting":
            validate(table, pl.read_parquet(out / f"{table.name}.parquet"))
    names = {path.name for path in out.iterdir() if path.suffix != ".parquet"}
    assert names == {
        *("p10.onnx", "p50.onnx", "p90.onnx"),
        *("calibration.svg", "error_by_size.svg", "error_over_time.svg"),
    }
    assert "tsafrir" in done.stdout
    assert "12 of 12 models" in done.stderr

    told = ("--estimates", out / "runtime_estimates.parquet")
    replayed = hpcopt("replay", habits, "--policy", "ml_backfill_p50", "--json", *told)
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads(replayed.stdout)["estimates_from"]["model"] == 360
    shown = hpcopt("replay", habits, "--policy", "ml_backfill_p50", *told)
    assert "Estimates from: 360 model" in shown.stdout
    ignored = hpcopt("replay", habits, "--policy", "easy_backfill", *told)
    assert "believes no forecasts" in ignored.stderr
    compared = hpcopt("whatif", habits, "--policy", "ml_sjbf", "--json", *told)
    assert json.loads(compared.stdout)["policy"] == "ml_sjbf"


def test_nothing_but_its_own_files_is_replaced(hpcopt: Hpcopt, project: Project, tmp_path: Path) -> None:
    assert project.home.is_dir()
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.svg").write_text("mine", encoding="utf-8")
    (out / "p50.onnx").write_bytes(b"of an earlier trace")
    log = tmp_path / "small.swf"
    log.write_text(swf(), encoding="utf-8")
    done = hpcopt("forecast", log, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "Fold 1 is not made: " in done.stderr
    assert "No model was fitted, for too few jobs had ended" in done.stderr
    assert (out / "thesis.svg").read_text(encoding="utf-8") == "mine"
    assert not (out / "p50.onnx").exists()
    assert pl.read_parquet(out / "runtime_estimates.parquet").height == 60


@pytest.mark.usefixtures("project")
class TestMistakes:
    def test_a_policy_that_believes_forecasts_needs_them(self, hpcopt: Hpcopt, habits: Path) -> None:
        said = mistake(hpcopt("replay", habits, "--policy", "ml_backfill_p50"))
        assert "no forecasts" in said
        assert "--estimates" in said

    def test_a_file_that_holds_no_estimates(self, hpcopt: Hpcopt, habits: Path) -> None:
        said = mistake(hpcopt("replay", habits, "--policy", "ml_backfill_p50", "--estimates", habits))
        assert "runtime_estimates" in said

    def test_a_log_without_starts_says_why_nothing_is_forecast(self, hpcopt: Hpcopt, tmp_path: Path) -> None:
        log = tmp_path / "blind.swf"
        log.write_text(re.sub(r"(?m)^(\d+ \d+) \d+", r"\1 -1", swf()), encoding="utf-8")
        done = hpcopt("forecast", log, "--out", tmp_path / "out")
        assert "the log records no ends of jobs" in done.stderr

    def test_a_folder_that_is_a_file(self, hpcopt: Hpcopt, habits: Path) -> None:
        assert "a folder" in mistake(hpcopt("forecast", habits, "--out", habits))
