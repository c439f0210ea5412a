"""The hpcopt command: what it prints and writes, and one clear sentence for each mistake."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.cli import main
from hpcopt_assets.contracts.tables import MEASURE_KEYS
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets_tests.pipeline.conftest import swf

pytestmark = pytest.mark.usefixtures("project")


@dataclass
class Done:
    """How a command ended and what it said."""

    returncode: int
    stdout: str
    stderr: str


class Hpcopt:
    """The command, run within this process: its entry point with arguments, output and exit code."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capfd = monkeypatch, capfd

    def __call__(self, *arguments: str | Path, cwd: Path | None = None) -> Done:
        if cwd is not None:
            self.monkeypatch.chdir(cwd)
        self.monkeypatch.setattr(sys, "argv", ["hpcopt", *map(str, arguments)])
        self.capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        said = self.capfd.readouterr()
        return Done(int(stop.value.code or 0), said.out, said.err)


@pytest.fixture
def hpcopt(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hpcopt:
    return Hpcopt(monkeypatch, capfd)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "small.swf"
    path.write_text(swf())
    return path


def mistake(done: Done, code: int = 2) -> str:
    """The one sentence of a refused command."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_policies_lists_every_policy(hpcopt: Hpcopt) -> None:
    done = hpcopt("policies")
    assert done.returncode == 0
    assert {"fifo_strict", "easy_backfill", "easy_clairvoyant"} <= set(done.stdout.split())


def test_ingest_writes_two_tables_and_a_report(hpcopt: Hpcopt, log: Path, tmp_path: Path) -> None:
    log.write_text(log.read_text() + "61 not a job\n")
    assert hpcopt("ingest", log, "--out", tmp_path / "out", "--trace-id", "mine").returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "ingest_report.json",
        "trace_jobs.parquet",
        "trace_rejects.parquet",
    ]
    report = json.loads((tmp_path / "out" / "ingest_report.json").read_text())
    jobs = pl.read_parquet(tmp_path / "out" / "trace_jobs.parquet")
    assert (report["trace_id"], report["jobs_count"], report["rejects_count"]) == ("mine", 60, 1)
    assert jobs["trace_id"].unique().to_list() == ["mine"]
    assert report["breakdown"]["rejects_by_code"] == {"too_few_fields": 1}


def test_replay_prints_measures_under_their_keys(hpcopt: Hpcopt, log: Path) -> None:
    done = hpcopt("replay", log, "--policy", "easy_backfill", "--json")
    measures = json.loads(done.stdout)
    assert set(MEASURE_KEYS) <= set(measures)
    assert set(MEASURE_KEYS) <= set(measures["steady"])
    assert measures["jobs_count"] == 60
    assert measures["capacity_procs"] == 8


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_replay_writes_the_schedule(hpcopt: Hpcopt, log: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"schedule.{ending}"
    assert hpcopt("replay", log, "--policy", "fifo_strict", "--out", out).returncode == 0
    rows = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
    assert rows.columns == ["job_id", "submit_s", "start_s", "end_s", "procs"]
    assert rows.height == 60
    assert (rows["start_s"] >= rows["submit_s"]).all()


def test_replay_of_ingested_jobs_equals_replay_of_the_log(hpcopt: Hpcopt, log: Path, tmp_path: Path) -> None:
    hpcopt("ingest", log, "--out", tmp_path)
    of_log, of_jobs = (
        json.loads(hpcopt("replay", path, "--policy", "easy_backfill", "--capacity", "8", "--json").stdout)
        for path in (log, tmp_path / "trace_jobs.parquet")
    )
    assert of_log | {"trace": ""} == of_jobs | {"trace": ""}


def test_capacity_and_tau_and_overrun_change_the_answer(hpcopt: Hpcopt, tmp_path: Path) -> None:
    log = tmp_path / "over.swf"
    over, next_one = (
        "1 0 0 300 4 -1 -1 4 100 -1 1 1 1 -1 1 1 -1 -1",
        "2 0 0 5 4 -1 -1 4 10 -1 1 1 1 -1 1 1 -1 -1",
    )
    log.write_text(f"; MaxProcs: 4\n{over}\n{next_one}\n")

    def answer(*more: str) -> dict[str, float]:
        done = hpcopt("replay", log, "--policy", "fifo_strict", "--json", *more)
        return dict(json.loads(done.stdout))

    assert answer()["max_wait_s"] == 300
    assert answer("--capacity", "8")["max_wait_s"] == 0
    assert answer("--overrun", "kill")["max_wait_s"] == 100
    assert answer("--tau", "305")["max_bsld"] == pytest.approx(1.0)


def test_run_then_query_from_any_directory(
    hpcopt: Hpcopt, project: Project, log: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "packed.swf.gz"
    packed.write_bytes(gzip.compress(swf(jobs=40).encode()))
    done = hpcopt("run", log, packed)
    assert done.returncode == 0, done.stderr
    for word in ("easy_backfill", "fifo_strict", str(project.duckdb), str(project.dossier_of("small"))):
        assert word in done.stdout
    assert project.dossier_of("packed").is_file()
    sql = "SELECT trace_id, count(*) AS jobs FROM trace_jobs GROUP BY ALL ORDER BY ALL"
    answers = {
        form: hpcopt("query", sql, "--format", form, cwd=tmp_path).stdout for form in ("table", "csv", "json")
    }
    assert answers["csv"] == "trace_id,jobs\npacked,40\nsmall,60\n"
    assert json.loads(answers["json"]) == [
        {"trace_id": "packed", "jobs": 40},
        {"trace_id": "small", "jobs": 60},
    ]
    assert answers["table"].split()[:2] == ["trace_id", "jobs"]
    out = tmp_path / "answer.parquet"
    assert hpcopt("query", sql, "--format", "parquet", "--out", out).returncode == 0
    assert pl.read_parquet(out)["jobs"].to_list() == [40, 60]
    listed = hpcopt("traces").stdout
    assert "packed.swf.gz" in listed
    again = hpcopt("run", "small")
    assert again.returncode == 0, again.stderr


def test_query_refuses_to_write(hpcopt: Hpcopt, project: Project) -> None:
    assert "no catalog" in mistake(hpcopt("query", "SELECT 1"))
    import duckdb

    duckdb.connect(str(project.duckdb)).close()
    target = project.home / "written.csv"
    assert "one SELECT" in mistake(hpcopt("query", f"COPY (SELECT 1) TO '{target}'"))
    assert "one SELECT" in mistake(hpcopt("query", "CREATE TABLE t (a INT)"))
    assert not target.exists()


def bad_inputs(folder: Path) -> dict[str, Path]:
    (folder / "empty.swf").write_bytes(b"")
    (folder / "folder.swf").mkdir()
    (folder / "binary.swf").write_bytes(b"\x7fELF\0\0\0\1" * 50)
    (folder / "headers.swf").write_text("; MaxProcs: 4\n; Note: nothing else\n\n")
    (folder / "cut.swf.gz").write_bytes(gzip.compress(swf().encode())[:200])
    return {path.stem.partition(".")[0]: path for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("empty", "empty"),
        ("folder", "folder"),
        ("binary", "binary"),
        ("headers", "no job line"),
        ("cut", "gzip"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing_behind(
    hpcopt: Hpcopt, project: Project, tmp_path: Path, kind: str, words: str
) -> None:
    path = bad_inputs(tmp_path)[kind]
    assert words in mistake(hpcopt("replay", path, "--policy", "fifo_strict"))
    assert words in mistake(hpcopt("ingest", path, "--out", tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    done = hpcopt("run", path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(project.raw.iterdir())
    assert not [p for p in project.store.rglob("*") if p.is_file()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--policy", "no_such"], "one of fifo_strict"),
        (["--policy", "fifo_strict", "--capacity", "0"], "capacity"),
        (["--policy", "fifo_strict", "--capacity", "-3"], "capacity"),
        (["--policy", "fifo_strict", "--tau", "0"], "tau"),
        (["--policy", "fifo_strict", "--out", "schedule.xlsx"], ".csv or .parquet"),
    ],
)
def test_wrong_usage_of_replay_is_one_sentence(
    hpcopt: Hpcopt, log: Path, arguments: list[str], words: str
) -> None:
    assert words in mistake(hpcopt("replay", log, *arguments))


def test_a_missing_file_and_an_unknown_trace(hpcopt: Hpcopt) -> None:
    assert "no such file" in mistake(hpcopt("run", "nowhere.swf")).lower()
    assert "nowhere.swf" in mistake(hpcopt("replay", "nowhere.swf", "--policy", "fifo_strict"))


def test_a_broken_config_names_file_key_and_schema(hpcopt: Hpcopt, project: Project) -> None:
    path = project.configs / "fidelity.yaml"
    path.write_text(path.read_text() + "surprise: 1\n")
    said = mistake(hpcopt("policies"))
    assert "configs/fidelity.yaml" in said
    assert "surprise" in said
    path.write_text("min_jobs: 1\nmin_jobs: 2\n")
    assert "min_jobs" in mistake(hpcopt("policies"))


def test_debug_shows_the_traceback_in_a_process_of_its_own() -> None:
    command = [
        sys.executable,
        "-m",
        "hpcopt_assets.cli",
        "--debug",
        "replay",
        "nowhere.swf",
        "--policy",
        "no_such",
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ConfigError" in done.stderr
