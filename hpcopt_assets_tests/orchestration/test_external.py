"""Which external policies there are: found by entry point, one of each name, refused with what there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcopt_assets.contracts.adapter import ExternalPolicy
from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.errors import ConfigError, PolicyError
from hpcopt_assets.orchestration.configs import Configs, load_configs
from hpcopt_assets.orchestration.external import external_policies, find_policy, load_policy
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets_tests.packages import EXAMPLE, install, install_project, on_path


@pytest.fixture(scope="module")
def configs() -> Configs:
    return load_configs(CHECKOUT / "configs")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    with on_path(tmp_path):
        yield tmp_path


def test_the_example_is_found_described_and_loaded(configs: Configs, site: Path) -> None:
    install_project(site, EXAMPLE)
    means = "EASY backfilling, written against the adapter alone. (example-easy 1.0)"
    assert external_policies(configs) == [ExternalPolicy(id="example_easy", means=means)]
    assert find_policy(configs, "example_easy") == external_policies(configs)[0]
    assert load_policy("example_easy")({"now_s": 0, "free_procs": 1, "running": [], "queued": []}) == {
        "start": []
    }


def test_ours_are_found_as_before(configs: Configs, site: Path) -> None:
    install_project(site, EXAMPLE)
    assert isinstance(find_policy(configs, "easy_backfill"), Policy)


def test_a_package_without_metadata_is_known_by_its_target(configs: Configs, site: Path) -> None:
    install(site, "bare", {"bare": "bare:decide"})
    (site / "bare-1.0.dist-info" / "METADATA").unlink()
    assert external_policies(configs)[0].means == "bare:decide (bare:decide)"


def test_a_package_is_listed_without_being_run(configs: Configs, site: Path) -> None:
    install(site, "loud", {"loud": "loud:decide"}, loud="raise SystemExit('I ran')")
    assert [policy.id for policy in external_policies(configs)] == ["loud"]


def test_a_missing_policy_is_answered_with_what_there_is(configs: Configs, site: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        find_policy(configs, "no_such")
    assert "fifo_strict, easy_backfill" in caught.value.needed
    assert caught.value.needed.endswith("or an external one: none is installed")
    install_project(site, EXAMPLE)
    with pytest.raises(ConfigError, match="or an external one: example_easy"):
        find_policy(configs, "no_such")


@pytest.mark.parametrize(
    ("name", "owner"), [("easy_backfill", "configs/policies.yaml"), ("observed", "the recorded schedule")]
)
def test_a_name_of_ours_is_taken(configs: Configs, site: Path, name: str, owner: str) -> None:
    install(site, "thief", {name: "thief:decide"})
    for look in (lambda: find_policy(configs, name), lambda: external_policies(configs)):
        with pytest.raises(PolicyError) as caught:
            look()
        assert caught.value.found == f"policy id '{name}' of {owner} and of thief 1.0"
        assert "fifo_strict, easy_backfill" in caught.value.needed


def test_a_clash_is_nobody_elses_trouble(configs: Configs, site: Path) -> None:
    install(site, "thief", {"easy_backfill": "thief:decide"})
    assert isinstance(find_policy(configs, "fifo_strict"), Policy)


def test_two_packages_may_not_share_a_name(configs: Configs, site: Path) -> None:
    install(site, "one", {"mine": "one:decide"})
    install(site, "two", {"mine": "two:decide"})
    with pytest.raises(PolicyError) as caught:
        find_policy(configs, "mine")
    assert sorted(caught.value.found.removeprefix("policy id 'mine' of ").split(" and of ")) == [
        "one 1.0",
        "two 1.0",
    ]


@pytest.mark.parametrize("name", ["My-Policy", "9th", "x" * 65])
def test_a_name_that_is_no_id_is_refused(configs: Configs, site: Path, name: str) -> None:
    install(site, "odd", {name: "odd:decide"})
    with pytest.raises(PolicyError, match="lower-case letters"):
        find_policy(configs, name)


@pytest.mark.parametrize(
    ("target", "source", "found"),
    [
        ("gone:decide", "", "ModuleNotFoundError: No module named 'gone'"),
        ("broken:decide", "", "AttributeError: module 'broken' has no attribute 'decide'"),
        ("broken:decide", "1 / 0", "ZeroDivisionError: division by zero"),
        ("broken:decide", "raise SystemExit(3)", "SystemExit: 3"),
        ("broken:decide", "decide = {}", "broken:decide is a dict"),
    ],
)
def test_code_that_cannot_be_used_is_refused(site: Path, target: str, source: str, found: str) -> None:
    install(site, "broken", {"broken": target}, broken=source)
    with pytest.raises(PolicyError) as caught:
        load_policy("broken")
    assert caught.value.found == found
    assert caught.value.where == "policy broken (broken 1.0)"
