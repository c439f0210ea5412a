"""A bundle as it stands in a file, ours or another's, under the keys that we know.

In:  the text of a bundle.json.   Out: `Told`: what the bundle tells, spelled our way.
Not here: whether it fits a model (layout.py). The spellings are in contracts/placement_bundle.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.placement_bundle import ALIASES, FOREIGN, FORMAT, Bundle

SCALARS = "scalars"
# The block of all scalar columns, beside one block a vector.
FAMILY = "hpcopt-placement"
OURS = {"derived_features", "cause_output"}
# Keys that only bundles of ours have.
LENGTH_ENDINGS = ("_length", "_len", "_dim", "_size")
NEXT_STEP = "See docs/placement.md and schemas/placement_bundle.json for the keys and their spellings."


@dataclass(frozen=True)
class Told:
    """What a bundle tells; keys as in FOREIGN. `own`: the bundle, where it is one of ours.

    `unread`: lists of numbers under keys that have no meaning here.
    """

    where: str
    keys: Mapping[str, Any]
    own: Bundle | None
    unread: Mapping[str, list[float]] = field(default_factory=dict)

    def refuse(self, found: str, needed: str) -> InputError:
        """The error that this bundle cannot be used."""
        return InputError(found, needed, self.where, NEXT_STEP)

    def numbers(self, key: str) -> list[float] | None:
        """A list of finite numbers, or None where the bundle has none."""
        values = self.keys.get(key)
        if values is None:
            return None
        if not isinstance(values, list) or not all(is_number(value) for value in values):
            raise self.refuse(f"{key}: {_short(values)}", "a list of finite numbers")
        return [float(value) for value in values]

    def words(self, key: str) -> list[str] | None:
        """A list of names, or None where the bundle has none."""
        values = self.keys.get(key)
        if values is None:
            return None
        values = [values] if isinstance(values, str) else values
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.refuse(f"{key}: {_short(values)}", "a list of names")
        if len(set(values)) < len(values):
            raise self.refuse(f"{key}: a name twice in {_short(values)}", "each once")
        return list(values)

    def names(self, key: str) -> list[str] | None:
        """The same of names that may be numbers or truth values, as words."""
        values = self.keys.get(key)
        if not isinstance(values, list):
            return self.words(key)
        if not all(isinstance(value, str | int) for value in values):
            raise self.refuse(f"{key}: {_short(values)}", "a list of names")
        if len(set(map(str, values))) < len(values):
            raise self.refuse(f"{key}: a name twice in {_short(values)}", "each once")
        return [str(value) for value in values]


def read_bundle(text: str, where: str) -> Told:
    """Raises InputError where it is no JSON object, or says that it is ours and is not."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise InputError(f"no JSON ({error})", "a bundle.json", where, NEXT_STEP) from error
    if not isinstance(content, dict):
        raise InputError(f"a {type(content).__name__}", "a JSON object", where, NEXT_STEP)
    named = content.get("format")
    if named == FORMAT:
        try:
            own = Bundle.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"])) or "the whole bundle"
            raise InputError(
                f"{key}: {_short(first['input'])}",
                first["msg"].removeprefix("Value error, "),
                where,
                NEXT_STEP,
            ) from error
        return Told(where, json.loads(own.model_dump_json()), own)
    if str(named).startswith(FAMILY) or (named is None and OURS & set(content)):
        raise InputError(
            "no key format" if named is None else f"format: {named!r}",
            f"{FORMAT}, as a bundle of ours has it",
            where,
            "Train the model again, or take the bundle as it was written.",
        )
    keys = {key: value for key in FOREIGN for value in _found(content, key, where)}
    if isinstance(keys.get("vectors"), list):
        keys["vectors"] = [_with_length(content, vector) for vector in keys["vectors"]]
    return Told(where, keys, None, _unread(content))


def _unread(content: Mapping[str, Any]) -> dict[str, list[float]]:
    """Lists of numbers, of the bundle or of an object in it, under no spelling of any key."""
    flat = dict(content)
    for key, value in content.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": item for inner, item in value.items()}
    known = {*FOREIGN, *(spelling for some in ALIASES.values() for spelling in some)}
    return {
        key: value
        for key, value in flat.items()
        if key not in known and isinstance(value, list) and value and all(map(is_number, value))
    }


def _with_length(content: Mapping[str, Any], vector: Any) -> Any:
    """A vector that has only a name, with the length that another key of the bundle tells."""
    lengths = [content[f"{vector}{end}"] for end in LENGTH_ENDINGS if f"{vector}{end}" in content]
    return {"name": vector, "length": lengths[0]} if isinstance(vector, str) and lengths else vector


def _found(content: Mapping[str, Any], key: str, where: str) -> list[Any]:
    """The value of a key under any of its spellings, none or one; two that differ are refused."""
    values = {}
    for spelling in (key, *ALIASES.get(key, ())):
        node: Any = content
        for part in spelling.split("."):
            node = node.get(part) if isinstance(node, dict) else None
        if node is not None and not (key == "scalar_columns" and not isinstance(node, list)):
            values[spelling] = node
    if len({json.dumps(value, sort_keys=True) for value in values.values()}) > 1:
        raise InputError(
            f"{' and '.join(values)} that differ", f"one of them, for {key}", where, "Remove all but one."
        )
    return list(values.values())[:1]


def is_number(value: object) -> bool:
    """Whether it is a finite number of a JSON file."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _short(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}..."
