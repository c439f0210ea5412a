"""What the command line says of a log that does not say it itself."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hpcopt_assets.orchestration.project import Project
from hpcopt_assets_tests.cli.command import Hpcopt, mistake

pytestmark = pytest.mark.usefixtures("project")

FIELDS = "jobid,user,submit,start,end,state,timelimit,reqcpus,ncpus"
ROWS = (
    "1|ua|2024-07-01T10:00:00|2024-07-01T10:05:00|2024-07-01T11:05:00|COMPLETED|02:00:00|4|4\n"
    "2|ub|2024-07-01T10:01:00|2024-07-01T11:05:00|2024-07-01T11:35:00|FAILED|02:00:00|8|8\n"
)
ENDED = (
    "03/10/2024 12:00:00;E;1.srv;user=u1 queue=workq ctime=1710064800 qtime=1710064800 etime=1710064800 "
    "start=1710068400 end=1710068460 exec_host=c7/4 Exit_status=-11\n"
)


def ingested(hpcopt: Hpcopt, path: Path, *options: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Jobs and report of `hpcopt ingest`."""
    out = path.parent / "out"
    done = hpcopt("ingest", path, "--out", out, *options)
    assert done.returncode == 0, done.stderr
    jobs = pl.read_parquet(out / "trace_jobs.parquet").to_dicts()
    return jobs, json.loads((out / "ingest_report.json").read_text())


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """An sacct dump without a header."""
    path = tmp_path / "dump.txt"
    path.write_text(ROWS)
    return path


def test_fields_name_the_columns_of_a_dump_without_a_header(hpcopt: Hpcopt, dump: Path) -> None:
    assert "--fields" in mistake(hpcopt("ingest", dump, "--out", dump.parent / "no"))
    jobs, report = ingested(hpcopt, dump, "--fields", FIELDS)
    assert [(job["job_id"], job["procs"], job["runtime_s"]) for job in jobs] == [
        ("1", 4, 3600),
        ("2", 8, 1800),
    ]
    assert (report["format"], report["rejects_count"], report["capacity_source"]) == (
        "sacct",
        0,
        "observed_peak",
    )


def test_the_time_zone_moves_local_times(hpcopt: Hpcopt, dump: Path) -> None:
    utc, _ = ingested(hpcopt, dump, "--fields", FIELDS)
    berlin, report = ingested(hpcopt, dump, "--fields", FIELDS, "--timezone", "Europe/Berlin")
    assert utc[0]["submit_s"] - berlin[0]["submit_s"] == 7200
    assert report["timezone"] == "Europe/Berlin"
    said = mistake(hpcopt("ingest", dump, "--out", dump.parent / "no", "--timezone", "Berlin"))
    assert "Europe/Stockholm" in said


def test_the_capacity_given_is_the_machines(hpcopt: Hpcopt, dump: Path) -> None:
    _, report = ingested(hpcopt, dump, "--fields", FIELDS, "--capacity", "16")
    assert (report["capacity_procs"], report["capacity_source"]) == (16, "config")


def test_a_format_given_is_not_looked_for(hpcopt: Hpcopt, log: Path, tmp_path: Path) -> None:
    said = mistake(hpcopt("ingest", log, "--out", tmp_path / "out", "--format", "pbs"))
    assert "no job line among" in said
    assert not (tmp_path / "out").exists()
    jobs, report = ingested(hpcopt, log, "--format", "swf")
    assert (len(jobs), report["format"]) == (60, "swf")


@pytest.mark.parametrize(
    ("dialect", "state", "procs"),
    [
        (None, "TIMEOUT", 1),
        ("torque", "TIMEOUT", 1),
        ("torque_counts", "TIMEOUT", 4),
        ("pbspro", "REQUEUED", 1),
    ],
)
def test_the_dialect_settles_what_a_pbs_log_leaves_open(
    hpcopt: Hpcopt, tmp_path: Path, dialect: str | None, state: str, procs: int
) -> None:
    path = tmp_path / "20240310"
    path.write_text(ENDED)
    (job,), _ = ingested(hpcopt, path, *(["--dialect", dialect] if dialect else []))
    assert (job["state"], job["allocated_procs"]) == (state, procs)


