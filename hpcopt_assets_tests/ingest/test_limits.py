"""Inputs above the limits of configs/ingest.yaml: each refusal names the limit, the found and the allowed."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.ingest import source
from hpcopt_assets.ingest.parsed import SourceFile
from hpcopt_assets.ingest.reader import raw_trace_rows
from hpcopt_assets_tests.ingest.helpers import LIMITS, ingest_files, line

TEXT = "; a made log\n" + "".join(line(job=k, submit=k) + "\n" for k in range(1, 200))
LONGEST = max(len(text) for text in TEXT.splitlines())


def refused(path: Path, key: str, found: int, allowed: int) -> TraceError:
    limits = LIMITS.model_copy(update={key: allowed})
    with pytest.raises(TraceError) as caught:
        ingest_files([path], path.parent, limits=limits, format="swf")
    error = caught.value
    assert f" {found:,}" in error.found
    assert f" {allowed:,}" in error.needed
    assert f"raise {key} in configs/ingest.yaml" in error.next_step
    assert error.where == str(path)
    return error


def accepted(path: Path, **limits: Any) -> None:
    found = ingest_files([path], path.parent, limits=LIMITS.model_copy(update=limits), format="swf")
    assert found.jobs.height == 199


def test_a_file_above_the_size_is_refused_before_it_is_read(tmp_path: Path):
    path = tmp_path / "made.swf"
    path.write_text(TEXT)
    accepted(path, max_file_bytes=len(TEXT))
    refused(path, "max_file_bytes", len(TEXT), len(TEXT) - 1)
    limits = LIMITS.model_copy(update={"max_file_bytes": len(TEXT) - 1})
    with pytest.raises(TraceError, match="max_file_bytes"):
        raw_trace_rows((SourceFile(path, "m"),), trace_id="t", entry=TraceEntry(), limits=limits)


@pytest.mark.parametrize("packed", [gzip.compress(TEXT.encode()), TEXT.encode()], ids=["gzip", "plain"])
def test_a_text_that_expands_above_the_size_is_refused(packed: bytes, tmp_path: Path):
    path = tmp_path / "made.swf"
    path.write_bytes(packed)
    accepted(path, max_expanded_bytes=len(TEXT))
    refused(path, "max_expanded_bytes", len(TEXT), len(TEXT) - 1)


def test_a_text_that_expands_without_end_is_refused_on_the_way(tmp_path: Path):
    path = tmp_path / "made.swf"
    with gzip.open(path, "wb") as packed:
        for _ in range(64):
            packed.write(b"; nothing\n" * 100_000)
    limits = LIMITS.model_copy(update={"max_expanded_bytes": 5 * 2**20})
    taken: list[int] = []
    with pytest.raises(TraceError, match="max_expanded_bytes"):
        taken.extend(len(block) for block in source.blocks(path, limits))
    assert sum(taken) <= 5 * 2**20


@pytest.mark.parametrize("block_bytes", [1, 16, 100, 1000, 2**22])
@pytest.mark.parametrize("place", ["first", "middle", "last", "alone"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_long_line_is_refused_wherever_it_stands(place: str, block_bytes: int, end: str, tmp_path: Path):
    path = tmp_path / "made.swf"
    short, long = ["1" * 40] * 30, "2" * 50
    lines = {
        "first": [long, *short],
        "middle": [*short, long, *short],
        "last": [*short, long],
        "alone": [long],
    }[place]
    path.write_text("\n".join(lines) + end)
    exact = LIMITS.model_copy(update={"max_line_characters": 50})
    assert b"".join(source.blocks(path, exact, block_bytes)).split() == [text.encode() for text in lines]
    tight = LIMITS.model_copy(update={"max_line_characters": 49})
    with pytest.raises(
        TraceError, match=r"the length of a line is 50; needed: at most 49.*max_line_characters"
    ):
        list(source.blocks(path, tight, block_bytes))


def test_the_longest_line_counts(tmp_path: Path):
    path = tmp_path / "made.swf"
    path.write_text(TEXT)
    accepted(path, max_line_characters=LONGEST)
    refused(path, "max_line_characters", LONGEST, LONGEST - 1)


def test_more_job_lines_than_allowed_are_refused(tmp_path: Path):
    path = tmp_path / "made.swf"
    path.write_text(TEXT)
    accepted(path, max_rows=199)
    refused(path, "max_rows", 199, 198)
