"""Whole or not at all; and where a project is."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcopt_assets.contracts.errors import ConfigError, InputError
from hpcopt_assets.orchestration.files import beside, write_beside
from hpcopt_assets.orchestration.project import CHECKOUT, Project, find_project
from hpcopt_assets.orchestration.runner import register


def test_a_failed_write_leaves_the_old_content_and_no_rest(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"
    write_beside(target, b"old")

    def stop_halfway() -> None:
        with beside(target) as temporary:
            temporary.write_bytes(b"new, but only ha")
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        stop_halfway()
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


def test_the_project_is_the_checkout_or_the_named_folder(project: Project, tmp_path: Path) -> None:
    assert find_project({}) == Project(CHECKOUT)
    assert find_project({"HPCOPT_HOME": str(project.home)}) == project
    with pytest.raises(ConfigError, match="HPCOPT_HOME"):
        find_project({"HPCOPT_HOME": str(tmp_path / "elsewhere")})


def test_a_file_is_taken_in_once_and_an_id_is_never_taken_twice(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "mine.swf"
    outside.write_text("1\n")
    first = register(project, str(outside))
    assert first.trace_id == "mine"
    assert first.copied_to == project.raw / "mine.swf"
    assert register(project, str(outside)).copied_to is None
    assert register(project, "mine").copied_to is None
    assert register(project, str(project.raw / "mine.swf")).copied_to is None
    outside.write_text("2\n")
    assert register(project, str(outside)).copied_to is None
    assert (project.raw / "mine.swf").read_text() == "2\n"
    packed = tmp_path / "mine.swf.gz"
    packed.write_bytes(b"")
    with pytest.raises(InputError, match=r"mine\.swf in data/raw has the id mine already"):
        register(project, str(packed))
    with pytest.raises(InputError, match="folder"):
        register(project, str(tmp_path))
