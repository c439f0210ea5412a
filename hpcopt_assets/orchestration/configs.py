"""Reads configs/*.yaml into their models, once, with errors that name file and key.

In:  the configs folder.   Out: `Configs`.
Not here: what the values mean (contracts/config.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from hpcopt_assets.contracts.config import (
    CONFIG_MODELS,
    FidelityConfig,
    IngestConfig,
    ObjectiveConfig,
    PoliciesConfig,
    Policy,
    ProfileConfig,
)
from hpcopt_assets.contracts.errors import ConfigError
from hpcopt_assets.contracts.forecast_config import ForecastConfig
from hpcopt_assets.contracts.frozen import Frozen
from hpcopt_assets.contracts.placement_config import PlacementConfig
from hpcopt_assets.contracts.robustness_config import RobustnessConfig
from hpcopt_assets.contracts.stress_config import SensitivityConfig, StressConfig
from hpcopt_assets.contracts.synthetic_config import SyntheticConfig
from hpcopt_assets.contracts.traces_config import TracesConfig


@dataclass(frozen=True)
class Configs:
    """Every decision, each from the one file that states it."""

    policies: PoliciesConfig
    objective: ObjectiveConfig
    fidelity: FidelityConfig
    traces: TracesConfig
    ingest: IngestConfig
    profile: ProfileConfig
    synthetic: SyntheticConfig
    placement: PlacementConfig
    forecast: ForecastConfig
    robustness: RobustnessConfig
    stress: StressConfig
    sensitivity: SensitivityConfig

    def policy(self, policy_id: str) -> Policy:
        """The policy of that id; ConfigError lists those there are."""
        policy = self.policies.get(policy_id)
        if policy is None:
            raise ConfigError(
                found=f"policy {policy_id!r}",
                needed=f"one of {', '.join(self.policies.ids)}",
                where="configs/policies.yaml",
                next_step="Choose one of these (see `hpcopt policies`), or add an entry.",
            )
        return policy


class _UniqueKeys(yaml.SafeLoader):
    """Safe YAML in which a key that stands twice is an error, not a silent replacement."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 -- PyYAML's signature
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = sorted({str(key) for key in keys if keys.count(key) > 1})
        if twice:
            raise yaml.constructor.ConstructorError(
                None, None, f"key {', '.join(twice)} stands more than once", node.start_mark
            )
        return super().construct_mapping(node, deep)


def load_config(folder: Path, name: str) -> Frozen:
    """configs/<name>.yaml as its model; ConfigError with file, key, found and needed."""
    path = folder / f"{name}.yaml"
    where = f"configs/{path.name}"
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)  # noqa: S506 -- a SafeLoader
    except OSError as error:
        raise ConfigError(
            found=error.strerror or "unreadable file",
            needed="a readable file",
            where=where,
            next_step=f"Restore {path} from the project's repository.",
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(
            found=" ".join(str(error).split()),
            needed="valid YAML",
            where=where,
            next_step="Correct the line named.",
        ) from error
    try:
        return CONFIG_MODELS[name].model_validate(content)
    except ValidationError as error:
        # A misspelt key is an unknown one and, mostly, a missing one: the unknown one is what to look at.
        found = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
        first, *rest = found
        key = ".".join(str(part) for part in first["loc"]) or "the whole file"
        more = f" (and {len(rest)} more)" if rest else ""
        raise ConfigError(
            found=f"{key}: {_short(first['input'])}{more}",
            needed=_needed(name, str(first["loc"][-1]) if first["loc"] else "", first),
            where=where,
            next_step=f"Allowed keys and values are in schemas/config.{name}.json"
            + ("; a key that looks like a number needs quotes." if "[key]" in key else "."),
        ) from error


def _needed(name: str, key: str, problem: ErrorDetails) -> str:
    if problem["type"] != "extra_forbidden":
        return problem["msg"].removeprefix("Value error, ")
    known = sorted({field for model in _models(CONFIG_MODELS[name]) for field in model.model_fields})
    near = difflib.get_close_matches(key, known, n=1)
    return "a key that is known here" + (f" (did you mean {near[0]}?)" if near else "")


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A config model and those within it."""
    yield model
    for field in model.model_fields.values():
        inner = [field.annotation, *getattr(field.annotation, "__args__", ())]
        for kind in inner:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from _models(kind)


def _short(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def load_configs(folder: Path) -> Configs:
    """All of configs/; a baseline that no policy has is refused here, where both files are known."""
    configs = Configs(**{name: load_config(folder, name) for name in CONFIG_MODELS})  # type: ignore[arg-type]
    baseline = configs.objective.claims.baseline
    real = [policy.id for policy in configs.policies.policies if not policy.is_bound]
    if baseline not in real:
        raise ConfigError(
            found=f"claims.baseline: {baseline!r}",
            needed=f"a policy that is no bound: {', '.join(real)}",
            where="configs/objective.yaml",
            next_step="Name a policy of configs/policies.yaml.",
        )
    return configs
