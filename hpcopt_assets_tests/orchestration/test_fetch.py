"""Fetching from an archive and locking hashes: resumed, verified, and nothing left that is not whole."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hpcopt_assets.contracts.config import TraceEntry
from hpcopt_assets.contracts.errors import InputError, TraceError
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.registry import fetch, lock

CONTENT = bytes(range(256)) * 8000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Archive(BaseHTTPRequestHandler):
    """Serves one file; `cut_at` ends an answer early, `ranges` says whether it resumes."""

    cut_at: int | None = None
    ranges = True
    asked: list[str | None] = []  # noqa: RUF012 -- shared by all requests of a test

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        Archive.asked.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.ranges else 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        body = CONTENT[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: Archive.cut_at])

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    Archive.cut_at, Archive.ranges, Archive.asked = None, True, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Archive)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/logs/mine.swf.gz"
    server.shutdown()
    server.server_close()
    thread.join()


def quiet(_have: int, _total: int | None) -> None: ...


def entry(url: str, sha256: str | None = SHA256) -> TraceEntry:
    return TraceEntry.model_validate({"url": url, "sha256": sha256})


def test_a_trace_is_fetched_and_verified(url: str, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    target = fetch(tmp_path, "mine", entry(url), lambda have, total: told.append((have, total)))
    assert target == tmp_path / "mine.swf.gz"
    assert target.read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["mine.swf.gz"]
    assert told[-1] == (len(CONTENT), len(CONTENT))


@pytest.mark.parametrize("ranges", [True, False])
def test_a_cut_download_goes_on_where_it_stopped(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ranges: bool
) -> None:
    monkeypatch.setattr(Archive, "ranges", ranges)
    monkeypatch.setattr(Archive, "cut_at", 1_000_000)
    with pytest.raises(TraceError, match=r"1,000,000 bytes.*goes on from there"):
        fetch(tmp_path, "mine", entry(url), quiet)
    assert not (tmp_path / "mine.swf.gz").exists()
    monkeypatch.setattr(Archive, "cut_at", None)
    assert fetch(tmp_path, "mine", entry(url), quiet).read_bytes() == CONTENT
    assert Archive.asked == [None, "bytes=1000000-"]


def test_a_whole_but_unrenamed_download_is_only_verified(url: str, tmp_path: Path) -> None:
    (tmp_path / ".mine.swf.gz.part").write_bytes(CONTENT)
    assert fetch(tmp_path, "mine", entry(url), quiet).read_bytes() == CONTENT


def test_a_wrong_hash_says_expected_found_and_size_and_leaves_nothing(url: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=f"SHA-256 {SHA256} .2,048,000 bytes.; needed: SHA-256 {'0' * 64}"):
        fetch(tmp_path, "mine", entry(url, "0" * 64), quiet)
    assert not list(tmp_path.iterdir())


def test_a_missing_archive_or_url_is_one_sentence(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no url"):
        fetch(tmp_path, "mine", TraceEntry(), quiet)
    with pytest.raises(InputError, match="whose trace id is mine"):
        fetch(tmp_path, "other", entry(url), quiet)
    with pytest.raises(TraceError, match="Run the command again"):
        fetch(tmp_path, "mine", entry("http://127.0.0.1:9/mine.swf"), quiet)


def test_hashes_are_locked_with_comments_and_order_kept(project: Project) -> None:
    path = project.configs / "traces.yaml"
    before = path.read_text(encoding="utf-8")
    assert lock(project.configs, {"demo": SHA256}) == ["demo"]
    after = path.read_text(encoding="utf-8")
    assert after.replace(f'    sha256: "{SHA256}"\n', "") == before
    assert load_configs(project.configs).traces.entry("demo").sha256 == SHA256
    assert lock(project.configs, {"demo": SHA256}) == []
    assert lock(project.configs, {"demo": "1" * 64}) == ["demo"]
    assert path.read_text(encoding="utf-8").count("1" * 64) == 1
    with pytest.raises(InputError, match="no entry"):
        lock(project.configs, {"unheard_of": SHA256})
