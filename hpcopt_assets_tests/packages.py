"""Packages of external policies, installed into a folder without a network: what pip would leave there.

In:  a project's folder, or entry points and source.   Out: a folder for sys.path.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent / "external_policy"


def install(site: Path, name: str, policies: Mapping[str, str], summary: str = "", **modules: str) -> None:
    """Lay out a package: modules by name, and the entry points (policy -> module:attribute)."""
    about = site / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir(parents=True)
    described = f"Summary: {summary}\n" if summary else ""
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{described}")
    lines = ["[hpcopt.policies]", *(f"{policy} = {target}" for policy, target in policies.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source)


def install_project(site: Path, folder: Path) -> None:
    """Lay out the package of a project, by its pyproject.toml."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    modules = {path.stem: path.read_text() for path in folder.glob("*.py")}
    policies = project["entry-points"]["hpcopt.policies"]
    install(site, project["name"], policies, project["description"], **modules)


@contextmanager
def on_path(site: Path) -> Iterator[None]:
    """The folder's packages can be imported, and are forgotten afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        yield
    for name in [name for name, module in sys.modules.items() if _is_from(module, site)]:
        del sys.modules[name]


def _is_from(module: object, site: Path) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(file).parent == site
