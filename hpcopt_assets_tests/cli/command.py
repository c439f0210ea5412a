"""The hpcopt command as tests call it: within this process, with its output and exit code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from hpcopt_assets.cli import main


@dataclass
class Done:
    """How a command ended and what it said."""

    returncode: int
    stdout: str
    stderr: str


class Hpcopt:
    """The command, run within this process: its entry point with arguments, output and exit code."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capfd = monkeypatch, capfd

    def __call__(self, *arguments: str | Path, cwd: Path | None = None) -> Done:
        if cwd is not None:
            self.monkeypatch.chdir(cwd)
        self.monkeypatch.setattr(sys, "argv", ["hpcopt", *map(str, arguments)])
        self.capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        said = self.capfd.readouterr()
        return Done(int(stop.value.code or 0), said.out, said.err)


def mistake(done: Done, code: int = 2) -> str:
    """The one sentence of a refused command."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1
    return lines[0]
