"""The grep for originals finds a name wherever it hides: else that it finds none would prove nothing."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hpcopt_assets_tests.cli.exported import tell_tales

NAME = "Ö'Çelik ş"
LONG = "x" * 500


def packed(frame: pl.DataFrame) -> Callable[[Path], None]:
    return lambda path: frame.write_parquet(path, compression="zstd")


def unused_entry(path: Path) -> None:
    """A dictionary with a name that no cell has, packed so that no byte of it stands as it is."""
    others = [f"{number} is somebody else" for number in range(2000)]
    values = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array([*others, NAME]))
    options = {"compression": "zstd", "compression_level": 19, "write_statistics": False}
    pq.write_table(pa.table({"user": values}), path, store_schema=False, **options)
    assert NAME.encode() not in path.read_bytes()


def metadata(path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({"by": NAME}), path)


@pytest.mark.parametrize(
    "write",
    [
        packed(pl.DataFrame({"user": ["nobody", NAME]})),
        packed(pl.DataFrame({"notes": [[LONG, *["nobody"] * 20, f"ask {NAME}"]]})),
        packed(pl.DataFrame({"blob": [f"ask {NAME}".encode()]})),
        packed(pl.DataFrame({NAME: [1]})),
        unused_entry,
        metadata,
    ],
    ids=["cell", "list", "bytes", "column", "dictionary", "metadata"],
)
def test_in_parquet(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path / "a.parquet")
    assert tell_tales(tmp_path, (NAME,)) == [f"{tmp_path / 'a.parquet'}: {NAME}"]
    assert tell_tales(tmp_path, ("Çe.ik",)) == []


@pytest.mark.parametrize(
    "content",
    [
        *(NAME.encode(), json.dumps(NAME).encode(), html.escape(NAME).encode(), quote(NAME).encode()),
        *(NAME.encode("utf-16-le"), NAME.upper().lower().encode()),
        *(b"data:x;base64," + b64encode(b"x" * pad + NAME.encode() + b"yyy") for pad in range(3)),
    ],
)
def test_in_text(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.html").write_bytes(b"<p>" + content + b"</p>")
    assert tell_tales(tmp_path, (NAME,)) == [f"{tmp_path / 'a.html'}: {NAME}"]


def test_in_the_name_of_a_file(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.txt").write_text("nobody")
    assert len(tell_tales(tmp_path, (NAME,))) == 1
