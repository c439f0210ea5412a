"""hpcopt dossier: where it is, or what to do; whom it names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hpcopt_assets.bundle.integrity import sha256_of
from hpcopt_assets.cli import dossier as command
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets_tests.cli.command import Hpcopt, mistake
from hpcopt_assets_tests.cli.exported import SECRETS, SITE, USERS, stored, tell_tales
from hpcopt_assets_tests.pipeline.conftest import swf


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []
    monkeypatch.setattr(command.webbrowser, "open", lambda address: not addresses.append(address))
    return addresses


def stand(project: Project, name: str) -> None:
    page = project.dossiers / name / "dossier.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>")


def test_it_says_where_and_opens_only_when_asked(hpcopt: Hpcopt, project: Project, opened: list[str]) -> None:
    stand(project, "small")
    done = hpcopt("dossier", "small")
    assert done.returncode == 0
    page = project.dossier_of("small")
    assert done.stdout.splitlines() == [str(page.with_suffix(end)) for end in (".html", ".md", ".json")]
    assert opened == []
    assert hpcopt("dossier", "small", "--open").returncode == 0
    assert opened == [page.as_uri()]


def test_without_a_name_it_is_that_over_all_traces(hpcopt: Hpcopt, project: Project) -> None:
    stand(project, "credibility")
    assert hpcopt("dossier").stdout.splitlines()[0] == str(project.credibility)


def test_a_browser_that_does_not_open_is_said(
    hpcopt: Hpcopt, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand(project, "small")
    monkeypatch.setattr(command.webbrowser, "open", lambda _: False)
    done = hpcopt("dossier", "small", "--open")
    assert done.returncode == 0
    assert "No browser could be opened" in done.stderr


def test_where_there_is_none_nothing_is_made_and_the_next_step_is_said(
    hpcopt: Hpcopt, project: Project, opened: list[str]
) -> None:
    (project.raw / "small.swf").write_text(swf())
    assert "no dossier over all traces" in mistake(hpcopt("dossier", "--open"))
    told = mistake(hpcopt("dossier", "small"))
    assert "no dossier of 'small'" in told
    assert "Run `hpcopt run small`" in told
    stand(project, "other")
    told = mistake(hpcopt("dossier", "none_such"))
    assert "one that was made: other" in told
    assert "`hpcopt traces`" in told
    assert opened == []
    assert not project.dossier_of("small").exists()


@pytest.mark.usefixtures("project")
def test_a_trace_cannot_have_the_name_of_all(hpcopt: Hpcopt) -> None:
    assert "another name" in mistake(hpcopt("dossier", "credibility"))


@pytest.mark.slow
def test_dossiers_tell_nobody(ran: Project) -> None:
    assert {path.name for path in ran.dossiers.iterdir()} == {SITE, "credibility"}
    assert tell_tales(ran.dossiers, SECRETS) == []
    for page in ran.dossiers.glob("*/dossier.*"):
        text = page.read_text(encoding="utf-8")
        assert not any(f"user {name} " in text for name in USERS)
    told = ran.dossier_of(SITE).read_text(encoding="utf-8")
    assert "file_" in told


@pytest.mark.slow
def test_no_hash_in_a_dossier_lets_anybody_try_names(ran: Project) -> None:
    """Of tables that name nobody they are plain, so that they can be compared."""
    told = "".join(path.read_text(encoding="utf-8") for path in ran.dossiers.glob("*/dossier.*"))
    naming = ("raw_trace", "trace_jobs", "trace_rejects", "ingest_report", "forecast_scores")
    for asset in naming:
        assert sha256_of(stored(ran, asset))[:12] not in told, asset
    for asset in ("claim_verdicts", "shaken_measures", "replay_measures"):
        assert sha256_of(stored(ran, asset)) in told, asset
    assert "version_1" in told
    assert len(set(re.findall(r"version_[0-9a-f]{16}", told))) >= len(naming)


@pytest.mark.slow
def test_the_key_changes_the_page_but_not_the_data(home: Project, hpcopt: Hpcopt) -> None:
    def data() -> dict[str, object]:
        path = home.dossier_of(SITE).with_suffix(".json")
        found: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
        return found

    before, page = data(), home.dossier_of(SITE).read_bytes()
    home.export_key.write_text("0f" * 32 + "\n")
    assert hpcopt("run", SITE).returncode == 0
    after = data()
    assert home.dossier_of(SITE).read_bytes() != page
    assert before.pop("provenance") != after.pop("provenance")
    assert before == after


@pytest.mark.slow
@pytest.mark.parametrize("trace", [[SITE], []])
def test_names_are_kept_where_that_is_asked(home: Project, hpcopt: Hpcopt, trace: list[str]) -> None:
    folder = trace[0] if trace else "credibility"
    before = (home.dossiers / folder / "dossier.html").read_bytes()
    done = hpcopt("dossier", *trace, "--names")
    assert done.returncode == 0, done.stderr
    assert "for the site alone" in done.stderr
    pages = [Path(line) for line in done.stdout.splitlines()]
    assert {page.parent for page in pages} == {home.dossiers_with_names / folder}
    named = pages[1].read_text(encoding="utf-8").replace("\\", "")
    assert "dump_of_jaguar.log" in named
    assert ("rej_platypus" in named) == bool(trace)
    assert (home.dossiers / folder / "dossier.html").read_bytes() == before
