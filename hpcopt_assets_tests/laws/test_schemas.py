"""schemas/ is what the contracts say, and no schema lets unknown keys pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from hpcopt_assets.contracts.config import CONFIG_MODELS
from hpcopt_assets.contracts.schemas import all_json_schemas

TOP = Path(__file__).parents[2]
SCHEMAS = all_json_schemas()


def test_the_folder_holds_exactly_these_schemas() -> None:
    assert {path.stem for path in (TOP / "schemas").glob("*.json")} == set(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_file_is_what_the_contract_says(name: str) -> None:
    stored = json.loads((TOP / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(SCHEMAS[name])), "run `make schemas`"


def objects(node: Any) -> list[dict[str, Any]]:
    """Every subschema that describes an object with named properties."""
    if isinstance(node, list):
        return [found for item in node for found in objects(item)]
    if not isinstance(node, dict):
        return []
    here = [node] if node.get("type") == "object" and "properties" in node else []
    return here + [found for item in node.values() for found in objects(item)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_object_allows_additional_properties(name: str) -> None:
    found = objects(SCHEMAS[name])
    assert found
    assert all(item.get("additionalProperties") is False for item in found)


@pytest.mark.parametrize("name", SCHEMAS)
def test_it_is_a_valid_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", CONFIG_MODELS)
def test_the_shipped_config_fits_its_schema_and_a_foreign_key_does_not(name: str) -> None:
    content = yaml.safe_load((TOP / "configs" / f"{name}.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(content, SCHEMAS[f"config.{name}"])
    with pytest.raises(jsonschema.ValidationError, match="Additional properties"):
        jsonschema.validate(content | {"foreign": 1}, SCHEMAS[f"config.{name}"])
