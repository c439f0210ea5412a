"""The hpcopt command: what it prints and writes, and one clear sentence for each mistake."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.contracts.measure_columns import MEASURE_KEYS
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets_tests.cli.command import Hpcopt, mistake
from hpcopt_assets_tests.pipeline.conftest import swf

pytestmark = pytest.mark.usefixtures("project")


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


def replayed(hpcopt: Hpcopt, path: Path, *more: str | Path) -> dict[str, object]:
    """What `replay --json` prints of a trace, without the file's name."""
    done = hpcopt("replay", path, "--policy", "easy_backfill", "--json", *more)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout)) | {"trace": "", "said": done.stderr}


@pytest.mark.parametrize("lost", [[], ["report"], ["metadata"], ["metadata", "report"]])
def test_replay_of_ingested_jobs_equals_replay_of_the_log(
    hpcopt: Hpcopt, log: Path, tmp_path: Path, lost: list[str]
) -> None:
    log.write_text(log.read_text().replace("MaxProcs: 8", "MaxProcs: 9"))
    hpcopt("ingest", log, "--out", tmp_path / "out", "--trace-id", "mine")
    jobs = tmp_path / "out" / "renamed.PARQUET"
    (tmp_path / "out" / "trace_jobs.parquet").rename(jobs)
    if "metadata" in lost:
        pl.read_parquet(jobs).write_parquet(jobs)
    if "report" in lost:
        report = tmp_path / "out" / "ingest_report.json"
        report.write_text(report.read_text().replace('"mine"', '"another"'))
    of_log, of_jobs = replayed(hpcopt, log), replayed(hpcopt, jobs)
    assert (of_log["capacity_procs"], of_log["capacity_source"], of_log["said"]) == (9, "header", "")
    if len(lost) < 2:
        assert of_jobs == of_log
    else:
        assert of_jobs["capacity_source"] == "observed_peak"
        assert of_jobs["capacity_procs"] != 9
        assert "--capacity" in str(of_jobs["said"])


def test_an_inferred_capacity_is_said_and_yields_to_what_is_stated(
    hpcopt: Hpcopt, project: Project, log: Path, tmp_path: Path
) -> None:
    log.write_text(log.read_text().replace("; MaxProcs: 8\n", ""))
    hpcopt("ingest", log, "--out", tmp_path)
    jobs = tmp_path / "trace_jobs.parquet"
    for path in (log, jobs):
        inferred = replayed(hpcopt, path)
        assert inferred["capacity_source"] == "observed_peak"
        assert f"{inferred['capacity_procs']}, the most in use at once" in str(inferred["said"])
        assert str(inferred["said"]).count("\n") == 1
        given = replayed(hpcopt, path, "--capacity", "11")
        assert (given["capacity_procs"], given["capacity_source"], given["said"]) == (11, "option", "")
    (project.configs / "traces.yaml").write_text("traces:\n  small:\n    capacity_procs: 12\n")
    for path in (log, jobs):
        stated = replayed(hpcopt, path)
        assert (stated["capacity_procs"], stated["capacity_source"], stated["said"]) == (12, "config", "")


def test_the_stores_own_jobs_are_replayed_on_the_machine_of_its_report(
    hpcopt: Hpcopt, project: Project, log: Path, tmp_path: Path
) -> None:
    hpcopt("ingest", log, "--out", tmp_path)
    facts = json.loads((tmp_path / "ingest_report.json").read_text())
    frames = {
        "trace_jobs": pl.read_parquet(tmp_path / "trace_jobs.parquet"),
        "ingest_report": pl.DataFrame({key: [facts[key]] for key in facts if key != "breakdown"}),
    }
    for name, frame in frames.items():
        path = project.store / name / "trace=small" / "part.parquet"
        path.parent.mkdir(parents=True)
        frame.write_parquet(path)
    of_store = replayed(hpcopt, project.store / "trace_jobs" / "trace=small" / "part.parquet")
    assert of_store == replayed(hpcopt, log)
    assert of_store["capacity_source"] == "header"


