"""`hpcopt verify` on what is no bundle."""

from __future__ import annotations

import json
from pathlib import Path

from hpcopt_assets_tests.bundle.made import make
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
