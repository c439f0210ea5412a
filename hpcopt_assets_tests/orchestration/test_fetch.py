"""Fetching from an archive: resumed only onto the same version, verified, nothing left that is not whole."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hpcopt_assets.contracts.errors import InputError, TraceError
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.orchestration.fetch import fetch
from hpcopt_assets.orchestration.sources import find_sources

CONTENT = bytes(range(256)) * 8000
OTHER = CONTENT[::-1]
SHA256 = hashlib.sha256(CONTENT).hexdigest()
CUT = 1_000_000


@dataclass
class Archive:
    """A server of one file. `names` are headers that name its version; `cut_at` ends an answer early."""

    url: str = ""
    content: bytes = CONTENT
    names: dict[str, str] = field(default_factory=lambda: {"ETag": '"1"'})
    cut_at: int | None = None
    has_ranges: bool = True
    heeds_if_range: bool = True
    shift: int = 0
    tells_total: bool = True
    asked: list[str | None] = field(default_factory=list)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        asked, only_if = request.headers.get("Range"), request.headers.get("If-Range")
        self.asked.append(asked)
        is_whole = not self.has_ranges or (
            self.heeds_if_range and only_if is not None and only_if not in self.names.values()
        )
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and not is_whole else None
        total = len(self.content)
        if start is not None and start >= total:
            request.send_response(416)
            if self.tells_total:
                request.send_header("Content-Range", f"bytes */{total}")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        first = (start or 0) + (self.shift if start is not None else 0)
        body = self.content[first:]
        request.send_response(206 if start is not None else 200)
        if start is not None:
            request.send_header("Content-Range", f"bytes {first}-{total - 1}/{total}")
        for name, value in self.names.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: self.cut_at])


@pytest.fixture
def archive() -> Iterator[Archive]:
    state = Archive()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # The client may see from the headers that it does not want this answer.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                state.answer(self)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/logs/mine.swf.gz"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def quiet(_have: int, _total: int | None) -> None: ...


def entry(archive: Archive, sha256: str | None = SHA256) -> TraceEntry:
    return TraceEntry.model_validate({"url": archive.url, "sha256": sha256})


def fetched(archive: Archive, folder: Path, sha256: str | None = None) -> bytes:
    """What is fetched; nothing else is left in the folder."""
    target = fetch(folder, "mine", entry(archive, sha256), quiet)
    assert list(folder.iterdir()) == [target]
    return target.read_bytes()


def cut(archive: Archive, folder: Path, sha256: str | None = None) -> None:
    """A first attempt that breaks off."""
    archive.cut_at = CUT
    with pytest.raises(TraceError, match=r"1,000,000 bytes"):
        fetch(folder, "mine", entry(archive, sha256), quiet)
    archive.cut_at = None
    assert find_sources(folder) == {}


def test_a_trace_is_fetched_and_verified(archive: Archive, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    target = fetch(tmp_path, "mine", entry(archive), lambda have, total: told.append((have, total)))
    assert target == tmp_path / "mine.swf.gz"
    assert target.read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["mine.swf.gz"]
    assert told[-1] == (len(CONTENT), len(CONTENT))


REST = f"bytes={CUT}-"
DATE = {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}


@pytest.mark.parametrize("sha256", [None, SHA256])
@pytest.mark.parametrize("names", [{"ETag": '"1"'}, DATE, {"ETag": 'W/"1"'} | DATE])
@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_cut_download_goes_on_where_it_stopped(
    archive: Archive, tmp_path: Path, names: dict[str, str], sha256: str | None, *, has_ranges: bool
) -> None:
    archive.has_ranges, archive.names = has_ranges, names
    cut(archive, tmp_path, sha256)
    assert fetched(archive, tmp_path, sha256) == CONTENT
    assert archive.asked == [None, REST]


@pytest.mark.parametrize("heeds_if_range", [True, False])
def test_versions_are_never_spliced(archive: Archive, tmp_path: Path, *, heeds_if_range: bool) -> None:
    archive.heeds_if_range = heeds_if_range
    cut(archive, tmp_path)
    archive.content, archive.names = OTHER, {"ETag": '"2"'}
    assert fetched(archive, tmp_path) == OTHER
    assert archive.asked == [None, REST] + ([] if heeds_if_range else [None])


@pytest.mark.parametrize("names", [{}, {"ETag": 'W/"1"'}])
def test_where_nothing_names_the_version_only_a_hash_allows_to_go_on(
    archive: Archive, tmp_path: Path, names: dict[str, str]
) -> None:
    archive.names = names
    cut(archive, tmp_path)
    assert fetched(archive, tmp_path) == CONTENT
    assert archive.asked == [None, None]
    (tmp_path / "mine.swf.gz").unlink()
    cut(archive, tmp_path, SHA256)
    assert fetched(archive, tmp_path, SHA256) == CONTENT
    assert archive.asked[2:] == [None, REST]


def test_what_was_resumed_wrongly_is_fetched_once_more_from_the_start(
    archive: Archive, tmp_path: Path
) -> None:
    archive.names, archive.content = {}, OTHER
    cut(archive, tmp_path, SHA256)
    archive.content = CONTENT
    assert fetched(archive, tmp_path, SHA256) == CONTENT
    assert archive.asked == [None, REST, None]


@pytest.mark.parametrize("shift", [-5, 5])
def test_a_range_that_was_not_asked_for_is_not_appended(archive: Archive, tmp_path: Path, shift: int) -> None:
    archive.shift = shift
    cut(archive, tmp_path)
    assert fetched(archive, tmp_path) == CONTENT
    assert archive.asked == [None, REST, None]


@pytest.mark.parametrize("tells_total", [True, False])
def test_a_whole_but_unrenamed_download_is_only_verified(
    archive: Archive, tmp_path: Path, *, tells_total: bool
) -> None:
    archive.tells_total = tells_total
    (tmp_path / ".mine.swf.gz.part").write_bytes(CONTENT)
    assert fetched(archive, tmp_path, SHA256) == CONTENT
    assert archive.asked == [f"bytes={len(CONTENT)}-"] + ([] if tells_total else [None])


def test_more_than_there_is_of_the_file_is_not_taken_for_it(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / ".mine.swf.gz.part").write_bytes(CONTENT + b"more")
    (tmp_path / ".mine.swf.gz.validator").write_text('"1"')
    assert find_sources(tmp_path) == {}
    assert fetched(archive, tmp_path) == CONTENT


def test_a_wrong_hash_says_expected_found_and_size_and_leaves_nothing(
    archive: Archive, tmp_path: Path
) -> None:
    with pytest.raises(TraceError, match=f"SHA-256 {SHA256} .2,048,000 bytes.; needed: SHA-256 {'0' * 64}"):
        fetch(tmp_path, "mine", entry(archive, "0" * 64), quiet)
    assert not list(tmp_path.iterdir())
    assert archive.asked == [None]


def test_the_error_says_whether_the_next_attempt_goes_on(archive: Archive, tmp_path: Path) -> None:
    archive.cut_at = CUT
    for names, said in (({"ETag": '"1"'}, "it goes on from there"), ({}, "it starts from the first byte")):
        archive.names = names
        with pytest.raises(TraceError, match=said):
            fetch(tmp_path, "mine", entry(archive, None), quiet)
        for path in tmp_path.iterdir():
            path.unlink()


def test_a_missing_archive_or_url_is_one_sentence(archive: Archive, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no url"):
        fetch(tmp_path, "mine", TraceEntry(), quiet)
    with pytest.raises(InputError, match="whose trace id is mine"):
        fetch(tmp_path, "other", entry(archive), quiet)
    archive.url = "http://127.0.0.1:9/mine.swf"
    with pytest.raises(TraceError, match="Run the command again"):
        fetch(tmp_path, "mine", entry(archive), quiet)
