"""Integrity: is each file of a bundle, byte for byte, what its manifest says, and is nothing else there?

In:  a folder that nobody vouches for.   Out: the manifest, and every file that is not as it says.
Not here: what is in the tables (reading.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from hpcopt_assets.contracts.bundle import FILES_MAX, MANIFEST, SUMS, UNHASHED, Manifest

MANIFEST_BYTES_MAX = 16 * 2**20
SUMS_BYTES_MAX = 16 * 2**20
CHUNK_BYTES = 2**20
DEPTH_MAX = 8
OWN_HASH = re.compile(rb'"self_sha256": "([0-9a-f]{64})"')
OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
# What was a plain file when it was listed may be a link or a pipe when it is read.


class Problem(NamedTuple):
    """What is wrong with one file."""

    file: str
    what: str


def files_of(folder: Path) -> tuple[set[str], list[str]]:
    """Paths of the plain files below a folder, and of what else is there: links, pipes, too many or too deep.

    Links are never followed.
    """
    found: set[str] = set()
    strange: list[str] = []
    waiting = [(folder, "", 0)]
    while waiting:
        place, prefix, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(place), key=lambda each: each.name)
        except OSError as error:
            strange.append(f"{prefix or '.'} ({_why(error)})")
            continue
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if entry.is_symlink():
                strange.append(f"{path} (a link)")
            elif entry.is_dir(follow_symlinks=False):
                if depth < DEPTH_MAX:
                    waiting.append((Path(entry.path), f"{path}/", depth + 1))
                else:
                    strange.append(f"{path} (a folder {depth + 1} deep)")
            elif not entry.is_file(follow_symlinks=False):
                strange.append(f"{path} (no plain file)")
            else:
                found.add(path)
            if len(found) + len(strange) > FILES_MAX + 2:
                return found, [*strange, f"more than {FILES_MAX:,} files"]
    return found, strange


def _why(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or 'no reason was given').lower()}"


def read_bounded(path: Path, most: int) -> bytes | None:
    """The bytes of a plain file; None where it is none, or holds more."""
    with os.fdopen(os.open(path, OPEN), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        content = file.read(most + 1)
    return content if len(content) <= most else None


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, OPEN), "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def parsed(content: bytes) -> Any:
    """JSON of others; ValueError where a key stands twice or a number is none: not all read that alike."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(f"key {min(name for name in names if names.count(name) > 1)!r} stands twice")
        return found

    def none(word: str) -> None:
        raise ValueError(f"{word} is no number")

    return json.loads(content, object_pairs_hook=once, parse_constant=none)


def own_hash(content: bytes) -> str | None:
    """SHA-256 of a manifest's bytes with zeros where its own hash stands; None where that stands not once."""
    places = list(OWN_HASH.finditer(content))
    if len(places) != 1:
        return None
    start, end = places[0].span(1)
    return hashlib.sha256(content[:start] + UNHASHED.encode() + content[end:]).hexdigest()


def sums_of(manifest: Manifest, manifest_sha256: str) -> bytes:
    """The content of SHA256SUMS, as `sha256sum` writes and checks it: every file but itself."""
    hashes = {file.path: file.sha256 for file in manifest.files} | {MANIFEST: manifest_sha256}
    return "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(hashes.items())).encode()


def check(folder: Path, expected: str | None = None) -> tuple[Manifest | None, list[Problem]]:
    """The manifest, where it can be read, and what is wrong with which file; nothing wrong: an empty list.

    `expected` is the manifest's SHA-256 as it was told by another way. Sizes are compared before a file is
    read, so that no more is read than the manifest states.
    """
    found, strange = files_of(folder)
    problems = [Problem(path.partition(" (")[0], f"is not part of a bundle: {path}") for path in strange]
    why = "is missing" if MANIFEST not in found else f"is larger than {MANIFEST_BYTES_MAX:,} bytes"
    try:
        content = read_bounded(folder / MANIFEST, MANIFEST_BYTES_MAX) if MANIFEST in found else None
    except OSError as error:
        content, why = None, _why(error)
    if content is None:
        return None, [*problems, Problem(MANIFEST, why)]
    manifest, damage = _manifest(content)
    if expected is not None and hashlib.sha256(content).hexdigest() != expected:
        damage.append(f"has SHA-256 {hashlib.sha256(content).hexdigest()}, expected was {expected}")
    problems += [Problem(MANIFEST, what) for what in damage]
    if manifest is None or damage:
        # Whatever it says of other files may be what was damaged.
        return None, problems
    named = {file.path for file in manifest.files}
    problems += [Problem(path, "is missing") for path in sorted({*named, SUMS} - found)]
    problems += [Problem(path, "is not in the manifest") for path in sorted(found - named - {MANIFEST, SUMS})]
    if SUMS in found:
        problems += _check_sums(folder / SUMS, sums_of(manifest, hashlib.sha256(content).hexdigest()))
    for file in manifest.files:
        if file.path in found:
            problems += _check_file(folder / file.path, file.path, file.sha256, file.size_bytes)
    return manifest, problems


def _manifest(content: bytes) -> tuple[Manifest | None, list[str]]:
    """The manifest, and what is wrong with it."""
    stated = OWN_HASH.search(content)
    damage = []
    if own_hash(content) is None or stated is None:
        damage.append("does not state its own hash, once")
    elif own_hash(content) != stated[1].decode():
        damage.append(f"was changed: its own hash is {own_hash(content)}, it states {stated[1].decode()}")
    try:
        return Manifest.model_validate(parsed(content)), damage
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the whole"
        said = first["msg"].removeprefix("Value error, ")
        return None, [*damage, f"is no manifest after schemas/bundle_manifest.json: {key}: {said}"]
    except (ValueError, RecursionError) as error:
        return None, [*damage, f"is no JSON: {' '.join(str(error).split())[:200]}"]


def _check_sums(path: Path, content: bytes) -> list[Problem]:
    try:
        is_right = read_bounded(path, SUMS_BYTES_MAX) == content
    except OSError as error:
        return [Problem(SUMS, _why(error))]
    return [] if is_right else [Problem(SUMS, "does not list the manifest's hashes")]


def _check_file(path: Path, name: str, sha256: str, size_bytes: int) -> list[Problem]:
    try:
        size = path.lstat().st_size
        if size != size_bytes:
            return [Problem(name, f"has {size:,} bytes, the manifest says {size_bytes:,}")]
        found = sha256_of(path)
    except OSError as error:
        return [Problem(name, _why(error))]
    return [] if found == sha256 else [Problem(name, f"has SHA-256 {found}, the manifest says {sha256}")]
