"""A bundle stands whole or not at all, and takes no other's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcopt_assets.bundle.folder import seal, staged
from hpcopt_assets.bundle.integrity import check, files_of
from hpcopt_assets.contracts.errors import EvidenceError, InputError
from hpcopt_assets_tests.bundle.made import ABOUT, make


def test_an_earlier_bundle_is_replaced_and_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    first = make(out)
    (out / "lineage.json").write_text("damaged")
    assert make(out) == first
    assert check(out)[1] == []
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


@pytest.mark.parametrize("foreign", ["notes.txt", "tables/mine.parquet", ".hidden"])
def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, foreign: str) -> None:
    out = tmp_path / "bundle"
    make(out)
    (out / foreign).write_text("mine")
    before = files_of(out)
    with pytest.raises(InputError, match=foreign):
        make(out)
    assert files_of(out) == before


def test_a_file_and_a_link_are_no_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    for name in ("file", "link"):
        with pytest.raises(InputError, match=name):
            make(tmp_path / name)
    make(tmp_path / "empty")


def test_whoever_fails_leaves_the_earlier_bundle(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    make(out)

    def fail() -> None:
        with staged(out) as folder:
            (folder / "half").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert check(out)[1] == []
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_what_fits_no_manifest_is_not_sealed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    with pytest.raises(EvidenceError, match="key_id"):
        seal(tmp_path, ABOUT | {"tables": [], "key_id": "short"})
