"""Fetch a trace of the registry from its archive: resumed where that is safe, verified, whole or not at all.

In:  an entry of configs/traces.yaml with an url.   Out: a file in data/raw.
Not here: refusing a file whose hash is not the locked one at every run (ingest/reader.py does).
"""

from __future__ import annotations

import hashlib
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from typing import cast
from urllib.parse import urlsplit

from hpcopt_assets.contracts.errors import InputError, TraceError
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.orchestration.sources import trace_id_of

CHUNK_BYTES = 2**20
TIMEOUT_S = 60
CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
Progress = Callable[[int, int | None], None]
# Called with the bytes that are there and, where the server tells, the bytes there will be.


def file_name_of(trace_id: str, entry: TraceEntry) -> str:
    """The name under which a fetched trace is kept: its URL's, whose id must be the registry's."""
    if entry.url is None:
        raise InputError(
            found="no url in configs/traces.yaml",
            needed="the address of the trace's file",
            where=f"trace {trace_id}",
            next_step="Add `url:` to its entry, or copy the file to data/raw yourself.",
        )
    name = PurePosixPath(urlsplit(str(entry.url)).path).name
    if trace_id_of(name) != trace_id:
        raise InputError(
            found=f"a file named {name!r}, whose trace id is {trace_id_of(name)}",
            needed=f"a file whose trace id is {trace_id}",
            where=f"the url of {trace_id} in configs/traces.yaml",
            next_step="Rename the entry to the file's id, or give another url.",
        )
    return name


def fetch(raw: Path, trace_id: str, entry: TraceEntry, progress: Progress) -> Path:
    """Download a trace into data/raw, going on where an earlier attempt stopped; verify its hash.

    What is there of the file is used if the server names the same version of it as then, or if a locked hash
    will tell: if that is wrong after all, the whole is fetched once more. Raises `TraceError` where the
    download fails (what came is kept) and where the hash is not the locked one (nothing is kept).
    """
    target = raw / file_name_of(trace_id, entry)
    raw.mkdir(parents=True, exist_ok=True)
    url, partial = str(entry.url), _Partial(raw / f".{target.name}.part", raw / f".{target.name}.validator")
    is_locked = entry.sha256 is not None
    is_resumed = _download(url, partial, progress, is_locked=is_locked)
    if is_resumed and is_locked and partial.sha256() != entry.sha256:
        partial.discard()
        _download(url, partial, progress, is_locked=is_locked)
    found, size = partial.sha256(), partial.size
    if is_locked and found != entry.sha256:
        partial.discard()
        raise TraceError(
            found=f"SHA-256 {found} ({size:,} bytes)",
            needed=f"SHA-256 {entry.sha256}, which configs/traces.yaml locks",
            where=url,
            next_step="The archive changed or the download is damaged: fetch again, or look at the archive.",
        )
    partial.path.replace(target)
    partial.discard()
    return target


@dataclass(frozen=True)
class _Partial:
    """What came of a file so far, and beside it how the server named that version (ETag or date)."""

    path: Path
    validator_path: Path

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def validator(self) -> str | None:
        return self.validator_path.read_text(encoding="latin-1") if self.validator_path.exists() else None

    def sha256(self) -> str:
        with self.path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self.validator_path.unlink(missing_ok=True)

    def begin(self, validator: str | None) -> None:
        """Nothing of a new version is there yet: no old byte may come under its name."""
        self.discard()
        self.path.touch()
        if validator is not None:
            self.validator_path.write_text(validator, encoding="latin-1")


def _download(url: str, partial: _Partial, progress: Progress, *, is_locked: bool) -> bool:
    """Complete `partial`; whether bytes of an earlier attempt are in it. Raises `TraceError`."""
    if partial.validator is None and not is_locked:
        partial.discard()  # nothing would tell whether the file is still the same
    try:
        return _complete(url, partial, progress)
    except (OSError, HTTPException) as error:
        is_kept = partial.size > 0 and (is_locked or partial.validator is not None)
        raise TraceError(
            found=f"{error} after {partial.size:,} bytes",
            needed="the whole file",
            where=url,
            next_step="Run the command again: it goes on from there."
            if is_kept
            else "Run the command again: it starts from the first byte.",
        ) from error


def _complete(url: str, partial: _Partial, progress: Progress) -> bool:
    have = partial.size
    answer = _ask_for_rest(url, partial) if have else _ask(url)
    if answer is None:
        return True
    with answer:
        is_resumed = answer.status == HTTPStatus.PARTIAL_CONTENT
        if not is_resumed:
            have = 0
            partial.begin(_validator_of(answer.headers))
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length is not None else _range_of(answer.headers)[1]
        with partial.path.open("ab") as handle:
            while chunk := answer.read(CHUNK_BYTES):
                handle.write(chunk)
                have += len(chunk)
                progress(have, total)
    if total is not None and have != total:
        raise OSError(f"{have:,} of {total:,} bytes came")
    return is_resumed


def _ask_for_rest(url: str, partial: _Partial) -> HTTPResponse | None:
    """The rest of the file if it is the one that was begun, else the whole; None if nothing is lacking."""
    have, validator = partial.size, partial.validator
    headers = {"Range": f"bytes={have}-"} | ({"If-Range": validator} if validator is not None else {})
    try:
        answer = _ask(url, headers)
    except urllib.error.HTTPError as error:
        if error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        return None if _is_same(error.headers, validator, (None, have)) else _ask(url)
    total = _range_of(answer.headers)[1]
    if answer.status == HTTPStatus.OK or (
        (total is None or total > have) and _is_same(answer.headers, validator, (have, total))
    ):
        return answer
    answer.close()
    return _ask(url)


def _is_same(headers: Message, validator: str | None, content_range: tuple[int | None, int | None]) -> bool:
    """Whether an answer is on the version that was begun, as far as it tells, and on the range asked for."""
    named = _validator_of(headers)
    return _range_of(headers) == content_range and (validator is None or named in (None, validator))


def _ask(url: str, headers: dict[str, str] | None = None) -> HTTPResponse:
    request = urllib.request.Request(url, headers=headers or {})  # noqa: S310 -- pydantic's HttpUrl: http or https
    answer = cast("HTTPResponse", urllib.request.urlopen(request, timeout=TIMEOUT_S))  # noqa: S310
    if not headers and answer.status != HTTPStatus.OK:
        answer.close()
        raise OSError(f"status {answer.status} in answer to a request for the whole file")
    return answer


def _validator_of(headers: Message) -> str | None:
    """What names this version of the file: a strong ETag, else its date (RFC 9110, 13.1.5)."""
    etag = headers.get("ETag")
    return etag if etag is not None and not etag.startswith("W/") else headers.get("Last-Modified")


def _range_of(headers: Message) -> tuple[int | None, int | None]:
    """Start and total of `Content-Range`; None where it does not tell."""
    found = CONTENT_RANGE.fullmatch(headers.get("Content-Range", "").strip())
    start, total = found.groups() if found else (None, None)
    return int(start) if start else None, int(total) if total and total != "*" else None
