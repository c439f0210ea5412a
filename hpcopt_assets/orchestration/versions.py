"""Versions of what computes: this program's source, room by room, and the packages it stands on.

In:  source files, the environment.   Out: hashes, version numbers.
Not here: what made a stored table (provenance.py).
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
RECORDED_PACKAGES = (
    "dagster",
    "duckdb",
    "lightgbm",
    "matplotlib",
    "numba",
    "numpy",
    "onnxruntime",
    "polars",
    "pyarrow",
)


@cache
def source_hash(folder: str) -> str:
    """SHA-256 over the names and bytes of the Python files of one room or floor."""
    digest = hashlib.sha256()
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def environment() -> dict[str, str]:
    """Versions of what computes the numbers."""
    import platform

    versions = {"python": platform.python_version(), "machine": platform.machine()}
    return versions | {name: metadata.version(name) for name in ("hpcopt-assets", *RECORDED_PACKAGES)}
