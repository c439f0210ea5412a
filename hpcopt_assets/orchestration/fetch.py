"""The registry's two commands: fetch a trace from its archive, and lock the hashes of what is there.

In:  configs/traces.yaml, an URL or data/raw.   Out: a verified file in data/raw; `sha256` lines in the YAML.
Not here: refusing a file whose hash is not the locked one (ingest/reader.py does, at every run).
"""

from __future__ import annotations

import hashlib
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from hpcopt_assets.contracts.config import TraceEntry, TracesConfig
from hpcopt_assets.contracts.errors import InputError, TraceError
from hpcopt_assets.orchestration.configs import load_config
from hpcopt_assets.orchestration.files import write_beside
from hpcopt_assets.orchestration.sources import trace_id_of

CHUNK_BYTES = 2**20
TIMEOUT_S = 60
PARTIAL_CONTENT, RANGE_NOT_SATISFIABLE = 206, 416
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

    Raises `TraceError` where the download fails (what came is kept for the next attempt) and where the hash
    is not the locked one (nothing is kept).
    """
    target = raw / file_name_of(trace_id, entry)
    partial = raw / f".{target.name}.part"
    raw.mkdir(parents=True, exist_ok=True)
    try:
        _download(str(entry.url), partial, progress)
    except (OSError, HTTPException) as error:
        kept = partial.stat().st_size if partial.exists() else 0
        raise TraceError(
            found=f"{error} after {kept:,} bytes",
            needed="the whole file",
            where=str(entry.url),
            next_step="Run the command again: it goes on from there.",
        ) from error
    with partial.open("rb") as handle:
        found = hashlib.file_digest(handle, "sha256").hexdigest()
    if entry.sha256 is not None and found != entry.sha256:
        size = partial.stat().st_size
        partial.unlink()
        raise TraceError(
            found=f"SHA-256 {found} ({size:,} bytes)",
            needed=f"SHA-256 {entry.sha256}, which configs/traces.yaml locks",
            where=str(entry.url),
            next_step="The archive changed or the download is damaged: fetch again, or look at the archive.",
        )
    partial.replace(target)
    return target


def _download(url: str, partial: Path, progress: Progress) -> None:
    """Append to `partial` what it lacks of the file at `url`; start again where the server cannot resume."""
    have = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310 -- pydantic's HttpUrl: http or https
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_S)  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code == RANGE_NOT_SATISFIABLE and have:
            return  # nothing is lacking; the hash tells whether it is right
        raise
    with answer:
        is_resumed = answer.status == PARTIAL_CONTENT
        have = have if is_resumed else 0
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length is not None else None
        with partial.open("ab" if is_resumed else "wb") as handle:
            while chunk := answer.read(CHUNK_BYTES):
                handle.write(chunk)
                have += len(chunk)
                progress(have, total)
    if total is not None and have != total:
        raise OSError(f"{have:,} of {total:,} bytes came")


def lock(configs: Path, hashes: dict[str, str]) -> list[str]:
    """Write the hashes into configs/traces.yaml, comments and order untouched; ids whose line changed.

    The new text is loaded before it replaces the old: a file that we would break is left alone.
    """
    path = configs / "traces.yaml"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    changed = []
    for trace_id, sha256 in sorted(hashes.items()):
        start = next(
            (i for i, line in enumerate(lines) if re.match(rf"  {re.escape(trace_id)}:\s*(#.*)?$", line)),
            None,
        )
        if start is None:
            raise InputError(
                found="no entry, or one that is not written as a block",
                needed=f"`  {trace_id}:` on a line of its own under `traces:`",
                where="configs/traces.yaml",
                next_step="Add the entry, then lock it.",
            )
        end = next((i for i in range(start + 1, len(lines)) if re.match(r" {0,3}\S", lines[i])), len(lines))
        wanted = f'    sha256: "{sha256}"\n'
        # Quoted: a hash of digits alone would be read as a number.
        stated = next((i for i in range(start + 1, end) if lines[i].startswith("    sha256:")), None)
        if stated is None:
            lines.insert(start + 1, wanted)
        elif lines[stated].split()[1].strip("\"'") != sha256:
            lines[stated] = wanted
        else:
            continue
        changed.append(trace_id)
    if changed:
        _replace(path, "".join(lines), hashes)
    return changed


def _replace(path: Path, text: str, hashes: dict[str, str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / path.name
        trial.write_text(text, encoding="utf-8")
        loaded = load_config(Path(folder), "traces")
    assert isinstance(loaded, TracesConfig)  # noqa: S101 -- the model of that file; for the type checker
    assert all(loaded.entry(trace_id).sha256 == sha256 for trace_id, sha256 in hashes.items())  # noqa: S101
    write_beside(path, text.encode())
