"""`hpcopt verify` on bundles: everything comes out elsewhere, and what is forged does not."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.bundle.integrity import sha256_of
from hpcopt_assets.contracts.bundle import MANIFEST
from hpcopt_assets.orchestration.configs import load_config
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets_tests.bundle.made import rewrite
from hpcopt_assets_tests.cli.command import Hpcopt
from hpcopt_assets_tests.cli.exported import (
    POLICIES,
    SITE,
    command,
    few_replicas,
    tell_tales,
)

pytestmark = pytest.mark.slow


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
        *("recommendation", "stress_replays", "sensitivity", "feature_splits", "forecast_scores"),
        *("what there must be", "other files", "configs", "names", "what was read", "lineage.json"),
        *("dossier", "dossier/figures"),
    }
    assert "0 differ" in done.stdout
    assert re.search(r"shaken_measures: all \d+ replicas", done.stdout)
    assert "some numbers to" not in done.stdout
    stressed = pl.read_parquet(out / "tables" / "stress_replays.parquet").filter(scenario="user_skew")
    assert stressed["stressed_statistic"].null_count() < stressed.height


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
    ("forecast_scores", scaled("value"), "forecast_scores", "value is"),
    ("trace_rejects", pl.DataFrame.clear, "what was read", "0 rows; needed: 1 rows"),
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


@pytest.mark.parametrize(
    ("name", "part"),
    [("dossier.html", "dossier"), ("dossier.json", "dossier"), ("figures/robustness.svg", "dossier/figures")],
)
def test_a_forged_dossier_is_told_in_whatever_format(
    bundle: Path, hpcopt: Hpcopt, name: str, part: str
) -> None:
    path = bundle / "dossier" / name
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("easy_tsafrir", "easy_forged", 1), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != text
    reseal(bundle)
    done = hpcopt("verify", bundle, "--replicas", "1")
    assert done.returncode == 1
    assert f"differs      {part}: dossier/{name} is not what the tables of the bundle make" in done.stdout


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
    assert "some numbers to" not in done.stdout
