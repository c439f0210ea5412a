"""What a run shows in the terminal."""

import logging

import pytest

from hpcopt_assets.orchestration import progress
from hpcopt_assets.orchestration.progress import QUIET_S, _ProgressHandler


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def said(text: str, level: int = logging.INFO) -> logging.LogRecord:
    record = logging.LogRecord("made", level, __file__, 1, f"run - step - {text}", None, None)
    record.dagster_meta = {"orig_message": text, "dagster_event": None}
    return record


def test_a_long_step_is_heard_and_a_short_one_is_not(clock, capsys: pytest.CaptureFixture[str]):
    handler = _ProgressHandler()
    for wait_s, text in ((1.0, "soon"), (QUIET_S, "late"), (1.0, "at once"), (QUIET_S, "again")):
        clock[0] += wait_s
        handler.emit(said(text))
    assert capsys.readouterr().err == "    late\n    again\n"


def test_what_is_no_news_is_not_shown(clock, capsys: pytest.CaptureFixture[str]):
    handler = _ProgressHandler()
    clock[0] += 100
    handler.emit(said("detail", logging.DEBUG))
    assert capsys.readouterr().err == ""
