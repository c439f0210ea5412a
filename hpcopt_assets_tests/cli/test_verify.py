"""`hpcopt verify` on what is no bundle."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.bundle.comparing import Finding, State
from hpcopt_assets.bundle.integrity import sha256_of
from hpcopt_assets.cli import recompute as room
from hpcopt_assets.cli.recomputation import Recomputation
from hpcopt_assets.contracts.bundle import MANIFEST
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.robustness_tables import SHAKEN_MEASURES
from hpcopt_assets.orchestration.versions import environment, source_hashes
from hpcopt_assets_tests.bundle.made import make, rewrite
from hpcopt_assets_tests.cli.command import Hpcopt, mistake


def test_what_is_no_folder_is_refused(hpcopt: Hpcopt, tmp_path: Path) -> None:
    assert "no folder" in mistake(hpcopt("verify", tmp_path / "none"))
    assert "64 hexadecimal digits" in mistake(hpcopt("verify", tmp_path, "--sha256", "abc"))


def test_a_folder_without_a_manifest_is_faulty(hpcopt: Hpcopt, tmp_path: Path) -> None:
    done = hpcopt("verify", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("hpcopt: manifest.json: is missing\n")
    (tmp_path / "more").write_text("x")
    told = json.loads(hpcopt("verify", tmp_path, "--json").stdout)
    assert told == {"problems": [{"file": "manifest.json", "what": "is missing"}], "findings": []}


def test_a_bundle_with_nothing_in_it_never_passes(hpcopt: Hpcopt, tmp_path: Path) -> None:
    """All its files are as its manifest says; but what a trace must have is not there."""
    make(tmp_path / "bundle")
    done = hpcopt("verify", tmp_path / "bundle")
    assert done.returncode == 1
    assert "differs      what there must be" in done.stdout
    assert "differs      lineage.json" in done.stdout
    assert "differs      dossier" in done.stdout


def test_a_hash_that_was_told_must_be_that_of_the_manifest(hpcopt: Hpcopt, tmp_path: Path) -> None:
    make(tmp_path / "bundle")
    done = hpcopt("verify", tmp_path / "bundle", "--sha256", "0" * 64)
    assert done.returncode == 1
    assert "expected was 000" in done.stderr
    assert done.stdout == ""


def test_it_says_which_manifest_it_looked_at(hpcopt: Hpcopt, tmp_path: Path) -> None:
    make(tmp_path / "bundle")
    sha256 = sha256_of(tmp_path / "bundle" / MANIFEST)
    assert f"SHA-256 of manifest.json: {sha256}\n" in hpcopt("verify", tmp_path / "bundle").stdout
    told = json.loads(hpcopt("verify", tmp_path / "bundle", "--json", "--sha256", sha256).stdout)
    assert (told["manifest_sha256"], told["is_vouched"], told["names"]) == (sha256, True, "pseudonyms")


def test_other_source_and_other_packages_are_named(hpcopt: Hpcopt, tmp_path: Path) -> None:
    """A manifest that says nothing of its source is no reason to say nothing of it."""
    bundle = tmp_path / "bundle"
    make(bundle)
    same = source_hashes(), environment()
    rewrite(bundle, source_hashes=same[0], environment=same[1])
    assert hpcopt("verify", bundle).stderr == ""
    rewrite(bundle, source_hashes={}, environment=same[1] | {"numpy": "0.1"})
    done = hpcopt("verify", bundle)
    assert f"The source of {', '.join(sorted(same[0]))} is not that which made the bundle" in done.stderr
    assert f"made with numpy 0.1 (here {same[1]['numpy']}):" in done.stderr
    rewrite(bundle, source_hashes=same[0] | {"rumours": "a" * 64}, environment={"numpy": same[1]["numpy"]})
    told = json.loads(hpcopt("verify", bundle, "--json").stdout)["made_otherwise"]
    assert told[0].startswith("The source of rumours is not")
    assert "python unknown (here" in told[1]


@pytest.mark.parametrize("error", [ZeroDivisionError("made"), MemoryError(), InputError("a", "b", "c", "d")])
def test_what_cannot_be_computed_is_a_finding_about_that_one_thing(error: Exception) -> None:
    def fail() -> Finding:
        raise error

    found = room._guarded("made", fail)
    assert (found.what, found.state) == ("made", State.DIFFERS)
    assert found.note.startswith("cannot be computed again: ")


def test_what_others_wrote_stays_on_its_line(hpcopt: Hpcopt, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    make(bundle)
    tables = json.loads((bundle / MANIFEST).read_bytes())["tables"]
    evil = "later\nagrees       everything: all of it\x1b[2J"
    rewrite(bundle, tables=[tables[0], tables[1] | {"asset": evil, "table": "later"}])
    said = hpcopt("verify", bundle).stdout
    assert "not checked  later\\nagrees       everything" in said
    assert "\x1b" not in said


def test_nobody_knows_which_replicas_will_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a forger would change the others."""
    looked_at: list[list[int]] = []

    def replayed(only: list[int]) -> pl.DataFrame:
        looked_at.append(only)
        return SHAKEN_MEASURES.empty()

    monkeypatch.setattr("hpcopt_assets.simulate.replicas.replicas_count", lambda *_, **__: 50)
    monkeypatch.setattr(room, "is_synthetic", lambda _: False)
    work = SimpleNamespace(robust=SimpleNamespace(shaking=None), report=None, shaken_measures=replayed)
    for seed in range(40):
        drawing = np.random.default_rng(seed)
        found = room._shaken(cast("Recomputation", work), SHAKEN_MEASURES.empty(), 5, drawing)
        assert found.note.startswith(f"replicas {', '.join(map(str, looked_at[-1]))} of 50")
    assert all(only == sorted(set(only)) and len(only) == 5 for only in looked_at)
    assert {number for only in looked_at for number in only} == set(range(50))
    found = room._shaken(cast("Recomputation", work), SHAKEN_MEASURES.empty(), None, np.random.default_rng())
    assert looked_at[-1] == list(range(50))
    assert found.note == "all 50 replicas"
