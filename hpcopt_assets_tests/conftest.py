"""Fixtures that several rooms' tests share: a project in a temporary folder, and where real data may lie."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hpcopt_assets.orchestration.project import CHECKOUT, HOME_VARIABLE, Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project of its own, with the shipped configs; HPCOPT_HOME points to it."""
    home = tmp_path / "home"
    shutil.copytree(CHECKOUT / "configs", home / "configs")
    (home / "data" / "raw").mkdir(parents=True)
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    return Project(home)


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real traces; tests that need it are skipped without it."""
    named = os.environ.get("HPCOPT_TEST_DATA")
    if not named:
        pytest.skip("HPCOPT_TEST_DATA is not set: no real traces to test with")
    return Path(named)
