"""A bundle whose hashes fit may still hold anything: whoever made it made its hashes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import hpcopt_assets.bundle.reading as room
from hpcopt_assets.bundle.reading import check_config, read_lineage, read_table
from hpcopt_assets.contracts.bundle import BundleTable, Manifest
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets_tests.builders import trace
from hpcopt_assets_tests.bundle.made import make


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Manifest, BundleTable]:
    manifest, _ = make(tmp_path / "bundle")
    stated = manifest.table_of("trace_jobs")
    assert stated is not None
    return tmp_path / "bundle", manifest, stated


def test_a_table_is_read_within_its_contract(made: tuple[Path, Manifest, BundleTable]) -> None:
    assert read_table(*made).equals(trace([(1, 0, 1, 10), (2, 5, 2, 20)], "made"))


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (trace([(1, 0, 1, 10), (2, 5, 2, 20)], "other"), "some of trace other"),
        (trace([(1, 0, 1, 10)], "made"), "1 rows"),
        (
            trace([(1, 0, 1, 10), (2, 5, 2, 20)], "made").with_columns(runtime_s=pl.lit(-1, pl.Int64)),
            "runtime_s",
        ),
        (trace([(1, 0, 1, 10)], "made").drop("user"), "user"),
    ],
)
def test_a_table_of_anything_else_is_refused(
    made: tuple[Path, Manifest, BundleTable], frame: pl.DataFrame, said: str
) -> None:
    folder, _, stated = made
    frame.write_parquet(folder / stated.path)
    with pytest.raises(InputError, match=said) as refused:
        read_table(*made)
    assert stated.path in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 1000, b"\x80\x04K\x01.", b"not parquet"])
def test_what_is_no_parquet_is_refused(made: tuple[Path, Manifest, BundleTable], content: bytes) -> None:
    folder, _, stated = made
    (folder / stated.path).write_bytes(content)
    with pytest.raises(InputError, match="a parquet file"):
        read_table(*made)


@pytest.mark.parametrize(
    "error", [pl.exceptions.PanicException("made"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "made")]
)
def test_pages_that_make_the_reader_panic_are_refused(
    made: tuple[Path, Manifest, BundleTable], monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def panic(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(InputError, match="a parquet file"):
        read_table(*made)


def test_bytes_changed_by_whoever_made_the_hashes_never_end_the_command(
    made: tuple[Path, Manifest, BundleTable],
) -> None:
    """Here and there a byte, of pages and of what is said of them: its table is read or refused."""
    folder, _, stated = made
    content = (folder / stated.path).read_bytes()
    refused = 0
    for at in range(0, len(content), 97):
        (folder / stated.path).write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            read_table(*made)
        except InputError:
            refused += 1
    assert refused


@pytest.mark.parametrize("limit", ["ROWS_MAX", "EXPANDED_BYTES_MAX"])
def test_a_table_that_expands_beyond_bounds_is_not_read(
    made: tuple[Path, Manifest, BundleTable], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(room, limit, 1)
    monkeypatch.setattr(pl, "read_parquet", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(InputError, match="when expanded"):
        read_table(*made)


BOMB = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 8)}]\n"
    for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (BOMB, "aliases"),
        ("a: " + "[" * 1_999, "YAML"),
        ("a: " + "[" * 2_001, "many brackets"),
        ("a: " + "[{" * 500_000, "many brackets"),
        ("a: !!python/object/apply:os.system [true]\nb: *c", "YAML"),
        ("a: [", "YAML"),
        ("#" * (2**20 + 1), "at most"),
    ],
)
def test_yaml_that_expands_or_runs_is_refused(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "policies.yaml").write_text(content)
    with pytest.raises(InputError, match=said):
        check_config(tmp_path, "policies")


def test_yaml_that_would_run_something_is_no_config(tmp_path: Path) -> None:
    from hpcopt_assets.contracts.errors import ConfigError
    from hpcopt_assets.orchestration.configs import load_config

    (tmp_path / "configs").mkdir()
    ran = tmp_path / "ran"
    (tmp_path / "configs" / "policies.yaml").write_text(f'a: !!python/object/apply:os.mkdir ["{ran}"]\n')
    with pytest.raises(ConfigError, match="python/object"):
        load_config(check_config(tmp_path, "policies"), "policies")
    assert not ran.exists()


def test_a_config_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"configs/policies\.yaml"):
        check_config(tmp_path, "policies")


@pytest.mark.parametrize(
    "content",
    ["{}", "[1]", '[{"asset": 1}]', "[" * 100_000, "", '[{"inputs": 3}]', '[{"inputs": [], "at_s": NaN}]'],
)
def test_a_lineage_of_anything_else_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "lineage.json").write_text(content)
    if content == "{}":
        assert read_lineage(tmp_path) == ()
        return
    with pytest.raises(InputError, match=r"lineage\.json"):
        read_lineage(tmp_path)
