"""Properties are drawn as what they are about: a seed alone shrinks to nothing that a reader could follow."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcopt_assets.orchestration.project import CHECKOUT

TESTS = CHECKOUT / "hpcopt_assets_tests"


def seeds_alone(source: str) -> Iterator[str]:
    """Names of property tests that draw nothing but seeds."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef) or not any(_is_given(each) for each in node.decorator_list):
            continue
        drawn = [
            argument.arg for argument in (*node.args.args, *node.args.kwonlyargs) if argument.arg != "self"
        ]
        if drawn and all("seed" in name for name in drawn):
            yield node.name


def _is_given(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)) == "given"


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: str(path.relative_to(TESTS))
)
def test_no_property_draws_a_seed_alone(path: Path):
    assert list(seeds_alone(path.read_text(encoding="utf-8"))) == []


def test_the_law_knows_what_it_forbids():
    bad = "@given(st.integers())\ndef test_all(seed):\n    pass\n"
    good = "@given(jobs(), st.integers())\ndef test_all(frame, seed):\n    pass\n"
    assert list(seeds_alone(bad)) == ["test_all"]
    assert list(seeds_alone(good)) == []
    assert list(seeds_alone("@hypothesis.given(st.integers())\ndef test_x(some_seed):\n    pass\n")) == [
        "test_x"
    ]
