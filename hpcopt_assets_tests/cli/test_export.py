"""`hpcopt export` and `verify` on a site with people in it: nobody is told, and everything comes out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.bundle.integrity import check, sha256_of
from hpcopt_assets.contracts.bundle import MANIFEST
from hpcopt_assets.contracts.identities import Holds, holds
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.orchestration.configs import load_config
from hpcopt_assets.orchestration.project import CHECKOUT, HOME_VARIABLE, Project
from hpcopt_assets_tests.bundle.made import rewrite
from hpcopt_assets_tests.cli.command import Hpcopt, mistake
from hpcopt_assets_tests.cli.exported import (
    ORDINARY,
    POLICIES,
    SECRETS,
    SITE,
    USERS,
    few_replicas,
    tell_tales,
    write_site,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The site after its trace went through the graph; no test writes to it."""
    home = tmp_path_factory.mktemp("site") / "home"
    shutil.copytree(CHECKOUT / "configs", home / "configs")
    project = Project(home)
    write_site(project)
    done = command(home, "run", SITE)
    assert done.returncode == 0, done.stderr
    return project


def command(
    home: Path | None, *arguments: str | Path, preamble: str = "pass"
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, of this checkout, with or without a project."""
    environment = {name: value for name, value in os.environ.items() if name != HOME_VARIABLE}
    environment |= {"PYTHONPATH": str(CHECKOUT)} | ({HOME_VARIABLE: str(home)} if home else {})
    code = f"import sys; {preamble}; from hpcopt_assets.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd="/",
    )


@pytest.fixture(scope="module")
def exported(ran: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A bundle far from its project, and what was said when it was written."""
    out = tmp_path_factory.mktemp("far") / "bundle"
    done = command(ran.home, "export", SITE, "--out", out)
    assert done.returncode == 0, done.stderr
    return out, done.stdout + done.stderr


@pytest.fixture
def home(ran: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy of the site that a test may spoil; HPCOPT_HOME points to it."""
    shutil.copytree(ran.home, tmp_path / "home")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    return Project(tmp_path / "home")


@pytest.fixture
def bundle(exported: tuple[Path, str], tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported[0], tmp_path / "bundle"))


def stored(project: Project, *asset: str) -> Path:
    return project.store.joinpath(*asset) / f"trace={SITE}" / "part.parquet"


# --- who is told ---------------------------------------------------------------------------------------


def test_nobody_is_told_anywhere_in_a_bundle(ran: Project, exported: tuple[Path, str]) -> None:
    out, said = exported
    known = [path for path in ran.home.rglob("*") if path.is_file() and ".dagster" not in path.parts]
    assert {tale.rpartition(": ")[2] for tale in tell_tales(ran.home / "data", SECRETS)} >= set(SECRETS) - {
        "heron"
    }
    assert known
    assert tell_tales(out, SECRETS) == []
    assert not any(secret in said for secret in SECRETS)


def test_the_key_stays_at_home(ran: Project, exported: tuple[Path, str]) -> None:
    out, said = exported
    key = ran.export_key.read_text().strip()
    assert ran.export_key.stat().st_mode & 0o777 == 0o600
    assert tell_tales(out, (key, key[:16], key[-16:])) == []
    assert key not in said


def test_ordinary_names_stand_for_no_user(exported: tuple[Path, str]) -> None:
    out, _ = exported
    manifest, _ = check(out)
    assert manifest is not None
    seen = set()
    for stated in manifest.tables:
        frame = pl.read_parquet(out / stated.path, hive_partitioning=False)
        for column in TABLES[stated.table].columns:
            values = frame[column.name].drop_nulls()
            if holds(TABLES[stated.table], column).is_identity:
                assert values.str.contains("^[a-z]+_[0-9a-f]{16}$").all(), (stated.path, column.name)
                seen.add(column.name)
            elif values.dtype == pl.String:
                for name in USERS:
                    said = values.str.contains(f"user {name} ", literal=True).any()
                    assert not said, (stated.path, column.name, name)
    assert seen == {"user", "group", "account", "name", "source_file"}


def test_sentences_and_queues_still_say_what_they_said(ran: Project, exported: tuple[Path, str]) -> None:
    out, _ = exported
    jobs, before = (
        pl.read_parquet(path) for path in (out / "tables/trace_jobs.parquet", stored(ran, "trace_jobs"))
    )
    kept = [
        column.name
        for column in TABLES["trace_jobs"].columns
        if holds(TABLES["trace_jobs"], column) is Holds.NOBODY
    ]
    assert jobs.select(kept).equals(before.select(kept))
    assert "batch" in jobs["queue"].drop_nulls().to_list() + jobs["partition"].drop_nulls().to_list()
    assert jobs["user"].n_unique() == len(USERS)
    notes = pl.read_parquet(out / "tables/forecast_scores.parquet")["note"].drop_nulls()
    told = notes.str.extract(r"largest share: user (\S+) on")
    assert told.null_count() < told.len()
    assert set(told.drop_nulls()) <= set(jobs["user"])
    page = (out / "dossier" / "dossier.html").read_text(encoding="utf-8")
    assert "left out of the bundle" in page


def test_tables_that_name_nobody_are_those_of_the_store(ran: Project, exported: tuple[Path, str]) -> None:
    manifest, _ = check(exported[0])
    assert manifest is not None
    as_stored = {table.asset: table for table in manifest.tables if table.is_as_stored}
    assert {"replay_measures", "claim_verdicts", "fidelity_verdicts", "runtime_estimates"} <= as_stored.keys()
    for asset, table in as_stored.items():
        assert sha256_of(exported[0] / table.path) == sha256_of(stored(ran, *asset.split("/")))
    assert set(manifest.left_out) == {
        *("forecast_scores.note (names of users in sentences)", "trace_rejects.reason", "trace_rejects.text"),
        *("ingest_report.notes", "raw_trace.entry.url", "raw_trace.entry.licence", "raw_trace.entry.note"),
        *(f"configs/traces.yaml.{key}" for key in ("url", "licence", "note")),
    }


@pytest.mark.usefixtures("home")
def test_one_key_gives_one_bundle_and_another_key_another(hpcopt: Hpcopt, tmp_path: Path) -> None:
    outs = [tmp_path / name for name in ("one", "two", "three")]
    for out, key in zip(outs, ([], [], ["--key", tmp_path / "other.key"]), strict=True):
        assert hpcopt("export", SITE, "--out", out, *key).returncode == 0
    first, second, third = ((out / MANIFEST).read_bytes() for out in outs)
    assert first == second
    ids = [json.loads(content)["key_id"] for content in (first, third)]
    assert ids[0] != ids[1]
    users = [set(pl.read_parquet(out / "tables/trace_jobs.parquet")["user"]) for out in outs]
    assert users[0] == users[1]
    assert users[0].isdisjoint(users[2])


@pytest.mark.usefixtures("home")
def test_names_are_kept_where_that_is_asked(hpcopt: Hpcopt, tmp_path: Path) -> None:
    out = tmp_path / "named"
    done = hpcopt("export", SITE, "--out", out, "--names")
    assert done.returncode == 0, done.stderr
    assert "Names are kept" in done.stdout
    manifest, problems = check(out)
    assert problems == []
    assert manifest is not None
    assert (manifest.names, manifest.key_id, manifest.left_out) == ("kept", None, ())
    assert all(table.is_as_stored for table in manifest.tables)
    assert set(pl.read_parquet(out / "tables/trace_jobs.parquet")["user"]) == set(USERS)
    assert hpcopt("verify", out, "--replicas", "1").returncode == 0


# --- what comes out --------------------------------------------------------------------------------------


def test_everything_comes_out_elsewhere_without_dagster_and_a_store(exported: tuple[Path, str]) -> None:
    out, said = exported
    told = said.partition("manifest.json: ")[2].split()[0]
    without = "sys.modules['dagster'] = None"
    done = command(None, "verify", out, "--full", "--sha256", told, preamble=without)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.partition(":")[0].split(maxsplit=1) for line in done.stdout.splitlines()]
    agreed = {line[1] for line in lines if line and line[0] == "agrees"}
    assert {f"replay/{policy}" for policy in POLICIES} <= agreed
    assert agreed >= {
        *("job_features", "trace_profile", "invariant_report", "replay_measures", "estimate_accounting"),
        *("shaken_measures", "robustness", "fidelity_verdicts", "policy_closeness", "claim_verdicts"),
        *("recommendation", "stress_replays", "sensitivity"),
        *("what there must be", "lineage.json", "dossier"),
    }
    assert "0 differ" in done.stdout
    assert re.search(r"shaken_measures: all \d+ replicas", done.stdout)
    assert "of their size only" not in done.stdout


def test_configs_are_those_in_force(home: Project, exported: tuple[Path, str]) -> None:
    out, _ = exported
    for name in (
        "policies",
        "objective",
        "fidelity",
        "robustness",
        "forecast",
        "ingest",
        "profile",
        "synthetic",
    ):
        assert load_config(out / "configs", name) == load_config(home.configs, name)
    entry = load_config(out / "configs", "traces").model_dump()["traces"]
    assert entry.keys() == {SITE}
    assert entry[SITE]["capacity_procs"] == 16
    assert json.loads((out / MANIFEST).read_bytes())["seeds"]["robustness.shaking.seed"] == 17


def forge(bundle: Path, asset: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """A table changed by somebody who can make hashes."""
    path = bundle / "tables" / f"{asset}.parquet"
    change(pl.read_parquet(path, hive_partitioning=False)).write_parquet(path)
    reseal(bundle)


def reseal(bundle: Path) -> None:
    content = json.loads((bundle / MANIFEST).read_bytes())
    files = [
        file
        | {"sha256": sha256_of(bundle / file["path"]), "size_bytes": (bundle / file["path"]).stat().st_size}
        for file in content["files"]
        if (bundle / file["path"]).is_file()
    ]
    hashes = {file["path"]: file["sha256"] for file in files}
    tables = [
        table | {"is_as_stored": hashes[table["path"]] == table["data_version"]}
        for table in content["tables"]
        if table["path"] in hashes
    ]
    rewrite(bundle, files=files, tables=tables)


def later(rows: int) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """The start of one job a second later."""
    moved = pl.int_range(pl.len()) == rows
    return lambda frame: frame.with_columns(
        pl.when(moved).then(pl.col(name) + 1).otherwise(pl.col(name)).alias(name)
        for name in ("start_s", "end_s", "wait_s")
    )


def first_passes(frame: pl.DataFrame) -> pl.DataFrame:
    first = pl.int_range(pl.len()) == 0
    return frame.with_columns(verdict=pl.when(first).then(pl.lit("PASS")).otherwise("verdict"))


def halved(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns((pl.col(name) / 2).clip(lower_bound=1.0) for name in ("p10_s", "p50_s"))


def scaled(name: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.with_columns(pl.col(name) * 1.000001)


def accepted(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(outcome=pl.lit("ACCEPTED"))


FORGERIES: list[tuple[str, Callable[[pl.DataFrame], pl.DataFrame], str, str]] = [
    ("replay/fairshare_backfill", later(100), "replay/fairshare_backfill", "start_s is"),
    ("replay_measures", scaled("jain_service"), "replay_measures", "jain_service is"),
    ("shaken_measures", scaled("p95_bsld"), "shaken_measures", "p95_bsld is"),
    ("fidelity_verdicts", first_passes, "fidelity_verdicts", "verdict is PASS"),
    ("claim_verdicts", accepted, "claim_verdicts", "outcome is ACCEPTED"),
    ("robustness", pl.DataFrame.head, "robustness", "5 rows; needed: 96 rows"),
    ("trace_profile", scaled("value"), "trace_profile", "value is"),
    ("runtime_estimates", halved, "replay/ml_backfill_p50", "in the bundle"),
]


@pytest.mark.parametrize(
    ("asset", "change", "differs", "said"), FORGERIES, ids=[each[0] for each in FORGERIES]
)
def test_a_forged_table_with_hashes_that_fit_does_not_come_out(
    bundle: Path,
    hpcopt: Hpcopt,
    asset: str,
    change: Callable[[pl.DataFrame], pl.DataFrame],
    differs: str,
    said: str,
) -> None:
    forge(bundle, asset, change)
    done = hpcopt("verify", bundle, "--json", "--replicas", "1")
    assert done.returncode == 1, done.stderr
    findings = {each["what"]: each for each in json.loads(done.stdout)["findings"]}
    found = {what for what, each in findings.items() if each["state"] == "differs"}
    assert differs in found
    assert said in findings[differs]["note"]
    assert {what for what in found if what.startswith("replay/")} <= {differs}


@pytest.mark.parametrize(
    ("config", "old", "new", "differs"),
    [
        ("policies", "half_life_s: 604800", "half_life_s: 60480", "replay/fairshare_backfill"),
        ("objective", "starved_after_s: 172800", "starved_after_s: 10", "replay_measures"),
        ("fidelity", "max_bsld_ks: 0.15", "max_bsld_ks: 0.16", "fidelity_verdicts"),
    ],
)
def test_a_forged_config_does_not_come_out(
    bundle: Path, hpcopt: Hpcopt, config: str, old: str, new: str, differs: str
) -> None:
    path = bundle / "configs" / f"{config}.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    reseal(bundle)
    done = hpcopt("verify", bundle, "--replicas", "1")
    assert done.returncode == 1
    assert f"differs      {differs}: " in done.stdout


def test_what_is_left_away_and_what_is_forged_beside_are_told(bundle: Path, hpcopt: Hpcopt) -> None:
    (bundle / "tables/replay/easy_tsafrir.parquet").unlink()
    page = bundle / "dossier" / "dossier.md"
    page.write_text(page.read_text(encoding="utf-8").replace("FAIL", "PASS", 1), encoding="utf-8")
    reseal(bundle)
    done = hpcopt("verify", bundle, "--replicas", "1")
    assert done.returncode == 1
    assert "differs      what there must be: the manifest has no table of replay/easy_tsafrir" in done.stdout
    assert "differs      dossier: " in done.stdout


def test_a_lineage_of_another_run_is_told(bundle: Path, hpcopt: Hpcopt) -> None:
    records = json.loads((bundle / "lineage.json").read_bytes())
    records[0]["data_version"] = "f" * 64
    (bundle / "lineage.json").write_text(json.dumps(records))
    reseal(bundle)
    done = hpcopt("verify", bundle, "--replicas", "1")
    assert done.returncode == 1
    assert "differs      lineage.json: " in done.stdout


def test_a_flipped_byte_is_named_and_nothing_is_computed(bundle: Path, hpcopt: Hpcopt) -> None:
    for path in sorted(path for path in bundle.rglob("*") if path.is_file()):
        content = path.read_bytes()
        at = len(content) // 2
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        done = hpcopt("verify", bundle)
        assert done.returncode == 1
        assert done.stderr.startswith(f"hpcopt: {path.relative_to(bundle)}: ")
        assert "nothing was computed" in done.stderr
        assert done.stdout == ""
        path.write_bytes(content)


def test_a_later_versions_table_is_hashed_and_said_to_be_unknown(bundle: Path, hpcopt: Hpcopt) -> None:
    content = json.loads((bundle / MANIFEST).read_bytes())
    source = bundle / "tables/replay_measures.parquet"
    shutil.copy(source, bundle / "tables/later.parquet")
    made = {
        "path": "tables/later.parquet",
        "sha256": sha256_of(source),
        "size_bytes": source.stat().st_size,
    }
    like = next(table for table in content["tables"] if table["asset"] == "replay_measures")
    new = like | {"asset": "later", "table": "later", "path": made["path"]}
    rewrite(bundle, files=[*content["files"], made], tables=[*content["tables"], new])
    done = hpcopt("verify", bundle, "--json", "--replicas", "1")
    findings = {each["what"]: each["state"] for each in json.loads(done.stdout)["findings"]}
    assert findings["later"] == "not checked"
    assert findings["replay_measures"] == "agrees"


def test_a_real_log_comes_out_elsewhere(
    project: Project, test_data: Path, hpcopt: Hpcopt, tmp_path: Path
) -> None:
    """KTH-SP2 under three policies, few replicas; its header names people and an address."""
    few_replicas(project)
    (log,) = test_data.rglob("KTH-SP2-1996-2.1-cln.swf.gz")
    assert hpcopt("run", log).returncode == 0
    assert hpcopt("export", "KTH-SP2-1996-2.1-cln", "--out", tmp_path / "kth").returncode == 0
    assert tell_tales(tmp_path / "kth", ("Malinowsky", "feit@cs", log.name)) == []
    shutil.rmtree(project.home / "data")
    done = hpcopt("verify", tmp_path / "kth", "--replicas", "2")
    assert done.returncode == 0, done.stdout
    assert "28,475 starts" in done.stdout
    assert "of their size only" not in done.stdout


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.fixture
def refused(home: Project, hpcopt: Hpcopt, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """The one sentence of a refused export, which leaves nothing behind."""
    assert home.store.is_dir()
    out = tmp_path / "refused" / "bundle"

    def export(*more: str | Path, code: int = 1, trace: str = SITE) -> str:
        done = hpcopt("export", trace, "--out", out, *more)
        assert done.returncode == code, done.stdout
        return done.stderr.strip().splitlines()[-1]

    yield export
    assert not out.exists()
    assert not out.parent.exists() or list(out.parent.iterdir()) == []


def test_what_was_never_run_is_refused(refused: Callable[..., str]) -> None:
    assert "no such trace among those that were run; needed: one of site" in refused(
        trace="none_such", code=2
    )


@pytest.mark.parametrize(
    ("config", "old", "new", "stale"),
    [
        ("policies", "half_life_s: 604800", "half_life_s: 60480", "replay/fairshare_backfill"),
        ("objective", "tau_s: 10", "tau_s: 60", "replay_measures"),
    ],
)
def test_results_of_other_decisions_are_refused(
    home: Project, refused: Callable[..., str], config: str, old: str, new: str, stale: str
) -> None:
    path = home.configs / f"{config}.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    said = refused()
    assert "was made by other code or configs than there are now" in said
    assert stale in said or "more" in said
    assert said.endswith("Run `hpcopt run site`.")


def test_another_registry_entry_is_refused(home: Project, refused: Callable[..., str]) -> None:
    path = home.configs / "traces.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("capacity_procs: 16", "capacity_procs: 17"))
    assert "another entry than the one that it was read by" in refused()


def test_a_table_that_is_gone_or_damaged_is_refused(home: Project, refused: Callable[..., str]) -> None:
    path = stored(home, "replay", "easy_tsafrir")
    content = path.read_bytes()
    path.write_bytes(content[:99] + bytes([content[99] ^ 1]) + content[100:])
    said = refused()
    assert str(path) in said
    assert "which Dagster recorded for replay/easy_tsafrir" in said
    path.unlink()
    assert f"the table of replay/easy_tsafrir is not at {path}" in refused()


def test_results_of_older_inputs_are_refused(home: Project, refused: Callable[..., str]) -> None:
    """The log was replaced and read again; what was computed from the old one stands in the store."""
    import dagster as dg

    from hpcopt_assets.definitions import build_definitions
    from hpcopt_assets.orchestration.instance import open_instance
    from hpcopt_assets.orchestration.jobs import TRACE_JOB

    log = home.raw / SITE / "dump_of_jaguar.log"
    log.write_text("\n".join(log.read_text(encoding="utf-8").splitlines()[:-1]) + "\n", encoding="utf-8")
    with open_instance(home) as instance:
        names = ("raw_trace", "trace_jobs", "trace_rejects", "ingest_report")
        job = build_definitions().resolve_job_def(TRACE_JOB)
        keys = [dg.AssetKey(name) for name in names]
        assert job.execute_in_process(partition_key=SITE, instance=instance, asset_selection=keys).success
    said = refused()
    assert "was made anew after" in said
    assert said.endswith("Run `hpcopt run site`.")


def test_a_wiped_history_is_refused(home: Project, refused: Callable[..., str]) -> None:
    import dagster as dg

    from hpcopt_assets.orchestration.instance import open_instance

    with open_instance(home) as instance:
        instance.wipe_assets([dg.AssetKey("claim_verdicts")])
    assert "claim_verdicts was not made" in refused()


def test_the_key_does_not_lie_in_the_bundle(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "a key within" in refused("--key", tmp_path / "refused" / "bundle" / "key", code=2)


def test_a_folder_of_somebody_else_is_not_replaced(home: Project, hpcopt: Hpcopt, tmp_path: Path) -> None:
    assert home.store.is_dir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    said = mistake(hpcopt("export", SITE, "--out", tmp_path / "mine"))
    assert "thesis.tex where the bundle is to stand" in said


def test_ordinary_words_are_what_we_say_they_are() -> None:
    """Else the grep for them would prove nothing, and one for the others too much."""
    assert set(ORDINARY).isdisjoint(SECRETS)
