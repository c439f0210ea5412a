"""Configs for tests: the shipped one, and small clusters with the same rules."""

from __future__ import annotations

from typing import Any

import yaml

from hpcopt_assets.contracts.placement_config import PlacementConfig
from hpcopt_assets.orchestration.project import CHECKOUT


def shipped() -> dict[str, Any]:
    """configs/placement.yaml as it stands."""
    return yaml.safe_load((CHECKOUT / "configs" / "placement.yaml").read_text(encoding="utf-8"))


def placement(**sections: dict[str, Any]) -> PlacementConfig:
    """The shipped config with some keys of its sections replaced."""
    content = shipped()
    for name, changes in sections.items():
        content[name] |= changes
    return PlacementConfig.model_validate(content)
