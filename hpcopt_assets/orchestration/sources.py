"""From data/raw to traces: which files belong to which trace id (the partition key).

In:  file and folder names, the registry.   Out: `trace_id_of`, `find_sources`, `files_of`, `source_files`.
Not here: what the files hold (ingest/).
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.frozen import SAFE_ID
from hpcopt_assets.contracts.traces_config import TracesConfig

FORMAT_SUFFIX = re.compile(r"(\.(swf|log|txt|csv|sacct|pbs|acct|parquet))?(\.gz)?$", re.IGNORECASE)
PARTIAL_SUFFIXES = (".tmp", ".part")
HASH_LENGTH = 10
READABLE_LENGTH = 150
ONE_SOURCE = "one file or folder for each trace id"
MADE_ID = re.compile(rf".*--[0-9a-f]{{{HASH_LENGTH}}}")


def trace_id_of(name: str) -> str:
    """The trace id of a file or folder of data/raw: its name without the usual endings of logs.

    A name that is no legal id is rewritten and carries a hash of the original, so that two different names
    never share an id; a name that only looks as if it had been rewritten is rewritten too. Two dots in a
    row are not legal: Dagster reads `a...b` as a range of partitions.
    """
    stem = FORMAT_SUFFIX.sub("", name, count=1) or name
    is_legal = SAFE_ID.fullmatch(stem) and ".." not in stem and not stem.endswith(".")
    if is_legal and not MADE_ID.fullmatch(stem):
        return stem
    readable = re.sub(r"[^A-Za-z0-9_.-]+|\.{2,}", "_", stem)[:READABLE_LENGTH].strip("_.-") or "trace"
    digest = hashlib.sha256(os.fsencode(stem)).hexdigest()[:HASH_LENGTH]
    return f"{readable}--{digest}"


def is_source_name(name: str) -> bool:
    """Whether a file of that name in data/raw is a trace: not hidden, README, or still being copied."""
    return not (
        name.startswith(".") or name.endswith(PARTIAL_SUFFIXES) or Path(name).stem.casefold() == "readme"
    )


def _is_source(path: Path) -> bool:
    is_there = path.is_file() or path.is_dir() or (path.is_symlink() and not path.exists())
    return is_source_name(path.name) and is_there


def find_sources(raw_dir: Path) -> dict[str, list[Path]]:
    """Trace id -> the files and folders of `raw_dir` that claim it, by name; none for a missing folder.

    Hidden files, README and files still being copied (`.tmp`, `.part`) are no traces. A broken link is
    listed, so that its own trace fails visibly.
    """
    found: dict[str, list[Path]] = {}
    if raw_dir.is_dir():
        for path in sorted(filter(_is_source, raw_dir.iterdir())):
            found.setdefault(trace_id_of(path.name), []).append(path)
    return dict(sorted(found.items()))


def known_traces(raw_dir: Path, registry: TracesConfig) -> dict[str, list[Path]]:
    """Every trace there is -> the files and folders that claim it: by name, or as what it is a part of.

    More than one is an error of that trace (`source_files`).
    """
    found: dict[str, list[Path]] = {}
    for trace_id, sources in find_sources(raw_dir).items():
        for claimed in (trace_id, *registry.parts_of(trace_id)):
            found.setdefault(claimed, []).extend(sources)
    return found


def files_of(source: Path) -> list[Path]:
    """The files of one source: itself, or those of a folder and its subfolders in name order."""
    if not source.is_dir():
        return [source]
    return sorted(
        path
        for path in source.rglob("*")
        if not path.is_dir() and all(map(_is_source, (path, *_between(source, path))))
    )


def _between(folder: Path, path: Path) -> list[Path]:
    return [parent for parent in path.parents if parent.is_relative_to(folder) and parent != folder]


def source_files(raw_dir: Path, trace_id: str, registry: TracesConfig) -> list[Path]:
    """All files of a trace. Raises `TraceError` where there are none, or two sources claim the id."""
    found = find_sources(raw_dir)
    own, whole = found.get(trace_id, []), registry.entry(trace_id).part_of
    owner = whole or trace_id
    sources = found.get(owner, [])
    where = f"trace {trace_id} in {raw_dir}"
    names = ", ".join(path.name for path in sources)
    if whole is not None and own:
        claims = [
            *(path.name for path in own),
            f"{names or whole}, of which configs/traces.yaml makes it a part",
        ]
        next_step = f"Rename {own[0].name}, or the part in configs/traces.yaml."
        raise _claimed(claims, where, next_step)
    if len(sources) > 1:
        next_step = "Remove or rename all but one of them, or put them into one folder of that name."
        raise _claimed([path.name for path in sources], where, next_step)
    files = [path for source in sources for path in files_of(source)]
    if not files:
        raise TraceError(
            found="an empty folder" if sources else "no file for this trace",
            needed=ONE_SOURCE,
            where=where,
            next_step=f"Put the log back as {owner}.<ending> or {owner}/, or delete the partition.",
        )
    return files


def _claimed(claims: list[str], where: str, next_step: str) -> TraceError:
    found = f"{len(claims)} sources claim the trace id: {', '.join(claims)}"
    return TraceError(found, ONE_SOURCE, where, next_step)
