"""The architecture, read from the imports: a room imports the floors and never another room."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hpcopt_assets

PACKAGE = Path(hpcopt_assets.__file__).parent
FLOORS = {"contracts", "measures", "plots"}
JOINTS = {"assets", "cli", "definitions"}
# The only places that may know two rooms.
KERNELS = {("simulate", "kernel"), ("placement", "kernel")}
# A replay is millions of events, a cluster's attempts are millions of exact searches: both take minutes in
# plain Python, and each is compiled in one folder of arrays and codes.
DAGSTER_ALLOWED = {"assets", "orchestration", "definitions"}
ROOMS = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()} - FLOORS - JOINTS
SOURCES = sorted(PACKAGE.rglob("*.py"))


def place(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Every module a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def own_places(path: Path) -> set[str]:
    """Rooms, floors and joints of the project that a file imports."""
    return {name.split(".")[1] for name in imported(path) if name.startswith("hpcopt_assets.")}


def forbidden(path: Path) -> set[str]:
    """What a file imports although it may not."""
    here, seen = place(path), own_places(path)
    if here in JOINTS:
        return set()
    if here == "contracts":
        return seen - {"contracts"}
    if here in FLOORS:
        return seen - {"contracts", here}
    return seen - FLOORS - {here}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_room_imports_only_the_floors(path: Path) -> None:
    assert forbidden(path) == set()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_dagster_and_numba_stay_in_their_rooms(path: Path) -> None:
    packages = {name.split(".")[0] for name in imported(path)}
    if place(path) not in DAGSTER_ALLOWED:
        assert not {name for name in packages if name.startswith("dagster")}
    if path.relative_to(PACKAGE).parts[:2] not in KERNELS:
        assert "numba" not in packages


def test_the_law_can_fail(tmp_path: Path) -> None:
    trespasser = tmp_path / "judge.py"
    trespasser.write_text("def f():\n    from hpcopt_assets.simulate.engine import replay\n")
    assert own_places(trespasser) == {"simulate"}


@pytest.mark.parametrize("room", sorted(ROOMS | FLOORS | {"assets"}))
def test_every_room_hangs_a_sign(room: str) -> None:
    sign = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8")))
    assert sign is not None
    assert "\nIn:" in sign
    assert "Out:" in sign
    assert "\nNot here:" in sign


def test_tests_mirror_the_rooms() -> None:
    tests = Path(__file__).parents[1]
    assert {room for room in ROOMS if not list((tests / room).glob("test_*.py"))} == set()
