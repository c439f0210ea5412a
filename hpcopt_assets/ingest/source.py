"""A raw file as blocks of whole lines, whatever it is packed in.

In:  a path and limits.   Out: `blocks`, `texts`, `first_lines`, `is_parquet`, `is_empty`, `sha256_of`; a
     file that is no text log, or larger than its limits, raises TraceError.
Not here: what a line means (one module a format).
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.ingest.parsed import Loss, Refused, SourceFile

BLOCK_BYTES = 4 * 2**20
# A few blocks stay in memory at once; larger ones gain nothing (the arrays leave the processor's cache).
LIMITS_FILE = "configs/ingest.yaml"
HEAD_BYTES = 8192
SAMPLE_BYTES = 2**20
# Enough to see what comes after a long header.
TEXT_CHARS = 200
BOM = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"
OTHER_MAGIC = {
    PARQUET_MAGIC: "a parquet file",
    b"PK\x03\x04": "a zip archive",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    GZIP_MAGIC: "a gzip file inside a gzip file",
}


def _refuse(path: Path, found: str, next_step: str, needed: str = "a text log is needed") -> TraceError:
    return TraceError(found=found, needed=needed, where=str(path), next_step=next_step)


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """The file as it stands on disk; whatever goes wrong while it is read becomes a `TraceError`."""
    if path.is_dir():
        raise _refuse(path, "this is a folder", "Name one file, such as trace.swf.gz.")
    if path.exists() and not path.is_file():
        raise _refuse(path, "this is no regular file", "Name one file, such as trace.swf.gz.")
    try:
        with path.open("rb") as raw:
            yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _refuse(
            path,
            f"the gzip data are damaged or cut ({error})",
            "Fetch or pack the file again; `gzip -t` tests it.",
            needed="a complete gzip file is needed",
        ) from error
    except OSError as error:
        raise _refuse(
            path, f"the file cannot be read ({error.strerror})", "Check its path and permissions."
        ) from error


def _unpacked(raw: BinaryIO) -> BinaryIO:
    is_packed = raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    raw.seek(0)
    return cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if is_packed else raw


def _check_head(path: Path, head: bytes) -> None:
    if not head:
        raise _refuse(path, "the file is empty", "Copy it again, or remove it.")
    for magic, kind in OTHER_MAGIC.items():
        if head.startswith(magic):
            raise _refuse(path, f"this is {kind}", "Unpack it, or pack it with gzip.")
    if b"\0" in head[:HEAD_BYTES]:
        raise _refuse(
            path,
            "the file holds NUL bytes, so it is binary or UTF-16",
            "Save it as plain text (UTF-8), packed with gzip or not.",
        )


def _chunks(handle: BinaryIO, chunk_bytes: int) -> Iterator[bytes]:
    """Non-empty chunks in which every line end (LF, CR LF, or the CR alone of old Macs) is a newline."""
    is_after_cr = False
    while chunk := handle.read(chunk_bytes):
        if is_after_cr:
            chunk = chunk.removeprefix(b"\n")
        is_after_cr = chunk.endswith(b"\r")
        if chunk:
            yield chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in chunk else chunk


def over_limit(path: Path, what: str, found: int, allowed: int, key: str) -> TraceError:
    """The refusal of a file that passes a limit, which names the limit's key."""
    return _refuse(
        path,
        f"{what} is {found:,}",
        f"If that is right, raise {key} in {LIMITS_FILE}.",
        needed=f"at most {allowed:,}",
    )


def _check_line_lengths(path: Path, text: bytes, allowed: int) -> None:
    """Raise where a line is too long, by looking for one line end in every stretch that may be a line."""
    start = 0
    while len(text) - start > allowed:
        end = text.rfind(b"\n", start, start + allowed + 1)
        if end < 0:
            stop = text.find(b"\n", start)
            found = (stop if stop >= 0 else len(text)) - start
            raise over_limit(path, "the length of a line", found, allowed, "max_line_characters")
        start = end + 1


