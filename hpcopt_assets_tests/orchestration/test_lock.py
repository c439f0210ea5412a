"""Locking hashes: into any legal YAML, with every other character kept, and none replaced unasked."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.contracts.errors import ConfigError
from hpcopt_assets.contracts.traces_config import TracesConfig
from hpcopt_assets.ingest.reader import combined_sha256
from hpcopt_assets.orchestration.configs import load_config, load_configs
from hpcopt_assets.orchestration.io import part_path
from hpcopt_assets.orchestration.lock import lock, what_to_do
from hpcopt_assets.orchestration.project import Project

OLD, NEW = "0" * 64, "1" * 64
# Of digits alone: unquoted they would be numbers.


def test_hashes_are_locked_with_all_else_kept(project: Project) -> None:
    path = project.configs / "traces.yaml"
    before = path.read_text(encoding="utf-8")
    assert lock(project.configs, {"demo": NEW}).locked == ["demo"]
    after = path.read_text(encoding="utf-8")
    assert after.replace(f'    sha256: "{NEW}"\n', "") == before
    assert load_configs(project.configs).traces.entry("demo").sha256 == NEW
    assert lock(project.configs, {"demo": NEW}).locked == []
    assert path.read_text(encoding="utf-8") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("traces:\n  x:\n    note: a\n", 'traces:\n  x:\n    sha256: "NEW"\n    note: a\n'),
        ('traces:\n  "x": # why\n    note: a', 'traces:\n  "x": # why\n    sha256: "NEW"\n    note: a'),
        ("traces:\n    x:\n        note: a\n", 'traces:\n    x:\n        sha256: "NEW"\n        note: a\n'),
        ("traces:\n x:\n       note: a\n", 'traces:\n x:\n       sha256: "NEW"\n       note: a\n'),
        (
            "traces:\n  x:\n# above\n    # note\n    note: a\n# end\n\n  y: {}\n",
            'traces:\n  x:\n    sha256: "NEW"\n# above\n    # note\n    note: a\n# end\n\n  y: {}\n',
        ),
        ("traces:\r\n  x:\r\n    note: a\r\n", 'traces:\r\n  x:\r\n    sha256: "NEW"\r\n    note: a\r\n'),
        ("traces:\n  x: {}\n", 'traces:\n  x: {sha256: "NEW"}\n'),
        ("traces: {x: { note: a}}\n", 'traces: {x: {sha256: "NEW",  note: a}}\n'),
        ("traces:\n  x: { # c\n    note: a}\n", 'traces:\n  x: {sha256: "NEW",  # c\n    note: a}\n'),
        ("traces:\n  x:\n    sha256:  # todo\n", 'traces:\n  x:\n    sha256: "NEW"  # todo\n'),
        ("traces:\n  x:\n    sha256: null\n    note: a\n", 'traces:\n  x:\n    sha256: "NEW"\n    note: a\n'),
        (
            "traces:\n  y: {note: x}\n  x: {note: é}\n",
            'traces:\n  y: {note: x}\n  x: {sha256: "NEW", note: é}\n',
        ),
    ],
)
def test_an_entry_may_be_written_in_any_way(before: str, after: str, tmp_path: Path) -> None:
    path = tmp_path / "traces.yaml"
    path.write_bytes(before.encode())
    assert lock(tmp_path, {"x": NEW}).locked == ["x"]
    assert path.read_bytes().decode() == after.replace("NEW", NEW)


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize(
    "text",
    [
        "traces:\n  x:\n    note: a\n# hi\n    sha256: 'OLD' # from afar\n\n    # c\n    unit: procs\n",
        "traces: {x: {note: a, sha256: 'OLD', unit: procs}} # all\n",
    ],
)
def test_a_locked_hash_is_replaced_only_when_asked_to(text: str, quote: str, tmp_path: Path) -> None:
    path = tmp_path / "traces.yaml"
    text = text.replace("'", quote)
    path.write_text(text.replace("OLD", OLD))
    kept = lock(tmp_path, {"x": NEW})
    assert (kept.locked, kept.differ, kept.failed) == ([], {"x": (OLD, NEW)}, {})
    assert path.read_text() == text.replace("OLD", OLD)
    assert lock(tmp_path, {"x": NEW}, replace=True).locked == ["x"]
    assert path.read_text() == text.replace("OLD", NEW)


def test_what_cannot_be_locked_is_named_and_the_others_are_locked(tmp_path: Path) -> None:
    path = tmp_path / "traces.yaml"
    path.write_text(
        "traces:\n  base: &base\n    note: a\n  same: *base\n  part: {part_of: z}\n"
        f"  differs: {{sha256: '{OLD}'}}\n  anchored:\n    sha256: &hash '{OLD}'\n"
        "  alias:\n    sha256: *hash\n  z: {}\n"
    )
    names = ("same", "part", "differs", "anchored", "alias", "gone", "z")
    done = lock(tmp_path, dict.fromkeys(names, NEW), replace=True)
    assert done.locked == ["differs", "z"]
    assert list(done.failed) == ["alias", "anchored", "gone", "part", "same"]
    assert "part of z" in done.failed["part"]
    loaded = load_config(tmp_path, "traces")
    assert isinstance(loaded, TracesConfig)
    locked = {name: entry.sha256 for name, entry in loaded.traces.items() if entry.sha256 is not None}
    assert locked == {"differs": NEW, "z": NEW, "anchored": OLD, "alias": OLD}


def test_a_registry_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "traces.yaml").write_text("traces:\n  x:\n")
    with pytest.raises(ConfigError):
        lock(tmp_path, {"x": NEW})
    assert (tmp_path / "traces.yaml").read_text() == "traces:\n  x:\n"


def test_what_to_do_is_told_without_reading_the_files(project: Project) -> None:
    file = project.raw / "a.swf"

    def told(trace_id: str = "a", **about: object) -> str:
        registry = {"a": about, "half": {"part_of": "a"}}
        return what_to_do(
            project, TracesConfig.model_validate({"traces": registry}), trace_id, combined_sha256
        )

    url = "http://127.0.0.1/a.swf"
    assert told() == told("half") == "no file in data/raw: copy it there as a.<ending>"
    assert told(url=url) == told("half", url=url) == "hpcopt fetch a"
    file.write_text("12345")
    assert told(sha256=NEW) == ""  # it was never read: only its hash would tell
    read_last = part_path(project.store, ("raw_trace",), "a")
    read_last.parent.mkdir(parents=True)
    pl.DataFrame({"source_file": ["a.swf"], "sha256": [OLD], "size_bytes": [5]}).write_parquet(read_last)
    assert told() == told(sha256=OLD) == ""
    assert told(sha256=NEW) == "not the locked file: copy that one back, or hpcopt lock --replace"
    file.write_text("123456")
    assert told(sha256=OLD, url=url) == "not the locked file: hpcopt fetch a, or hpcopt lock --replace"
    assert told(sha256=NEW) == ""
    (project.raw / "a.log").write_text("")
    assert "2 sources claim the trace id" in told()