def test_another_parquet_is_no_trace(hpcopt: Hpcopt, log: Path, tmp_path: Path) -> None:
    hpcopt("ingest", log, "--out", tmp_path)
    jobs = pl.read_parquet(tmp_path / "trace_jobs.parquet")
    path = tmp_path / "other.parquet"
    for frame, words in (
        (jobs.select("trace_id", "job_id"), "without the columns source_file, source_line"),
        (jobs.with_columns(more=1), "with the column more"),
        (jobs.with_columns(procs=pl.lit("many")), "procs"),
        (jobs.with_columns(procs=-1), "procs"),
        (jobs.clear(), "no jobs"),
        (pl.concat([jobs, jobs.with_columns(trace_id=pl.lit("b"))]), "jobs of 2 traces"),
    ):
        frame.write_parquet(path)
        said = mistake(hpcopt("replay", path, "--policy", "fifo_strict"))
        assert words in said
        assert "hpcopt ingest" in said
        assert len(said) < len(str(path)) + 300
    path.write_bytes((tmp_path / "trace_jobs.parquet").read_bytes()[:999])
    assert "hpcopt ingest" in mistake(hpcopt("replay", path, "--policy", "fifo_strict"))
    unspeakable = (tmp_path / "trace_jobs.parquet").rename(tmp_path / "\udcff.parquet")
    assert "UTF-8" in mistake(hpcopt("replay", unspeakable, "--policy", "fifo_strict"))


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


@pytest.fixture
def catalog(project: Project) -> None:
    """A catalog without tables, enough for questions that bring their own rows."""
    import duckdb

    duckdb.connect(str(project.duckdb)).close()


ODD = """SELECT 1 AS a, 2 AS a, 3 AS a_1, sum(i) AS whole, 1.5::DECIMAL(9, 2) AS part, 'nan'::DOUBLE AS nan,
    '-inf'::DOUBLE AS inf, INTERVAL '1 month 2 days 3.5 seconds' AS gap, [1, NULL, 3] AS items,
    {'k': ['x'], 'g': INTERVAL 1 DAY} AS inner FROM range(4) AS t(i)"""


@pytest.mark.usefixtures("catalog")
def test_query_prints_every_kind_of_column(hpcopt: Hpcopt, tmp_path: Path) -> None:
    csv, as_json, table = (hpcopt("query", ODD, "--format", form) for form in ("csv", "json", "table"))
    assert csv.stdout.splitlines() == [
        "a,a_2,a_1,whole,part,nan,inf,gap,items,inner",
        '1,2,3,6,1.50,NaN,-inf,P1M2DT3.5S,1;;3,"{""k"": [""x""], ""g"": ""P1D""}"',
    ]
    assert json.loads(as_json.stdout) == [
        {"a": 1, "a_2": 2, "a_1": 3, "whole": 6, "part": 1.5, "nan": None, "inf": None}
        | {"gap": "P1M2DT3.5S", "items": [1, None, 3], "inner": {"k": ["x"], "g": "P1D"}}
    ]
    assert {"P1M2DT3.5S", "1;;3", "6", "a_2"} <= set(table.stdout.split())
    out = tmp_path / "odd.parquet"
    assert hpcopt("query", ODD, "--out", out).returncode == 0
    kept = pl.read_parquet(out).row(0, named=True)
    assert (kept["a_2"], kept["gap"], kept["items"]) == (2, "P1M2DT3.5S", [1, None, 3])


@pytest.mark.usefixtures("catalog")
def test_a_long_table_is_cut_and_says_so(hpcopt: Hpcopt) -> None:
    def printed(rows: int) -> list[str]:
        return hpcopt("query", f"FROM range({rows})").stdout.strip().splitlines()

    assert "1,234 rows" in printed(1234)[-1]
    assert "--format csv" in printed(201)[-1]
    assert sum(line.strip().isdigit() for line in printed(201)) == 200
    assert sum(line.strip().isdigit() for line in printed(200)) == 200
    assert "--format" not in "".join(printed(200))
    assert hpcopt("query", "SELECT i FROM range(300) AS t(i)", "--format", "csv").stdout.count("\n") == 301


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        (["--out", "a.csv"], b"a\n1\n"),
        (["--out", "a.JSON"], b"["),
        (["--out", "a.parquet"], b"PAR1"),
        (["--out", "a.txt", "--format", "csv"], b"a\n1\n"),
        (["--out", "a.csv", "--format", "json"], None),
        (["--out", "a.csv", "--format", "table"], None),
        (["--out", "a.txt"], None),
    ],
)
def test_the_ending_of_out_is_its_format(
    hpcopt: Hpcopt, tmp_path: Path, arguments: list[str], content: bytes | None
) -> None:
    done = hpcopt("query", "SELECT 1 AS a", *arguments, cwd=tmp_path)
    out = tmp_path / arguments[1]
    if content is None:
        assert "--format" in mistake(done)
        assert not out.exists()
    else:
        assert done.returncode == 0, done.stderr
        assert out.read_bytes().startswith(content)


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
        (["--policy", "fifo_strict", "--capacity", str(2**24 + 1)], "--capacity"),
        (["--policy", "fifo_strict", "--tau", "0"], "tau"),
        (["--policy", "fifo_strict", "--tau", str(2**40 + 1)], "--tau"),
        (["--policy", "fifo_strict", "--overrun", "maybe"], "'extend', 'kill'"),
        (["--policy", "fifo_strict", "--colour", "red"], "No such option: --colour"),
        ([], "Missing option '--policy'. See `hpcopt replay --help`."),
        (["--policy", "fifo_strict", "--out", "schedule.xlsx"], ".csv or .parquet"),
    ],
)
def test_wrong_usage_of_replay_is_one_sentence(
    hpcopt: Hpcopt, log: Path, arguments: list[str], words: str
) -> None:
    assert words in mistake(hpcopt("replay", log, *arguments))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "No such command 'nonsense'. See `hpcopt --help`."),
        (["query"], "Missing argument 'sql'. See `hpcopt query --help`."),
        (["query", "SELECT 1", "--format", "xml"], "'xml' is not one of 'table', 'csv', 'json', 'parquet'"),
    ],
)
def test_wrong_usage_is_one_line_with_the_help_to_read(
    hpcopt: Hpcopt, arguments: list[str], words: str
) -> None:
    assert words in mistake(hpcopt(*arguments))


