"""`hpcopt whatif`, and the same questions to `hpcopt replay`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.orchestration.project import Project
from hpcopt_assets_tests.cli.command import Hpcopt, mistake
from hpcopt_assets_tests.pipeline.conftest import swf

pytestmark = pytest.mark.usefixtures("project")


def asked(hpcopt: Hpcopt, path: Path, *options: str) -> dict[str, object]:
    done = hpcopt("whatif", path, "--json", *options)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_larger_machine_is_compared_with_the_recorded_one(hpcopt: Hpcopt, log: Path) -> None:
    found = asked(hpcopt, log, "--capacity", "16")
    assert (found["baseline_capacity"], found["capacity"]) == (
        {"procs": 8, "steps": []},
        {"procs": 16, "steps": []},
    )
    assert found["capacity_source"] == "header"
    assert found["baseline"]["mean_wait_s"] > found["changed"]["mean_wait_s"]  # type: ignore[index]
    assert asked(hpcopt, log, "--capacity-factor", "2")["changed"] == found["changed"]


def test_a_smaller_machine_leaves_wide_jobs_out_of_both(hpcopt: Hpcopt, log: Path) -> None:
    done = hpcopt("whatif", log, "--capacity", "4", "--policy", "fifo_strict")
    assert "easy_backfill on 8" in done.stdout
    assert "fifo_strict on 4" in done.stdout
    assert "wider than machine" in done.stdout.splitlines()[-1]
    found = asked(hpcopt, log, "--capacity", "4")
    assert found["jobs_count"] == 60 - found["excluded_from_changed"]["wider_than_machine"]  # type: ignore[index]


def test_steps_faster_arrivals_and_a_window(hpcopt: Hpcopt, log: Path) -> None:
    whole = asked(hpcopt, log)
    assert whole["baseline"] == whole["changed"]
    assert asked(hpcopt, log, "--arrival-scale", "2")["changed"] != whole["changed"]
    steps = ["--capacity-step", "0=8", "--capacity-step", "2000=16"]
    assert asked(hpcopt, log, *steps)["capacity"] == {"procs": 8, "steps": [[0, 8], [2000, 16]]}
    begin_s, end_s = (whole["baseline"][f"window_{side}_s"] for side in ("start", "end"))  # type: ignore[index]
    early = asked(hpcopt, log, "--until", str((begin_s + end_s) // 2))
    assert 0 < early["jobs_count"] < whole["jobs_count"]  # type: ignore[operator]


def test_the_registrys_steps_hold_in_every_replay(hpcopt: Hpcopt, log: Path, project: Project) -> None:
    before = json.loads(hpcopt("replay", log, "--policy", "easy_backfill", "--json").stdout)
    (project.configs / "traces.yaml").write_text(
        "traces:\n  small:\n    capacity_steps: [{since: 1970-01-01T00:00:01Z, capacity: 64}]\n"
    )
    after = json.loads(hpcopt("replay", log, "--policy", "easy_backfill", "--json").stdout)
    assert after["capacity_steps"] == [[1, 64]]
    assert after["max_wait_s"] < before["max_wait_s"]


def test_nodes_are_the_unit_where_that_is_said(hpcopt: Hpcopt, tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(
        "JobID|State|Submit|Start|End|NNodes|NCPUS|ReqCPUS|Timelimit\n"
        "1|COMPLETED|2024-06-02T09:00:00|2024-06-02T09:00:00|2024-06-02T10:00:00|2|96|4|02:00:00\n"
        "2|COMPLETED|2024-06-02T09:00:00|2024-06-02T10:00:00|2024-06-02T11:00:00|2|96|4|02:00:00\n"
    )
    by_procs = hpcopt("replay", path, "--policy", "fifo_strict", "--json", "--capacity", "96")
    assert json.loads(by_procs.stdout)["max_wait_s"] == 0
    by_nodes = hpcopt(
        "replay", path, "--policy", "fifo_strict", "--json", "--capacity", "2", "--unit", "nodes"
    )
    assert json.loads(by_nodes.stdout)["max_wait_s"] == 3600
    assert json.loads(by_nodes.stdout)["capacity_unit"] == "nodes"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--capacity", "4", "--capacity-factor", "2"], "one of them"),
        (["--capacity-step", "soon=4"], "--capacity-step: 'soon'"),
        (["--capacity-step", "4"], "INSTANT=N"),
        (["--since", "2024-01-01T00:00:00"], "with its offset"),
        (["--since", "9", "--until", "5"], "a window from 9 to 5"),
        (["--arrival-scale", "0"], "an arrival scale of 0.0"),
        (["--policy", "none_such"], "none_such"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    hpcopt: Hpcopt, log: Path, options: list[str], words: str
) -> None:
    assert words in mistake(hpcopt("whatif", log, *options))


def test_strict_checks_change_nothing(hpcopt: Hpcopt, tmp_path: Path) -> None:
    path = tmp_path / "small.swf"
    path.write_text(swf())
    said = [
        hpcopt("replay", path, "--policy", "easy_backfill", "--json", *more).stdout
        for more in ([], ["--strict"])
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_events_are_written(hpcopt: Hpcopt, log: Path, ending: str) -> None:
    out = log.with_name(f"events.{ending}")
    assert hpcopt("replay", log, "--policy", "easy_backfill", "--events", out).returncode == 0
    found = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
    counts = dict(found["event"].value_counts().iter_rows())
    assert counts == {"released": 60, "started": 60, "ended": 60}
    assert "--events" in mistake(hpcopt("replay", log, "--policy", "easy_backfill", "--events", "x.txt"))
