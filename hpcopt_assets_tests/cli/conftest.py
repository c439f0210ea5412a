"""Fixtures of the command's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcopt_assets_tests.cli.command import Hpcopt
from hpcopt_assets_tests.pipeline.conftest import swf


@pytest.fixture
def hpcopt(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hpcopt:
    return Hpcopt(monkeypatch, capfd)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "small.swf"
    path.write_text(swf())
    return path
