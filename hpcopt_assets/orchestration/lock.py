"""Locked hashes: written into the registry, and what to do about traces whose files are not as it says.

In:  configs/traces.yaml, data/raw, what was read last.   Out: `sha256` values in the YAML; words for a list.
Not here: refusing a file whose hash is not the locked one (ingest/reader.py does, at every run).

Values are put into the text where YAML's own parser says they belong, so that every other character stays.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import yaml

from hpcopt_assets.contracts.errors import ConfigError, TraceError
from hpcopt_assets.contracts.traces_config import TraceEntry, TracesConfig
from hpcopt_assets.orchestration.configs import load_config
from hpcopt_assets.orchestration.files import write_beside
from hpcopt_assets.orchestration.io import part_path
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.sources import known_traces, source_files

FILE = "traces.yaml"
CombinedHash = Callable[[list[tuple[str, str]]], str]
# Of the names and hashes of a trace's files.


@dataclass
class Locked:
    """What became of hashes: locked now; not replaced, as (locked, found); not locked, with the reason."""

    locked: list[str] = field(default_factory=list)
    differ: dict[str, tuple[str, str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def lock(configs: Path, hashes: dict[str, str], *, replace: bool = False) -> Locked:
    """Write the hashes into configs/traces.yaml, all else untouched.

    A hash that is locked otherwise stays unless `replace`. Each new text is loaded before it counts: an
    entry that we would break, or with it another, is left alone, and named.
    """
    path = configs / FILE
    text = path.read_bytes().decode("utf-8")
    done = Locked()
    for trace_id, sha256 in sorted(hashes.items()):
        before = _loaded(text)
        entry = before.traces.get(trace_id)
        stated = entry.sha256 if entry is not None else None
        whole = before.entry(trace_id).part_of
        if entry is None:
            done.failed[trace_id] = "no entry in configs/traces.yaml"
        elif whole is not None:
            done.failed[trace_id] = f"a part of {whole}, whose hash it has"
        elif stated not in (None, sha256) and not replace:
            done.differ[trace_id] = (str(stated), sha256)
        elif stated != sha256:
            wanted = before.traces | {trace_id: entry.model_copy(update={"sha256": sha256})}
            changed = _with_hash(text, trace_id, sha256)
            if changed is None or not _says(changed, wanted):
                done.failed[trace_id] = "written in a way that is not understood: write its sha256 yourself"
            else:
                text = changed
                done.locked.append(trace_id)
    if done.locked:
        write_beside(path, text.encode())
    return done


def _with_hash(text: str, trace_id: str, sha256: str) -> str | None:
    """The text with that hash in the trace's entry; None where that is no mapping of its own."""
    key, entry = _find(_find(yaml.compose(text, Loader=yaml.SafeLoader), "traces")[1], trace_id)
    if key is None or not isinstance(entry, yaml.MappingNode) or (not entry.value and not entry.flow_style):
        return None
    stated, value = _find(entry, "sha256")
    if stated is not None and isinstance(value, yaml.ScalarNode):
        quote = value.style or '"'
        # Quoted: a hash of digits alone would be read as a number.
        start, end = value.start_mark.index, value.end_mark.index
        space = " " if text[start - 1] == ":" else ""
        return f"{text[:start]}{space}{quote}{sha256}{quote}{text[end:]}"
    if entry.flow_style:
        start = text.index("{", entry.start_mark.index) + 1
        comma = ", " if entry.value else ""
        return f'{text[:start]}sha256: "{sha256}"{comma}{text[start:]}'
    # On a line of its own below the key's, so that comments stay with what they speak of.
    start = text.find("\n", key.end_mark.index) + 1
    line_end = "\r\n" if text[:start].endswith("\r\n") else "\n"
    indent = " " * entry.value[0][0].start_mark.column
    return f'{text[:start]}{indent}sha256: "{sha256}"{line_end}{text[start:]}'


def _find(node: yaml.Node | None, key: str) -> tuple[yaml.Node | None, yaml.Node | None]:
    """Key and value of a mapping."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next(((name, value) for name, value in pairs if name.value == key), (None, None))


def _says(text: str, wanted: dict[str, TraceEntry]) -> bool:
    try:
        return _loaded(text).traces == wanted
    except ConfigError:
        return False


def _loaded(text: str) -> TracesConfig:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_bytes(text.encode())
        loaded = load_config(Path(folder), Path(FILE).stem)
    assert isinstance(loaded, TracesConfig)  # noqa: S101 -- the model of that file; for the type checker
    return loaded


# --- what to do ---------------------------------------------------------------------------------------


def what_to_do(project: Project, registry: TracesConfig, trace_id: str, combined: CombinedHash) -> str:
    """What must be done before a trace can be read; "" where nothing is known to be amiss.

    No file is hashed for it: a listing is not to read gigabytes. Sizes and hashes of when it was read last
    tell whether what is there now can be what is locked.
    """
    owner = registry.entry(trace_id).part_of or trace_id
    fetch = f"hpcopt fetch {owner}" if registry.entry(owner).url is not None else ""
    try:
        files = source_files(project.raw, trace_id, registry)
    except TraceError as error:
        if known_traces(project.raw, registry).get(trace_id):
            return f"{error.found}. {error.next_step}"
        return fetch or f"no file in data/raw: copy it there as {owner}.<ending>"
    locked = registry.entry(trace_id).sha256
    read_last = part_path(project.store, ("raw_trace",), trace_id)
    if locked is None or not read_last.is_file():
        return ""
    rows = pl.read_parquet(read_last, glob=False).select("source_file", "sha256", "size_bytes")
    sizes = {path.relative_to(project.raw).as_posix(): path.stat().st_size for path in files if path.exists()}
    is_as_read = sizes == dict(rows.select("source_file", "size_bytes").iter_rows())
    was_locked_one = combined(list(rows.select("source_file", "sha256").iter_rows())) == locked
    if is_as_read == was_locked_one:
        return ""
    return f"not the locked file: {fetch or 'copy that one back'}, or hpcopt lock --replace"
