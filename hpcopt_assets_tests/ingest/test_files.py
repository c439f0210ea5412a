"""Files in every wrapping, and files that are no trace at all: one clear sentence each."""

import gzip
import os
import re
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import RAW_TRACE
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.contracts.vocabulary import TraceFormat
from hpcopt_assets.ingest import reader, source
from hpcopt_assets.ingest.parsed import Options, Parsed, SourceFile
from hpcopt_assets.ingest.reader import raw_trace_rows
from hpcopt_assets_tests.ingest.helpers import LIMITS, ingest_files, line, read_text

TEXT = "; MaxProcs: 8\n" + "".join(
    line(job=k, submit=k, wait=1, run=9, requested=2) + "\n" for k in range(1, 50)
)


@pytest.mark.parametrize(
    "wrapped",
    [
        TEXT.encode().rstrip(b"\n"),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
        TEXT.replace("\n", "\r", 20).replace("\n", "\r\n", 10).encode(),
        TEXT.replace(" ", "\t").encode(),
        TEXT.replace(" ", "   ").encode(),
        TEXT.replace("\n", " \t \n   ").rstrip(" ").encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        gzip.compress(TEXT.encode()),
        gzip.compress(TEXT[:300].encode()) + gzip.compress(TEXT[300:].encode()) + b"\0" * 20,
    ],
    ids=[
        "no last newline",
        "CRLF",
        "CR",
        "mixed",
        "tabs",
        "spaces",
        "trailing",
        "BOM",
        "gzip",
        "gzip in members",
    ],
)
def test_one_text_in_any_wrapping_gives_the_same_tables(wrapped: bytes, tmp_path: Path):
    plain = read_text(TEXT, tmp_path)
    found = read_text(wrapped, tmp_path)
    assert found.jobs.equals(plain.jobs)
    assert found.report.drop("sha256").equals(plain.report.drop("sha256"))


@pytest.mark.parametrize("name", ["made.swf", "made.swf.gz", "made"])
def test_gzip_is_told_by_the_content_and_not_by_the_name(name: str, tmp_path: Path):
    assert read_text(gzip.compress(TEXT.encode()), tmp_path, name).jobs.height == 49
    assert read_text(TEXT, tmp_path, name).jobs.height == 49