class RowBudget:
    """How many rows of a trace its reader has read; `spend` refuses those beyond the limit."""

    def __init__(self, limits: IngestConfig) -> None:
        self.allowed, self.spent = limits.max_rows, 0

    def spend(self, path: Path, rows: int) -> None:
        """Count more rows, read from `path`. Raises `TraceError` where there are too many."""
        self.spent += rows
        if self.spent > self.allowed:
            what = "the number of the trace's rows"
            raise over_limit(path, what, self.spent, self.allowed, "max_rows")


def check_size(path: Path, limits: IngestConfig) -> None:
    """Raise `TraceError` for a file larger than the limit."""
    with _opened(path) as raw:
        size = os.fstat(raw.fileno()).st_size
    if size > limits.max_file_bytes:
        raise over_limit(path, "the file's size in bytes", size, limits.max_file_bytes, "max_file_bytes")


def blocks(path: Path, limits: IngestConfig, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The file's text in blocks of whole lines, each ending in a newline (added to the last where missing).

    A byte order mark is dropped, and every line end becomes a newline. Raises `TraceError` for a folder, an
    unreadable, empty or binary file, damaged gzip data, and where a limit is passed: size, expanded size,
    characters of a line.
    """
    check_size(path, limits)
    block_bytes = max(block_bytes, len(BOM))
    with _opened(path) as raw:
        chunks = _chunks(_unpacked(raw), block_bytes)
        rest = next(chunks, b"")
        _check_head(path, rest)
        expanded = len(rest)
        rest = rest.removeprefix(BOM)
        while True:
            more = next(chunks, b"")
            expanded += len(more)
            if expanded > limits.max_expanded_bytes:
                # A small packed file may expand without end.
                raise over_limit(
                    path,
                    "its expanded size in bytes",
                    expanded,
                    limits.max_expanded_bytes,
                    "max_expanded_bytes",
                )
            _check_line_lengths(path, rest, limits.max_line_characters)
            cut = rest.rfind(b"\n") + 1 if more else len(rest)
            if cut:
                block = rest[:cut]
                yield block if block.endswith(b"\n") else block + b"\n"
            if not more:
                return
            rest = rest[cut:] + more


def first_lines(path: Path, limits: IngestConfig) -> list[bytes]:
    """The lines of a text file's first `SAMPLE_BYTES`, less their ends. Refused is what `blocks` refuses."""
    return next(blocks(path, limits, SAMPLE_BYTES), b"").splitlines()


def is_parquet(path: Path) -> bool:
    """Whether the file begins as parquet does."""
    with _opened(path) as raw:
        return raw.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def is_empty(path: Path) -> bool:
    """Whether there is not a byte in the file, packed or not."""
    with _opened(path) as raw:
        return not _unpacked(raw).read(1)


def texts(path: Path, limits: IngestConfig, lines: Iterable[int]) -> dict[int, str]:
    """The first `TEXT_CHARS` characters of the given lines (from 1), read from the file again."""
    wanted = np.unique(np.fromiter(lines, dtype=np.int64))
    found: dict[int, str] = {}
    if wanted.size == 0:
        return found
    before = 0
    for block in blocks(path, limits):
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        here = wanted[
            np.searchsorted(wanted, before, "right") : np.searchsorted(wanted, before + ends.size, "right")
        ]
        for number in here.tolist():
            k = number - before - 1
            start = int(ends[k - 1]) + 1 if k else 0
            line = block[start : int(ends[k])][: 4 * TEXT_CHARS]
            found[number] = line.decode("utf-8", "replace")[:TEXT_CHARS]
        before += ends.size
    return found


def with_texts(file: SourceFile, losses: Collection[Loss], limits: IngestConfig) -> list[Refused]:
    """A file's losses with the texts of their lines, for which it is read again: few lines are lost."""
    found = texts(file.path, limits, (loss.source_line for loss in losses))
    return [Refused(file.name, *loss, found[loss.source_line]) for loss in losses]


def sha256_of(path: Path) -> str:
    """SHA-256 of the file's bytes as they stand on disk, in hex."""
    with _opened(path) as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()
