"""`hpcopt export` refuses what is not complete, current and whole, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hpcopt_assets.orchestration.project import Project
from hpcopt_assets_tests.cli.command import Hpcopt, mistake
from hpcopt_assets_tests.cli.exported import (
    ORDINARY,
    SECRETS,
    SITE,
    stored,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def refused(home: Project, hpcopt: Hpcopt, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """The one sentence of a refused export, which leaves nothing behind."""
    assert home.store.is_dir()
    out = tmp_path / "refused" / "bundle"

    def export(*more: str | Path, code: int = 1, trace: str = SITE) -> str:
        done = hpcopt("export", trace, "--out", out, *more)
        assert done.returncode == code, done.stdout
        return done.stderr.strip().splitlines()[-1]

    yield export
    assert not out.exists()
    assert not out.parent.exists() or list(out.parent.iterdir()) == []


def test_what_was_never_run_is_refused(refused: Callable[..., str]) -> None:
    assert "no such trace among those that were run; needed: one of site" in refused(
        trace="none_such", code=2
    )


@pytest.mark.parametrize(
    ("config", "old", "new", "stale"),
    [
        ("policies", "half_life_s: 604800", "half_life_s: 60480", "replay/fairshare_backfill"),
        ("objective", "tau_s: 10", "tau_s: 60", "replay_measures"),
    ],
)
def test_results_of_other_decisions_are_refused(
    home: Project, refused: Callable[..., str], config: str, old: str, new: str, stale: str
) -> None:
    path = home.configs / f"{config}.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    said = refused()
    assert "was made by other code or configs than there are now" in said
    assert stale in said or "more" in said
    assert said.endswith("Run `hpcopt run site`.")


def test_another_registry_entry_is_refused(home: Project, refused: Callable[..., str]) -> None:
    path = home.configs / "traces.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("capacity_procs: 16", "capacity_procs: 17"))
    assert "another entry than the one that it was read by" in refused()


def test_a_table_that_is_gone_or_damaged_is_refused(home: Project, refused: Callable[..., str]) -> None:
    path = stored(home, "replay", "easy_tsafrir")
    content = path.read_bytes()
    path.write_bytes(content[:99] + bytes([content[99] ^ 1]) + content[100:])
    said = refused()
    assert str(path) in said
    assert "which Dagster recorded for replay/easy_tsafrir" in said
    path.unlink()
    assert f"the table of replay/easy_tsafrir is not at {path}" in refused()


def test_results_of_older_inputs_are_refused(home: Project, refused: Callable[..., str]) -> None:
    """The log was replaced and read again; what was computed from the old one stands in the store."""
    import dagster as dg

    from hpcopt_assets.definitions import build_definitions
    from hpcopt_assets.orchestration.instance import open_instance
    from hpcopt_assets.orchestration.jobs import TRACE_JOB

    log = home.raw / SITE / "dump_of_jaguar.log"
    log.write_text("\n".join(log.read_text(encoding="utf-8").splitlines()[:-1]) + "\n", encoding="utf-8")
    with open_instance(home) as instance:
        names = ("raw_trace", "trace_jobs", "trace_rejects", "ingest_report")
        job = build_definitions().resolve_job_def(TRACE_JOB)
        keys = [dg.AssetKey(name) for name in names]
        assert job.execute_in_process(partition_key=SITE, instance=instance, asset_selection=keys).success
    said = refused()
    assert "was made anew after" in said
    assert said.endswith("Run `hpcopt run site`.")


def test_a_wiped_history_is_refused(home: Project, refused: Callable[..., str]) -> None:
    import dagster as dg

    from hpcopt_assets.orchestration.instance import open_instance

    with open_instance(home) as instance:
        instance.wipe_assets([dg.AssetKey("claim_verdicts")])
    assert "claim_verdicts was not made" in refused()


def test_the_key_does_not_lie_in_the_bundle(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "a key within" in refused("--key", tmp_path / "refused" / "bundle" / "key", code=2)


def test_a_folder_of_somebody_else_is_not_replaced(home: Project, hpcopt: Hpcopt, tmp_path: Path) -> None:
    assert home.store.is_dir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    said = mistake(hpcopt("export", SITE, "--out", tmp_path / "mine"))
    assert "thesis.tex where the bundle is to stand" in said


def test_ordinary_words_are_what_we_say_they_are() -> None:
    """Else the grep for them would prove nothing, and one for the others too much."""
    assert set(ORDINARY).isdisjoint(SECRETS)