PACKED = gzip.compress(os.urandom(4000) + b"\n")
WRONG: list[tuple[str, bytes, str]] = [
    ("empty", b"", "the file is empty"),
    ("empty, packed", gzip.compress(b""), "the file is empty"),
    ("BOM alone", b"\xef\xbb\xbf", "no line of a known format"),
    ("binary", b"\x7fELF\x02\x00\x01" + bytes(range(256)), "NUL bytes"),
    ("UTF-16", TEXT.encode("utf-16"), "binary or UTF-16"),
    ("zip", b"PK\x03\x04rest", "this is a zip archive"),
    ("bzip2", b"BZh9rest", "this is a bzip2 file"),
    ("packed twice", gzip.compress(gzip.compress(TEXT.encode())), "gzip file inside a gzip file"),
    ("cut gzip", PACKED[: len(PACKED) // 2], "damaged or cut"),
    ("cut gzip head", PACKED[:5], "damaged or cut"),
    ("cut gzip tail", PACKED[:-3], "damaged or cut"),
    ("gzip magic alone", b"\x1f\x8b", "damaged or cut"),
    ("broken gzip", PACKED[:50] + b"junk" + PACKED[54:], "damaged or cut"),
    ("garbage after gzip", PACKED + b"garbage", "damaged or cut"),
    (
        "header only",
        b"; MaxProcs: 8\n; Note: no jobs\n\n",
        "no job line among 3 lines (3 header, comment or blank)",
    ),
    ("a csv", b"id,submit\n1,2\n", "no line of a known format"),
    ("a long line", b"1 " * 2**24, "the length of a line is 2,"),
    ("damaged parquet", b"PAR1 and no more", "the parquet data cannot be read"),
]


@pytest.mark.parametrize(("content", "found"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_a_file_that_is_no_trace_is_refused_in_one_sentence(content: bytes, found: str, tmp_path: Path):
    with pytest.raises(TraceError) as caught:
        read_text(content, tmp_path)
    error = caught.value
    assert found in error.found
    assert error.where == str(tmp_path / "made.swf")
    assert error.needed
    assert error.next_step.endswith(".")
    assert "\n" not in str(error)
    assert len(str(error)) < 500


def test_a_csv_that_is_said_to_be_swf_tells_what_its_lines_lack(tmp_path: Path):
    expected = "2 refused; line 1: too_few_fields, 1 field, 18 needed"
    with pytest.raises(TraceError, match=expected):
        read_text(b"id,submit\n1,2\n", tmp_path, format="swf")
    with pytest.raises(TraceError, match="no job line among 0 lines"):
        read_text(b"\xef\xbb\xbf", tmp_path, format="swf")


def test_parquet_of_unknown_columns_is_refused_and_parquet_is_no_swf(tmp_path: Path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "t.swf")
    raw = (tmp_path / "t.swf").read_bytes()
    with pytest.raises(TraceError, match=r"parquet with columns a .*the columns of PM100"):
        read_text(raw, tmp_path)
    with pytest.raises(TraceError, match="this is a parquet file"):
        read_text(raw, tmp_path, format="swf")


def wrong_path(kind: str, folder: Path) -> Path:
    path = folder / "t.swf"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "broken link":
        path.symlink_to(folder / "gone.swf")
    return path


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("folder", "this is a folder"),
        ("pipe", "this is no regular file"),
        ("broken link", "cannot be read (No such file or directory)"),
        ("missing", "cannot be read (No such file or directory)"),
    ],
)
def test_a_path_that_is_no_file_is_refused(kind: str, found: str, tmp_path: Path):
    path = wrong_path(kind, tmp_path)
    with pytest.raises(TraceError, match=re.escape(found)):
        ingest_files([path], tmp_path)
    with pytest.raises(TraceError, match=re.escape(found)):
        raw_trace_rows((SourceFile(path, "t.swf"),), trace_id="t", entry=TraceEntry(), limits=LIMITS)


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def locked(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "made.swf").write_text(TEXT)
    monkeypatch.setattr(Path, "open", locked)
    with pytest.raises(TraceError, match=r"cannot be read \(Permission denied\).*Check its path"):
        source.sha256_of(tmp_path / "made.swf")


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def read_then_append(files: tuple[SourceFile, ...], options: Options) -> Parsed:
        parsed = swf_read(files, options)
        files[0].path.write_text(TEXT + line(job=99))
        return parsed

    swf_read = reader.read_swf
    monkeypatch.setitem(reader.READERS, TraceFormat.SWF, read_then_append)
    with pytest.raises(TraceError, match="changed while it was being read"):
        read_text(TEXT, tmp_path)


def test_nul_bytes_far_into_a_file_cost_a_line_and_not_the_trace(tmp_path: Path):
    found = read_text(TEXT.encode() * 5 + b"1 2 \0\0\0\0\n", tmp_path)
    assert found.jobs.height == 49
    assert found.rejects["code"].to_list()[-1] == "too_few_fields"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("block_bytes", [1, 7, 64, 1000, 10**6])
def test_blocks_hold_whole_lines_whatever_their_size_and_ends(block_bytes: int, end: str, tmp_path: Path):
    path = tmp_path / "made.swf"
    path.write_bytes(TEXT.rstrip("\n").replace("\n", end).encode())
    found = list(source.blocks(path, LIMITS, block_bytes))
    assert b"".join(found) == TEXT.encode()
    assert all(block.endswith(b"\n") for block in found)


def test_a_carriage_return_between_fields_costs_its_line_and_hides_no_job(tmp_path: Path):
    first, second = line(job=1, run=5), line(job=2, run=5)
    found = read_text(f"{first}\r{second}\n{line(job=3)[:20]}\r{line(job=3)[20:]}\n", tmp_path)
    assert found.jobs["job_id"].to_list() == ["1", "2"]
    assert found.rejects["code"].to_list() == ["too_few_fields"] * 2
    assert found.report["lines_count"].item() == 4


def test_texts_of_lines_are_found_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "made.swf"
    path.write_text(TEXT)
    monkeypatch.setattr(source, "blocks", partial(source.blocks, block_bytes=100))
    wanted = [50, 1, 2, 17, 17]
    assert source.texts(path, LIMITS, wanted) == {k: TEXT.splitlines()[k - 1] for k in wanted}


def test_the_raw_trace_rows_say_what_the_files_are(tmp_path: Path):
    folder = tmp_path / "raw"
    folder.mkdir()
    path = folder / "made.swf"
    entry = TraceEntry(capacity_procs=12, timezone="Europe/Berlin", note="ours")
    for content in (gzip.compress(TEXT.encode(), mtime=0), TEXT.encode()):
        path.write_bytes(content)
        rows = raw_trace_rows((SourceFile(path, "made.swf"),), trace_id="made", entry=entry, limits=LIMITS)
        validate(RAW_TRACE, rows)
        assert rows.row(0, named=True) == {
            "trace_id": "made",
            "source_file": "made.swf",
            "format": TraceFormat.SWF,
            "sha256": read_text(content, tmp_path).report["sha256"].item(),
            "size_bytes": len(content),
            "entry": '{"timezone":"Europe/Berlin","capacity_procs":12,"note":"ours"}',
        }
