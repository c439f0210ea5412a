"""A bundle as a folder: written beside, hashed as it lies there, then renamed.

In:  a target folder, the content of files, what the manifest says beside.   Out: the folder, and its hash.
Not here: what goes in (cli/export.py).
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hpcopt_assets.bundle.integrity import files_of, own_hash, sha256_of, sums_of
from hpcopt_assets.contracts.bundle import FORMAT, MANIFEST, SUMS, UNHASHED, Manifest
from hpcopt_assets.contracts.errors import EvidenceError, InputError

SHOWN = 3


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A new folder beside `target`, which takes its place if the block succeeds.

    An earlier bundle there is replaced; InputError where there is anything else.
    """
    refuse_foreign(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as beside:
        new, old = Path(beside) / "new", Path(beside) / "old"
        new.mkdir()
        yield new
        refuse_foreign(target)
        if target.exists():
            target.rename(old)
        try:
            new.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise


def refuse_foreign(target: Path) -> None:
    """InputError unless the folder is new, empty, or an earlier bundle and nothing else."""
    if not target.exists() and not target.is_symlink():
        return
    if target.is_symlink() or not target.is_dir():
        raise _foreign(target, target.name)
    found, strange = files_of(target)
    known = _named_in(target / MANIFEST)
    others = sorted([*strange, *(path for path in found if path not in known)])
    if others:
        raise _foreign(target, f"{', '.join(others[:SHOWN])}{' ...' if len(others) > SHOWN else ''}")


def _named_in(manifest: Path) -> set[str]:
    """Files of the bundle whose manifest that is; none where it is no manifest."""
    try:
        content = json.loads(manifest.read_bytes())
        if content["format"] != FORMAT:
            return set()
        return {MANIFEST, SUMS, *(file["path"] for file in content["files"])}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def _foreign(target: Path, found: str) -> InputError:
    return InputError(
        found=f"{found} where the bundle is to stand",
        needed="a new or empty folder, or one that holds an earlier bundle and nothing else",
        where=str(target),
        next_step="Name another --out, or remove it.",
    )


def seal(folder: Path, about: dict[str, Any]) -> tuple[Manifest, str]:
    """Write manifest.json and SHA256SUMS over what lies in the folder; the manifest, and its file's SHA-256.

    `about` are the manifest's fields but its own hash and `files`.
    """
    found, strange = files_of(folder)
    if strange:
        raise EvidenceError(", ".join(strange), "plain files", str(folder), "Export again.")
    files = [
        {"path": path, "sha256": sha256_of(folder / path), "size_bytes": (folder / path).stat().st_size}
        for path in sorted(found)
    ]
    try:
        manifest = Manifest.model_validate(
            {"format": FORMAT, "self_sha256": UNHASHED} | about | {"files": files}
        )
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the manifest"
        raise EvidenceError(
            f"{key}: {first['msg'].removeprefix('Value error, ')}",
            "a manifest after schemas/bundle_manifest.json",
            str(folder),
            "This is a fault of ours: report it.",
        ) from error
    text = json.dumps(manifest.model_dump(mode="json"), indent=1).encode() + b"\n"
    digest = own_hash(text) or UNHASHED
    content = text.replace(UNHASHED.encode(), digest.encode(), 1)
    (folder / MANIFEST).write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    (folder / SUMS).write_bytes(sums_of(manifest, sha256))
    return manifest.model_copy(update={"self_sha256": digest}), sha256


def readme(trace_id: str, *, has_names: bool) -> str:
    """What a bundle says of itself to somebody who has never seen one."""
    names = (
        "Names of users, groups, accounts, jobs and files are as the log has them."
        if has_names
        else "Names of users, groups, accounts, jobs and files are keyed pseudonyms (HMAC-SHA256, cut);\n"
        "text that may hold names was left out, as manifest.json lists under `left_out`."
    )
    return f"""# Results on trace {trace_id}

`dossier/dossier.html` says what was found. The rest is what it rests on: `tables/` (parquet), `configs/`
(the decisions in force), `lineage.json` (which table was made from which, by which code), `manifest.json`
(every file, with size and SHA-256).

{names}

- `sha256sum -c SHA256SUMS` checks the files with nothing but standard tools.
- `hpcopt verify .` also replays every policy, and computes measures and verdicts again. `hpcopt` is the
  command of the Python package hpcopt-assets; manifest.json says in which version it wrote this.

Hashes show that files are those that were exported, if the hash of manifest.json is the one that the
exporter told by another way. They do not show who exported them: they are no signature.
"""
