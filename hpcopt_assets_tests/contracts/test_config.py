"""Decisions live in configs once: unknown, missing and unsound ones are refused with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from hpcopt_assets.contracts.config import CONFIG_MODELS, FidelityConfig, PoliciesConfig, Policy
from hpcopt_assets.contracts.errors import ConfigError
from hpcopt_assets.contracts.traces_config import TracesConfig
from hpcopt_assets.contracts.verdicts import combine
from hpcopt_assets.contracts.vocabulary import Order, Verdict
from hpcopt_assets.orchestration.configs import load_config, load_configs
from hpcopt_assets.orchestration.project import CHECKOUT, Project

PACKAGE = CHECKOUT / "hpcopt_assets"


def shipped(name: str) -> dict[str, Any]:
    content = yaml.safe_load((CHECKOUT / "configs" / f"{name}.yaml").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def policy(**changes: object) -> dict[str, object]:
    return dict(shipped("policies")["policies"][1]) | changes


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"estimate": "actual"}, "no scheduler knows"),
        ({"hold": "actual"}, "no scheduler knows"),
        ({"order": "alphabetical"}, "order"),
        ({"backfill": "none", "backfill_order": "shortest"}, "without backfilling"),
        ({"backfill": "conservative", "order": "shortest"}, "conservative with order.* only submit"),
        (
            {"backfill": "conservative", "estimate": "user_history"},
            "only submit, queue, requested, requested",
        ),
        ({"backfill": "conservative", "backfill_order": "shortest"}, "only submit"),
        ({"order": "fairshare"}, "order fairshare needs a half-life"),
        ({"half_life_s": 604_800}, "no other order has one"),
        ({"order": "fairshare", "half_life_s": 0}, "half_life_s"),
        ({"estimate": "oracle"}, "estimate"),
        ({"id": "observed"}, "recorded schedule"),
        ({"id": "Not An Id"}, "id"),
        ({"guard": 1}, "guard"),
    ],
)
def test_an_unsound_policy_is_refused_with_the_reason(changes: dict[str, object], reason: str) -> None:
    Policy.model_validate(policy())
    with pytest.raises(ValidationError, match=reason):
        Policy.model_validate(policy(**changes))


def test_policies_must_be_distinct_and_baselines_among_them() -> None:
    content = shipped("policies")
    with pytest.raises(ValidationError, match="more than once"):
        PoliciesConfig.model_validate(content | {"policies": content["policies"] * 2})
    with pytest.raises(ValidationError, match="no_such"):
        PoliciesConfig.model_validate(content | {"fidelity_baselines": ["no_such"]})


def test_a_floor_needs_the_unit_of_its_measure() -> None:
    content = shipped("fidelity")
    content["divergences"][2] = {"criterion": "throughput", "floor": 0.05, "floor_unit": "s"}
    with pytest.raises(ValidationError, match="jobs/h needed"):
        FidelityConfig.model_validate(content)


@pytest.mark.parametrize("name", CONFIG_MODELS)
def test_no_decision_has_a_default_unless_silence_means_unknown(name: str) -> None:
    """A trace without an entry is known only by its file; half-life and guard belong to some policies.

    Everywhere else silence is an error.
    """

    def models(model: type[BaseModel]) -> list[type[BaseModel]]:
        inner = [
            found
            for field in model.model_fields.values()
            for found in (field.annotation, *getattr(field.annotation, "__args__", ()))
            if isinstance(found, type) and issubclass(found, BaseModel)
        ]
        return [model, *(deeper for item in inner for deeper in models(item))]

    for model in models(CONFIG_MODELS[name]):
        optional = {key for key, field in model.model_fields.items() if not field.is_required()}
        allowed = {"half_life_s", "guard_k"} if model.__name__ == "Policy" else set()
        assert model.__name__ in ("TraceEntry", "Select") or optional <= allowed, (
            f"{model.__name__}: {optional}"
        )
        assert model.model_config["extra"] == "forbid"
        assert model.model_config["frozen"] is True


def keys_of(model: type[BaseModel]) -> set[str]:
    return set(model.model_fields)


def test_every_key_is_read_somewhere() -> None:
    """A key that no code mentions beyond its own definition decides nothing."""
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "contracts" / "config.py"
    )
    from hpcopt_assets.contracts import config

    models = [
        item for item in vars(config).values() if isinstance(item, type) and issubclass(item, BaseModel)
    ]
    unread = {
        f"{model.__name__}.{key}"
        for model in models
        for key in keys_of(model)
        if f".{key}" not in source and f'"{key}"' not in source
    }
    # Two are read by the models themselves: a floor's unit is held against the measure's, and a split is
    # turned into entries.
    assert unread - {"Divergence.floor_unit", "Split.by"} == set()


FLURRY = {"user": "21", "since": "2024-01-01T00:00:00Z", "until": "2024-02-01T00:00:00Z"}
WHOLE = {
    **{"url": "http://127.0.0.1/big.log", "sha256": "a" * 64, "format": "pbs", "dialect": "torque"},
    **{"timezone": "Europe/Berlin", "fields": ["jobid"], "max_runtime_s": {"gpu": 5}, "exclude": [FLURRY]},
    **{"licence": "CC0", "is_synthetic": True, "capacity_procs": 99, "unit": "nodes"},
    "capacity_steps": [{"since": "2024-01-01T00:00:00Z", "capacity": 9}],
    "split": {"by": "partition", "capacity": {"gpu": 4, "cpu": 5}},
}


def registry_of(**others: object) -> TracesConfig:
    return TracesConfig.model_validate({"traces": {"big": WHOLE, "half": {"part_of": "big"}} | others})


def test_a_part_is_read_as_the_whole_but_is_no_machine_of_its_size() -> None:
    registry = registry_of()
    whole = registry.entry("big")
    for name, capacity in (("half", None), ("big.gpu", 4)):
        part = registry.entry(name)
        for key in (
            *("sha256", "format", "dialect", "timezone", "fields", "max_runtime_s", "exclude"),
            *("licence", "is_synthetic"),
        ):
            assert getattr(part, key) == getattr(whole, key), key
        assert (part.part_of, part.capacity_procs, part.capacity_steps) == ("big", capacity, ())
        assert (part.url, part.split) == (None, None)
    assert registry.parts_of("big") == ("half", "big.gpu", "big.cpu")


def test_the_entry_of_a_part_beats_the_whole_and_its_split() -> None:
    stated = {
        **{"capacity_procs": 3, "timezone": "UTC", "exclude": [], "note": "lent out"},
        "capacity_steps": [{"since": "2024-02-01T00:00:00Z", "capacity": 2}],
    }
    for more in ({}, {"part_of": "big"}, {"part_of": None, "sha256": None}):
        part = registry_of(**{"big.gpu": stated | more}).entry("big.gpu")
        assert (part.capacity_procs, part.timezone, part.exclude, part.note) == (3, "UTC", (), "lent out")
        assert [step.capacity for step in part.capacity_steps] == [2]
        assert part.select is not None
        assert (part.part_of, part.select.partitions, part.unit) == ("big", ("gpu",), "nodes")
        assert part.sha256 == "a" * 64


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ({"half": {"part_of": "big", "sha256": "b" * 64}}, "half is a part of big: url, sha256 and split"),
        ({"big.gpu": {"url": "http://127.0.0.1/"}}, "big.gpu is a part of big: url, sha256 and split"),
        ({"big.gpu": {"part_of": "other"}}, "the split of big makes it, its entry is a part of other"),
        ({"x": {"part_of": "half"}}, "x: half is itself a part"),
        ({"x": {"part_of": "big.gpu"}}, "x: big.gpu is itself a part"),
        ({"half": {"part_of": "big", "format": "sacct"}}, "half, a part of big: dialect torque"),
        (
            {
                "big": {"split": {"by": "queue", "capacity": {"a.b": 1}}},
                "big.a": {"split": {"by": "queue", "capacity": {"b": 1}}},
            },
            "the splits of two traces make big.a.b",
        ),
    ],
)
def test_an_unsound_part_is_refused(others: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        registry_of(**others)


def test_a_broken_file_is_a_config_error_naming_file_and_key(project: Project) -> None:
    load_configs(project.configs)
    path = project.configs / "objective.yaml"
    text = path.read_text(encoding="utf-8")
    for broken, words in (
        (text.replace("tau_s: 10", "tau_s: 0"), "measures.tau_s"),
        (text.replace("tau_s: 10", "taus: 10"), r"measures\.taus: 10 \(and 1 more\).*did you mean tau_s"),
        (text.replace("baseline: easy_backfill", "baseline: no_such"), "no_such"),
        (text + "measures: {}\n", "more than once"),
        ("[unclosed", "objective.yaml"),
        ("", "objective.yaml"),
    ):
        path.write_text(broken, encoding="utf-8")
        with pytest.raises(ConfigError, match=words):
            load_configs(project.configs)
    path.unlink()
    with pytest.raises(ConfigError, match=r"objective\.yaml"):
        load_config(project.configs, "objective")


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ([], Verdict.NOT_ASSESSED),
        ([Verdict.PASS], Verdict.PASS),
        ([Verdict.PASS, Verdict.NOT_ASSESSED], Verdict.NOT_ASSESSED),
        ([Verdict.NOT_ASSESSED, Verdict.FAIL, Verdict.PASS], Verdict.FAIL),
    ],
)
def test_fail_beats_not_assessed_beats_pass_and_nothing_is_no_pass(
    verdicts: list[Verdict], whole: Verdict
) -> None:
    assert combine(verdicts) is whole


def test_codes_follow_the_definition() -> None:
    assert [order.code for order in Order] == list(range(len(Order)))


def test_yaml_objects_are_not_constructed(tmp_path: Path) -> None:
    (tmp_path / "traces.yaml").write_text("traces: !!python/object/apply:os.getcwd []\n")
    with pytest.raises(ConfigError, match=r"traces\.yaml"):
        load_config(tmp_path, "traces")
