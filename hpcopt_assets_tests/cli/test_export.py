"""`hpcopt export` on a site with people in it: nobody is told."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.bundle.integrity import check, sha256_of
from hpcopt_assets.contracts.bundle import MANIFEST
from hpcopt_assets.contracts.identities import Holds, holds
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets_tests.cli.command import Hpcopt
from hpcopt_assets_tests.cli.exported import (
    SECRETS,
    SITE,
    USERS,
    stored,
    tell_tales,
)

pytestmark = pytest.mark.slow


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
    assert "left out: it may hold names" in page


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


def test_no_hash_lets_anybody_try_names(home: Project, exported: tuple[Path, str]) -> None:
    """Whoever has a table with pseudonyms could put names in their place until its hash comes out."""
    from hpcopt_assets.definitions import build_definitions
    from hpcopt_assets.orchestration.evidence import trace_records
    from hpcopt_assets.orchestration.instance import open_instance

    with open_instance(home) as instance:
        records = trace_records(build_definitions(), instance, home.store, SITE).lineage
    hashes = {sha256_of(path) for path in home.store.rglob("*.parquet")}
    # The dossier's is of what leaves the site: it names nobody.
    made = [record for record in records if record.asset != "trace_dossier"]
    hashes |= {record.data_version for record in made if record.data_version is not None}
    manifest, _ = check(exported[0])
    assert manifest is not None
    plain = {file.sha256 for file in manifest.files}
    assert {table.data_version for table in manifest.tables if table.is_as_stored} == hashes & plain
    assert tell_tales(exported[0], tuple(hashes - plain)) == []


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
