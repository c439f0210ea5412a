"""Whatever is changed in a bundle is found and named by its file; no manifest makes us read anything else."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.bundle.integrity import check, files_of, own_hash, sha256_of
from hpcopt_assets.contracts.bundle import FILES_MAX, MANIFEST, SUMS
from hpcopt_assets_tests.bundle.made import make, rewrite

FILES = (
    *(MANIFEST, SUMS, "lineage.json", "configs/made.yaml"),
    *("tables/trace_jobs.parquet", "tables/trace_rejects.parquet"),
)

MANY = range(FILES_MAX + 1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that no test changes for good."""
    out = tmp_path_factory.mktemp("bundles") / "bundle"
    make(out)
    return out


@pytest.fixture
def bundle(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "bundle"))


def named(folder: Path, **asked: Any) -> set[str]:
    """The files that are found fault with."""
    return {problem.file for problem in check(folder, **asked)[1]}


def test_a_bundle_as_written_has_no_fault(whole: Path) -> None:
    manifest, problems = check(whole)
    assert problems == []
    assert manifest is not None
    assert files_of(whole) == (set(FILES), [])
    assert {file.path for file in manifest.files} == set(FILES) - {MANIFEST, SUMS}


@settings(max_examples=200, deadline=None)
@given(data=st.data(), file=st.sampled_from(FILES), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_is_named_by_its_file(whole: Path, data: Any, file: str, bit: int) -> None:
    path = whole / file
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1), label="at")
    try:
        path.write_bytes(content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :])
        assert named(whole) == {file}
    finally:
        path.write_bytes(content)


@pytest.mark.parametrize("file", [MANIFEST, SUMS])
def test_every_single_byte_of_the_files_that_hold_the_hashes_counts(whole: Path, file: str) -> None:
    path = whole / file
    content = path.read_bytes()
    try:
        for at in range(len(content)):
            path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            assert named(whole) == {file}, at
    finally:
        path.write_bytes(content)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("change", ["cut", "longer", "empty", "gone"])
def test_a_file_that_is_cut_longer_empty_or_gone_is_named(bundle: Path, file: str, change: str) -> None:
    path = bundle / file
    content = path.read_bytes()
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes({"cut": content[:-1], "longer": content + b"\n", "empty": b""}[change])
    assert named(bundle) == {file}


@pytest.mark.parametrize(
    "name", ["extra", ".hidden", "tables/extra.parquet", "deep/er/file", "manifest.json~"]
)
def test_a_file_more_is_named(bundle: Path, name: str) -> None:
    (bundle / name).parent.mkdir(parents=True, exist_ok=True)
    (bundle / name).write_text("more")
    assert named(bundle) == {name}


def test_two_files_that_changed_places_are_both_named(bundle: Path) -> None:
    one, other = (bundle / "tables" / f"{name}.parquet" for name in ("trace_jobs", "trace_rejects"))
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])
    assert named(bundle) == {"tables/trace_jobs.parquet", "tables/trace_rejects.parquet"}


@pytest.mark.parametrize("file", FILES)
def test_links_are_not_followed(bundle: Path, tmp_path: Path, file: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (bundle / file).rename(elsewhere)
    (bundle / file).symlink_to(elsewhere)
    assert file in named(bundle)


def test_a_linked_folder_and_a_pipe_are_no_part_of_a_bundle(bundle: Path, tmp_path: Path) -> None:
    (bundle / "configs").rename(tmp_path / "configs")
    (bundle / "configs").symlink_to(tmp_path / "configs")
    os.mkfifo(bundle / "pipe")
    assert named(bundle) == {"configs", "configs/made.yaml", "pipe"}


def test_a_pipe_in_place_of_a_file_does_not_hold_us_up(bundle: Path) -> None:
    for file in (MANIFEST, "lineage.json"):
        (bundle / file).unlink()
        os.mkfifo(bundle / file)
        assert file in named(bundle)


@pytest.mark.parametrize(
    "path",
    [
        *("../outside", "/etc/passwd", "tables/../../outside", "a//b", "./a", "a/", "", "C:\\a", "a\0b"),
        *(".hidden", "tables/.hidden", "a/b/c/d/e/f/g/h", "é", "a\nb", "~/a"),
    ],
)  # fmt: skip
def test_a_manifest_names_nothing_outside_of_its_folder(
    bundle: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hpcopt_assets.bundle.integrity as room

    outside = bundle.parent / "outside"
    outside.write_text("x")
    rewrite(bundle, files=[{"path": path, "sha256": sha256_of(outside), "size_bytes": 1}])
    monkeypatch.setattr(room, "sha256_of", lambda path: pytest.fail(f"{path} was read"))
    manifest, problems = check(bundle)
    assert manifest is None
    assert problems[0].file == MANIFEST
    assert "files.0.path" in problems[0].what


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"format": "hpcopt-bundle-2"}, "format"),
        ({"names": "none"}, "names"),
        ({"foreign": 1}, "foreign"),
        ({"trace_id": "../up"}, "trace_id"),
        ({"source_hashes": {"/usr/lib": "a" * 64}}, "source_hashes"),
        ({"source_hashes": {"../bundle": "a" * 64}}, "source_hashes"),
        ({"files": []}, "not among the files"),
        ({"files": [{"path": "a", "sha256": "a" * 64, "size_bytes": -1}]}, "size_bytes"),
        ({"files": [{"path": "a", "sha256": "a" * 64, "size_bytes": 1}] * 2}, "more than once"),
        ({"files": [{"path": SUMS, "sha256": "a" * 64, "size_bytes": 1}]}, "its own hash"),
        ({"files": [{"path": f"f{n}", "sha256": "a" * 64, "size_bytes": 1} for n in MANY]}, "10000"),
    ],
)  # fmt: skip
def test_a_manifest_that_is_none_is_refused(bundle: Path, changed: dict[str, Any], said: str) -> None:
    rewrite(bundle, **changed)
    manifest, problems = check(bundle)
    assert manifest is None
    assert problems[0].file == MANIFEST
    assert said in problems[0].what


