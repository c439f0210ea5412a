"""From files in data/raw to traces: which file belongs to which trace id (the partition key).

In:  file names.   Out: `trace_id_of`, `find_sources`, `source_of`.
Not here: what the files hold (reader.py).
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from hpcopt_assets.contracts.config import SAFE_ID
from hpcopt_assets.contracts.errors import TraceError

FORMAT_SUFFIX = re.compile(r"(\.swf)?(\.gz)?$", re.IGNORECASE)
PARTIAL_SUFFIXES = (".tmp", ".part")
HASH_LENGTH = 10
READABLE_LENGTH = 150
MADE_ID = re.compile(rf".*--[0-9a-f]{{{HASH_LENGTH}}}")


def trace_id_of(file_name: str) -> str:
    """The trace id of a file in data/raw: its name without `.swf`, `.gz` or `.swf.gz`.

    A name that is no legal id is rewritten and carries a hash of the original, so that two different names
    never share an id; a name that only looks as if it had been rewritten is rewritten too. Two dots in a
    row are not legal: Dagster reads `a...b` as a range of partitions.
    """
    stem = FORMAT_SUFFIX.sub("", file_name, count=1) or file_name
    if (
        SAFE_ID.fullmatch(stem)
        and ".." not in stem
        and not stem.endswith(".")
        and not MADE_ID.fullmatch(stem)
    ):
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
    return is_source_name(path.name) and (path.is_file() or (path.is_symlink() and not path.exists()))


def find_sources(raw_dir: Path) -> dict[str, list[Path]]:
    """Trace id -> the files of `raw_dir` that claim it, both in name order; empty for a missing folder.

    Hidden files, README and files still being copied (`.tmp`, `.part`) are no traces. A broken link is
    listed, so that its own trace fails visibly.
    """
    found: dict[str, list[Path]] = {}
    if raw_dir.is_dir():
        for path in sorted(filter(_is_source, raw_dir.iterdir())):
            found.setdefault(trace_id_of(path.name), []).append(path)
    return dict(sorted(found.items()))


def source_of(raw_dir: Path, trace_id: str) -> Path:
    """The one file of a trace. Raises `TraceError` where there is none, or more than one."""
    files = find_sources(raw_dir).get(trace_id, [])
    if len(files) == 1:
        return files[0]
    if files:
        raise TraceError(
            found=f"{len(files)} files claim the trace id: {', '.join(path.name for path in files)}",
            needed="one file for each trace id is needed",
            where=f"trace {trace_id} in {raw_dir}",
            next_step="Remove or rename all but one of them.",
        )
    raise TraceError(
        found="no file for this trace",
        needed="one file for each trace id is needed",
        where=f"trace {trace_id} in {raw_dir}",
        next_step=f"Put the log back as {trace_id}.swf or {trace_id}.swf.gz, or delete the partition.",
    )