def test_help_is_shown_when_asked_for_and_when_nothing_is(hpcopt: Hpcopt) -> None:
    for arguments in (["--help"], []):
        done = hpcopt(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Usage: hpcopt" in done.stdout


@pytest.mark.parametrize("trace_id", ["../../x", "a\nb", "a\x1b[31m", "", ".hidden", "x" * 201])
def test_an_unsafe_trace_id_is_refused(hpcopt: Hpcopt, log: Path, tmp_path: Path, trace_id: str) -> None:
    said = mistake(hpcopt("ingest", log, "--out", tmp_path / "out", "--trace-id", trace_id))
    assert said.startswith("hpcopt: --trace-id: ")
    assert said.isprintable()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("small.swf/below", "needed: a folder"),
        ("n" * 300, "file name too long"),
        ("/proc/nowhere/at/all", "/proc/nowhere"),
        ("/proc", "hpcopt: /proc: no such file"),
        ("bad\udcff", "UTF-8"),
    ],
)
def test_what_the_system_refuses_is_one_sentence(
    hpcopt: Hpcopt, log: Path, tmp_path: Path, out: str, words: str
) -> None:
    commands = (
        ["ingest", log, "--out", out],
        ["replay", log, "--policy", "fifo_strict", "--out", f"{out}/schedule.csv"],
    )
    for command in commands:
        said = mistake(hpcopt(*command, cwd=tmp_path))
        assert words in said
        assert "fault of ours" not in said


@pytest.mark.usefixtures("catalog")
def test_a_folder_in_the_place_of_a_file_is_named_by_its_own_name(hpcopt: Hpcopt, tmp_path: Path) -> None:
    folder = tmp_path / "answer.csv"
    folder.mkdir()
    said = mistake(hpcopt("query", "SELECT 1", "--out", folder))
    assert said.startswith(f"hpcopt: {folder}: is a directory; needed: a file.")
    assert not list(tmp_path.glob(".*"))


def test_a_fault_of_ours_is_said_as_such(hpcopt: Hpcopt, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops.")

    monkeypatch.setattr("hpcopt_assets.simulate.engine.replay", broken)
    said = mistake(hpcopt("replay", log, "--policy", "fifo_strict"), code=1)
    assert said.startswith("hpcopt: ZeroDivisionError: oops. This is a fault of ours")


def test_schemas_takes_away_only_its_own(hpcopt: Hpcopt, tmp_path: Path) -> None:
    for name in ("package.json", "table.gone.json", "config.gone.json", "adapter_gone.json", "notes.txt"):
        (tmp_path / name).write_text("{}")
    assert hpcopt("schemas", "--out", tmp_path).returncode == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"package.json", "notes.txt", "table.trace_jobs.json"} <= names
    assert not {"table.gone.json", "config.gone.json", "adapter_gone.json"} & names


def test_one_is_singular(hpcopt: Hpcopt, tmp_path: Path) -> None:
    log = tmp_path / "one.swf"
    log.write_text("; MaxProcs: 4\n1 0 0 300 4 -1 -1 4 100 -1 1 1 1 -1 1 1 -1 -1\nnot a job\n")
    assert "1 job and 1 rejected line of" in hpcopt("ingest", log, "--out", tmp_path / "out").stdout


def test_a_missing_file_and_an_unknown_trace(hpcopt: Hpcopt) -> None:
    assert "no such file" in mistake(hpcopt("run", "nowhere.swf")).lower()
    assert "nowhere.swf" in mistake(hpcopt("replay", "nowhere.swf", "--policy", "fifo_strict"))
    assert "no\\nsuch.swf" in mistake(hpcopt("replay", "no\nsuch.swf", "--policy", "fifo_strict"))


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