def test_a_table_that_claims_to_be_the_stores_must_have_its_hash(bundle: Path) -> None:
    import json

    tables = json.loads((bundle / MANIFEST).read_bytes())["tables"]
    rewrite(bundle, tables=[tables[0] | {"data_version": "b" * 64}])
    assert "is_as_stored" in check(bundle)[1][0].what
    rewrite(bundle, tables=[tables[0] | {"is_as_stored": False}])
    assert "is_as_stored" in check(bundle)[1][0].what


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b'"x"', b"\xff\xfe", b"null", b"9" * 10_000])
def test_what_is_no_json_is_named(bundle: Path, content: bytes) -> None:
    (bundle / MANIFEST).write_bytes(content)
    manifest, problems = check(bundle)
    assert manifest is None
    assert {problem.file for problem in problems} == {MANIFEST}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"trace_id": "made"', '"trace_id": "made", "trace_id": "made"'),
        ('"names": "pseudonyms"', '"names": "kept", "names": "pseudonyms"'),
        ('"numpy": "2"', '"numpy": "1", "numpy": "2"'),
        ('shaking.seed": 17', 'shaking.seed": NaN'),
        ('shaking.seed": 17', 'shaking.seed": Infinity'),
    ],
)
def test_a_manifest_that_another_reader_would_read_otherwise_is_refused(
    bundle: Path, old: str, new: str
) -> None:
    """Some take the first of two values, some the last, some stop at what is no number."""
    content = (bundle / MANIFEST).read_text()
    assert content.count(old) == 1
    (bundle / MANIFEST).write_text(content.replace(old, new))
    manifest, problems = check(bundle)
    assert manifest is None
    assert any("is no JSON" in problem.what for problem in problems)


@pytest.mark.parametrize("file", FILES)
def test_what_cannot_be_read_is_named(bundle: Path, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = os.open

    def refused(path: Path, *rest: int) -> int:
        if Path(path) == bundle / file:
            raise PermissionError(13, "Permission denied", str(path))
        return honest(path, *rest)

    monkeypatch.setattr(os, "open", refused)
    assert [problem for problem in check(bundle)[1] if problem.file == file] == [
        (file, "cannot be read: permission denied")
    ]


def test_a_folder_that_cannot_be_read_is_named(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = os.scandir

    def refused(path: Path) -> Any:
        if Path(path) == bundle / "configs":
            raise PermissionError(13, "Permission denied", str(path))
        return honest(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert named(bundle) == {"configs/", "configs/made.yaml"}


def test_a_huge_manifest_is_not_read(bundle: Path) -> None:
    with (bundle / MANIFEST).open("r+b") as file:
        file.truncate(2**34)
    assert "larger than" in check(bundle)[1][0].what


def test_a_huge_file_is_not_read(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hpcopt_assets.bundle.integrity as room

    with (bundle / "lineage.json").open("r+b") as file:
        file.truncate(2**40)
    read: list[str] = []
    honest = room.sha256_of
    monkeypatch.setattr(room, "sha256_of", lambda path: read.append(path.name) or honest(path))
    assert named(bundle) == {"lineage.json"}
    assert "lineage.json" not in read
    assert "trace_jobs.parquet" in read


def test_a_forged_bundle_fits_itself_and_not_the_hash_that_was_told(bundle: Path) -> None:
    """What a hash without a signature cannot show, and what telling it by another way does."""
    told = sha256_of(bundle / MANIFEST)
    assert named(bundle, expected=told) == set()
    rewrite(bundle, left_out=["a lie"])
    assert named(bundle) == set()
    assert named(bundle, expected=told) == {MANIFEST}


def test_its_own_hash_stands_once() -> None:
    one = b'"self_sha256": "%s"' % (b"0" * 64)
    assert own_hash(one) is not None
    assert own_hash(one + one) is None
    assert own_hash(b"{}") is None


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not installed")
def test_standard_tools_check_it_too(bundle: Path) -> None:
    command = ["sha256sum", "--check", "--strict", "--quiet", SUMS]
    assert subprocess.run(command, cwd=bundle, check=False).returncode == 0
    (bundle / "lineage.json").write_text("[ ]\n")
    done = subprocess.run(command, cwd=bundle, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "lineage.json" in done.stdout