def test_a_dialect_of_another_format_is_refused(hpcopt: Hpcopt, log: Path, tmp_path: Path) -> None:
    for format_ in ([], ["--format", "swf"]):
        said = mistake(hpcopt("ingest", log, "--out", tmp_path / "out", "--dialect", "torque", *format_))
        assert "dialect torque" in said


def test_a_folder_of_overlapping_dumps_is_one_trace(hpcopt: Hpcopt, tmp_path: Path) -> None:
    header = FIELDS.replace(",", "|") + "\n"
    running = "2|ub|2024-07-01T10:01:00|2024-07-01T11:05:00|Unknown|RUNNING|02:00:00|8|8\n"
    for order in (("a", "b"), ("b", "a")):
        folder = tmp_path / f"my [{order[0]}] cluster"
        folder.mkdir()
        (folder / order[0]).write_text(header + running)
        (folder / order[1]).write_text(header + ROWS)
        jobs, report = ingested(hpcopt, folder)
        assert [(job["job_id"], job["state"]) for job in jobs] == [("1", "COMPLETED"), ("2", "FAILED")]
        assert (report["files_count"], report["job_lines_count"]) == (2, 3)


def test_traces_lists_what_the_registry_knows_and_how_to_get_it(hpcopt: Hpcopt, project: Project) -> None:
    (project.configs / "traces.yaml").write_text(
        "traces:\n  far:\n    url: http://127.0.0.1/far.swf\n  near:\n    note: of our own\n  here: {}\n"
    )
    done = hpcopt("traces")
    assert "No traces in" in done.stdout
    (project.raw / "here.swf").write_text("")
    rows = {line.split()[0]: line for line in hpcopt("traces").stdout.splitlines() if line.strip()}
    assert "hpcopt fetch far" in rows["far"]
    assert "no file in data/raw: copy it there" in rows["near"]
    assert "here.swf" in rows["here"]


def test_a_folder_of_two_formats_is_refused(hpcopt: Hpcopt, tmp_path: Path, log: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "a.swf").write_bytes(log.read_bytes())
    (folder / "b.log").write_text(FIELDS.replace(",", "|") + "\n" + ROWS)
    said = mistake(hpcopt("ingest", folder, "--out", tmp_path / "out"))
    assert "files of formats sacct (mixed/b.log), swf (mixed/a.swf)" in said


def test_lock_names_what_it_leaves_alone_and_locks_the_rest(hpcopt: Hpcopt, project: Project) -> None:
    registry = project.configs / "traces.yaml"
    registry.write_text(f"traces:\n  a: {{}}\n  b:\n    sha256: '{'0' * 64}' # old\n  \"007\": {{}}\n")
    for name in ("a.swf", "a.log", "b.swf", "007.swf", "unknown.swf"):
        (project.raw / name).write_text(name)
    digest = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("b.swf", "007.swf")}
    done = hpcopt("lock")
    assert (done.returncode, done.stdout) == (2, "Locked in configs/traces.yaml: 007.\n")
    differs, claimed = done.stderr.splitlines()
    assert "b: " in differs
    assert "0" * 64 in differs
    assert digest["b.swf"] in differs
    assert "--replace" in differs
    assert "2 sources claim the trace id: a.log, a.swf" in claimed
    (project.raw / "a.log").unlink()
    done = hpcopt("lock", "--replace")
    assert (done.returncode, done.stdout) == (0, "Locked in configs/traces.yaml: a, b.\n")
    assert f"    sha256: '{digest['b.swf']}' # old\n" in registry.read_text()
    done = hpcopt("lock")
    assert (done.returncode, done.stdout) == (0, "Nothing to lock.\n")
