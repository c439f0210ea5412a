"""Fixtures of the command's tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hpcopt_assets.orchestration.project import CHECKOUT, HOME_VARIABLE, Project
from hpcopt_assets_tests.cli.command import Hpcopt
from hpcopt_assets_tests.cli.exported import SITE, command, write_site
from hpcopt_assets_tests.pipeline.conftest import swf


@pytest.fixture
def hpcopt(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hpcopt:
    return Hpcopt(monkeypatch, capfd)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "small.swf"
    path.write_text(swf())
    return path


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The site after its trace went through the graph; no test writes to it."""
    home = tmp_path_factory.mktemp("site") / "home"
    shutil.copytree(CHECKOUT / "configs", home / "configs")
    project = Project(home)
    write_site(project)
    done = command(home, "run", SITE)
    assert done.returncode == 0, done.stderr
    return project


@pytest.fixture(scope="session")
def exported(ran: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A bundle far from its project, and what was said when it was written."""
    out = tmp_path_factory.mktemp("far") / "bundle"
    done = command(ran.home, "export", SITE, "--out", out)
    assert done.returncode == 0, done.stderr
    return out, done.stdout + done.stderr


@pytest.fixture
def home(ran: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy of the site that a test may spoil; HPCOPT_HOME points to it."""
    shutil.copytree(ran.home, tmp_path / "home")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    return Project(tmp_path / "home")


@pytest.fixture
def bundle(exported: tuple[Path, str], tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported[0], tmp_path / "bundle"))
