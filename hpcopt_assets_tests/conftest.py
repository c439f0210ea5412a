"""Fixtures that several rooms' tests share: a project in a temporary folder, and where real data may lie."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hpcopt_assets.orchestration.project import CHECKOUT, HOME_VARIABLE, Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project of its own, with the shipped configs but for most policies; HPCOPT_HOME points to it.

    A graph of three policies says as much of the graph as one of twelve, and runs in a third of the time.
    """
    home = tmp_path / "home"
    shutil.copytree(CHECKOUT / "configs", home / "configs")
    policies = home / "configs" / "policies.yaml"
    text = policies.read_text(encoding="utf-8")
    first, last = (text.index(f"  - id: {name}\n") for name in ("easy_sjbf", "easy_clairvoyant"))
    policies.write_text(text[:first] + text[last:], encoding="utf-8")
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
