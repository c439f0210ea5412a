"""External policies that are installed: packages offer them as entry points of the group hpcopt.policies.

In:  the environment, and configs/policies.yaml, whose ids are taken.   Out: descriptions, and code.
Not here: what a policy may do (contracts/adapter.py, simulate/external.py). None of them becomes an asset.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import cast

from pydantic import ValidationError

from hpcopt_assets.contracts.adapter import GROUP, ExternalPolicy
from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.errors import ConfigError, PolicyError
from hpcopt_assets.contracts.protocols import Decide
from hpcopt_assets.contracts.vocabulary import OBSERVED
from hpcopt_assets.orchestration.configs import Configs

CONFIG_FILE = "configs/policies.yaml"


def external_policies(configs: Configs) -> list[ExternalPolicy]:
    """All that are installed, by id; `PolicyError` where a name is no id or not the only one."""
    return [_described(configs, name) for name in _names()]


def find_policy(configs: Configs, policy_id: str) -> Policy | ExternalPolicy:
    """The policy of that id, ours or external; `ConfigError` lists those there are."""
    if policy_id in _names():
        return _described(configs, policy_id)
    policy = configs.policies.get(policy_id)
    if policy is None:
        raise ConfigError(
            found=f"policy {policy_id!r}",
            needed=f"one of {', '.join(configs.policies.ids)}; or an external one: "
            f"{', '.join(_names()) or 'none is installed'}",
            where=f"{CONFIG_FILE} and the entry points of {GROUP}",
            next_step="Choose one of these (see `hpcopt policies`), add an entry, or install a package.",
        )
    return policy


def load_policy(policy_id: str) -> Decide | type[Decide]:
    """The code of an external policy; `PolicyError` where that cannot be imported or called."""
    entry_point = next(each for each in _offered() if each.name == policy_id)
    where = f"policy {policy_id} ({_offered_by(entry_point)})"
    try:
        code = entry_point.load()
    except (Exception, SystemExit) as error:
        raise PolicyError(
            " ".join(f"{type(error).__name__}: {error}".split()),
            f"code that can be imported from {entry_point.value}",
            where,
            "Correct or reinstall the package; `hpcopt --debug replay ...` shows where it failed.",
        ) from error
    if not callable(code):
        raise PolicyError(
            f"{entry_point.value} is a {type(code).__name__}",
            "a function, or a class whose instances can be called",
            where,
            "Correct the package's entry point.",
        )
    return cast("Decide | type[Decide]", code)


def _offered() -> list[EntryPoint]:
    return list(entry_points(group=GROUP))


def _names() -> list[str]:
    return sorted({each.name for each in _offered()})


def _described(configs: Configs, name: str) -> ExternalPolicy:
    """The one policy of that name, which is an id and nobody else's."""
    first, *others = [each for each in _offered() if each.name == name]
    where = f"entry points of {GROUP}"
    if name in (*configs.policies.ids, OBSERVED) or others:
        owners = [_offered_by(each) for each in (first, *others)]
        if name in configs.policies.ids:
            owners.insert(0, CONFIG_FILE)
        elif name == OBSERVED:
            owners.insert(0, "the recorded schedule")
        raise PolicyError(
            f"policy id {name!r} of {' and of '.join(owners)}",
            f"one policy an id; {CONFIG_FILE} has {', '.join(configs.policies.ids)}",
            where,
            "Rename the policy in its package, or uninstall the package.",
        )
    try:
        return ExternalPolicy(id=name, means=_means(first))
    except ValidationError as error:
        raise PolicyError(
            f"policy id {name!r} of {_offered_by(first)}",
            "lower-case letters, digits and _, a letter first, at most 64",
            where,
            "Rename the policy in its package.",
        ) from error


def _metadata(entry_point: EntryPoint, field: str) -> str:
    """A field of the package's metadata; empty where there is none."""
    package = entry_point.dist
    if package is None or not package.read_text("METADATA") or field not in package.metadata:
        return ""
    return package.metadata[field]


def _offered_by(entry_point: EntryPoint) -> str:
    package = f"{_metadata(entry_point, 'Name')} {_metadata(entry_point, 'Version')}".strip()
    return package or entry_point.value


def _means(entry_point: EntryPoint) -> str:
    """What the package says of itself, and which it is."""
    summary = _metadata(entry_point, "Summary")
    return f"{summary or entry_point.value} ({_offered_by(entry_point)})"
