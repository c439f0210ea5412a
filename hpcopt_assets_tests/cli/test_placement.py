"""`hpcopt placement`: the same lines as the module's own command, and a run of the whole job."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.placement.__main__ import main
from hpcopt_assets_tests.cli.command import Hpcopt, mistake
from hpcopt_assets_tests.placement.builders import SMALL, changed
from hpcopt_assets_tests.placement.foreign import bundle, model, rows, write

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def flags(tmp_path: Path) -> list[str]:
    paths = write(tmp_path, model(), bundle(), rows())
    return [f"--{name}={path}" for name, path in zip(("onnx", "bundle", "parquet"), paths, strict=True)]


def test_both_commands_say_the_same(
    hpcopt: Hpcopt, flags: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    more = ["--n", "4", "--label_col", "l1_failed", "--threshold", "0.5", "--explain"]
    done = hpcopt("placement", "predict", *flags, *more)
    assert done.returncode == 0, done.stderr
    main([*flags, *more])
    assert done.stdout == capfd.readouterr().out
    assert len(done.stdout.splitlines()) == 5


def test_a_refusal_is_one_sentence(hpcopt: Hpcopt, flags: list[str]) -> None:
    assert "no column nowhere" in mistake(hpcopt("placement", "predict", *flags, "--label_col", "nowhere"))
    assert "no such file" in mistake(hpcopt("placement", "predict", *flags[:2], "--parquet", "missing"))
    assert "--rows 5 with --demo" in mistake(hpcopt("placement", "run", "--demo", "--rows", "5"))
    assert "--rows 6; needed: at least 200" in mistake(hpcopt("placement", "run", "--rows", "6"))


def test_a_run_makes_model_and_catalog_and_says_how_good_it_is(hpcopt: Hpcopt, project: Project) -> None:
    (project.configs / "placement.yaml").write_text(yaml.safe_dump(changed(**SMALL)), encoding="utf-8")
    done = hpcopt("placement", "run", "--rows", "1000")
    assert done.returncode == 0, done.stderr
    assert "plane_state" in done.stdout
    asked = hpcopt("query", "SELECT count(*) AS n FROM placement_predictions", "--format", "csv")
    assert asked.stdout.split() == ["n", "1000"]
    made = project.placement
    stored = project.store / "placement_snapshots" / "part.parquet"
    said = hpcopt(
        *("placement", "predict", "--onnx", made / "model.onnx", "--bundle", made / "bundle.json"),
        *("--parquet", stored, "--n", "0", "--label_col", "l1_failed"),
    )
    assert len(said.stdout.splitlines()) == 1001
    assert said.stdout.splitlines()[-1].startswith("Metrics on loaded rows: accuracy=0.9")
