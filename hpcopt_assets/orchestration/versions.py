"""Versions of what computes: this program's source, room by room, and the packages it stands on.

In:  source files, the environment.   Out: hashes, version numbers.
Not here: what made a stored table (provenance.py).
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
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


ROOMS = (
    *("contracts", "measures", "plots", "ingest", "profile", "features", "forecast"),
    *("simulate", "fidelity", "claims", "stress", "dossier"),
)
# What computes the results of a trace.


@cache
def source_hash(folder: str) -> str:
    """SHA-256 over the names and bytes of the Python files of one room or floor."""
    digest = hashlib.sha256()
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def source_hashes() -> dict[str, str]:
    """Room or floor -> hash of its source."""
    return {room: source_hash(room) for room in ROOMS}


def environment() -> dict[str, str]:
    """Versions of what computes the numbers; a package that is not installed is not among them."""
    import platform

    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("hpcopt-assets", *RECORDED_PACKAGES):
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions
