"""Quarters that begin as observed, in the graph: they replay, and so depend on what replays depend on."""

from __future__ import annotations

import dagster as dg
import polars as pl
import pytest

from hpcopt_assets.assets.fidelity import fidelity_assets
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.orchestration.configs import Configs, load_configs
from hpcopt_assets.orchestration.io import part_path
from hpcopt_assets.orchestration.project import CHECKOUT, Project
from hpcopt_assets_tests.pipeline.conftest import RunTrace, swf

APRIL_S = 1_711_929_600
ESTIMATES = dg.AssetKey("runtime_estimates")


@pytest.fixture
def project(project: Project) -> Project:
    limits = project.configs / "fidelity.yaml"
    limits.write_text(limits.read_text().replace("seeded_start: false", "seeded_start: true"))
    return project


def test_quarters_are_replayed_from_their_observed_beginning(project: Project, run_trace: RunTrace) -> None:
    """More ran than there is when the second began: of it nothing can be said, and the graph goes on."""
    (project.raw / "april.swf").write_text(swf().replace("1700000000", str(APRIL_S - 2700)))
    assert run_trace("april").success
    found = {}
    for name in ("fidelity_verdicts", "policy_closeness"):
        found[name] = pl.read_parquet(part_path(project.store, (name,), "april"), hive_partitioning=False)
        validate(TABLES[name], found[name])
    second = found["fidelity_verdicts"].filter(period="2024-Q2", criterion="overall")
    assert set(second["verdict"]) == {"NOT_ASSESSED"}
    assert second["reason"].str.contains("cannot begin as observed", literal=True).all()
    ranks = found["policy_closeness"].filter(period="2024-Q2")
    assert set(ranks["policy"]) == {"fifo_strict", "easy_backfill"}  # no bound
    assert ranks["rank"].null_count() == 2
    assert found["policy_closeness"].filter(period="whole")["rank"].null_count() == 0


def parents(configs: Configs, *, seeded_start: bool) -> list[bool]:
    """Whether the two assets wait for forecasts."""
    quarters = configs.fidelity.quarters.model_copy(update={"seeded_start": seeded_start})
    fidelity = configs.fidelity.model_copy(update={"quarters": quarters})
    made = fidelity_assets(Configs(**(vars(configs) | {"fidelity": fidelity})))
    return [ESTIMATES in definition.dependency_keys for definition in made]


def test_only_quarters_that_are_replayed_wait_for_forecasts() -> None:
    configs = load_configs(CHECKOUT / "configs")
    assert parents(configs, seeded_start=False) == [False, False]
    assert parents(configs, seeded_start=True) == [True, True]
