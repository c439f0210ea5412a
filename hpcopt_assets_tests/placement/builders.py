"""Configs for tests: the shipped one, and a small cluster of another shape with the same rules."""

from __future__ import annotations

from typing import Any

import yaml

from hpcopt_assets.contracts.placement_config import PlacementConfig
from hpcopt_assets.orchestration.project import CHECKOUT

SMALL = {
    "cluster": {"sus": 8, "servers_per_su": 16, "rails": 4, "planes": 4},
    "workload": {
        "min_servers": 2,
        "max_servers": 64,
        "gpus": [{"gpus": 1, "share": 0.2}, {"gpus": 2, "share": 0.2}, {"gpus": 4, "share": 0.6}],
    },
    "generator": {"rows": 3000, "demo_rows": 3000},
    "model": {"trees_max": 30, "leaves": 15},
    "score": {"other_rows": 1500, "replicas": 100, "block_rows": 50},
    "study": {"attempts": 300},
}
# 128 servers, 32 leaves, 16 switches.


def shipped() -> dict[str, Any]:
    """configs/placement.yaml as it stands."""
    return yaml.safe_load((CHECKOUT / "configs" / "placement.yaml").read_text(encoding="utf-8"))


def changed(**sections: dict[str, Any]) -> dict[str, Any]:
    """The shipped config as a mapping, some keys of its sections replaced."""
    content = shipped()
    return content | {name: content[name] | changes for name, changes in sections.items()}


def placement(**sections: dict[str, Any]) -> PlacementConfig:
    """The same as a config."""
    return PlacementConfig.model_validate(changed(**sections))


def small(**sections: dict[str, Any]) -> PlacementConfig:
    """The small cluster, some more keys replaced."""
    both = {name: SMALL.get(name, {}) | sections.get(name, {}) for name in {*SMALL, *sections}}
    return placement(**both)
