"""A bundle's manifest.json: what stands in the bundle, byte for byte, and what it was made from.

In:  nothing.   Out: `Manifest`, its JSON Schema, and the names of the files that every bundle has.
Not here: writing and checking bundles (bundle/).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, NonNegativeInt, model_validator

from hpcopt_assets.contracts.columns import BYTES_MAX, COUNT_MAX
from hpcopt_assets.contracts.config import CONFIG_MODELS
from hpcopt_assets.contracts.frozen import Frozen, PolicyId, Words
from hpcopt_assets.contracts.traces_config import Sha256, TraceId

FORMAT = "hpcopt-bundle-1"
MANIFEST, SUMS, LINEAGE = "manifest.json", "SHA256SUMS", "lineage.json"
TABLES, CONFIGS, DOSSIER, README = "tables", "configs", "dossier", "README.md"
REPLAY = "replay"
# Asset replay/<policy> makes a table replay_schedule.
CONFIGS_OF_A_TRACE = tuple(name for name in CONFIG_MODELS if name != "placement")
# That one no table of a trace rests on; it may name paths.
UNHASHED = "0" * 64
# Stands in the manifest's own hash while that is taken.
FILES_MAX = 10_000

_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}"
BundlePath = Annotated[str, Field(pattern=rf"^{_PART}(/{_PART}){{0,5}}$")]
# Relative, below the bundle's folder: no part is empty, `.` or `..`, or begins with a dot.
Size = Annotated[int, Field(ge=0, le=BYTES_MAX)]


class BundleFile(Frozen):
    """One file of the bundle."""

    path: BundlePath
    sha256: Sha256
    size_bytes: Size


class BundleTable(Frozen):
    """One table: which asset made it, and where it stands."""

    asset: Words
    table: Words
    # The contract of that name; for an asset replay/<policy> it is replay_schedule.
    path: BundlePath
    rows_count: Annotated[int, Field(ge=0, le=COUNT_MAX)]
    data_version: Sha256
    # SHA-256 of the table as the store has it and lineage.json records it; keyed where the file is another.
    is_as_stored: bool
    # Whether the bundle's file is that very one. It is not where names were replaced or text left out.


class SourceHash(Frozen):
    """A file of the raw trace, which is not in the bundle."""

    sha256: Sha256
    size_bytes: Size


class Manifest(Frozen):
    """Everything in a bundle but SHA256SUMS and this file, and what is needed to read it."""

    format: Literal["hpcopt-bundle-1"]
    self_sha256: Sha256
    # Of this file's bytes with 64 zeros in this place.
    trace_id: TraceId
    source_sha256: Sha256
    # Of the raw trace; of several files, of their names and hashes.
    source_files: tuple[SourceHash, ...]
    names: Literal["pseudonyms", "kept"]
    key_id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] | None
    # The same in all bundles whose pseudonyms were made with one key; tells nothing of the key.
    left_out: tuple[Words, ...]
    # Text that was left out or replaced in sentences, by table and column or by config key.
    policies: tuple[PolicyId, ...]
    seeds: dict[str, NonNegativeInt]
    # Key of a config -> the seed that was in force.
    environment: dict[str, str]
    # Versions of what computes the numbers, where the bundle was made.
    source_hashes: dict[Annotated[str, Field(pattern=r"^[a-z_]{1,64}$")], Sha256]
    # Room or floor of this program -> hash of its source.
    tables: tuple[BundleTable, ...]
    files: Annotated[tuple[BundleFile, ...], Field(max_length=FILES_MAX)]

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        paths = [file.path for file in self.files]
        twice = (
            sorted({path for path in paths if paths.count(path) > 1}) if len(set(paths)) < len(paths) else []
        )
        if twice:
            raise ValueError(f"{', '.join(twice)} stands more than once")
        own = sorted({MANIFEST, SUMS} & set(paths))
        if own:
            raise ValueError(f"{', '.join(own)} cannot hold its own hash")
        hashes = {file.path: file.sha256 for file in self.files}
        for name in ("path", "asset"):
            values = [getattr(table, name) for table in self.tables]
            if len(set(values)) < len(values):
                raise ValueError(f"two tables have the same {name}")
        for table in self.tables:
            if table.path not in hashes:
                raise ValueError(f"{table.path}, the table of {table.asset}, is not among the files")
            if table.is_as_stored != (hashes[table.path] == table.data_version):
                raise ValueError(
                    f"{table.path}: is_as_stored is {table.is_as_stored}, the hashes say otherwise"
                )
        return self

    def table_of(self, asset: str) -> BundleTable | None:
        """The table that an asset made, or None."""
        return next((table for table in self.tables if table.asset == asset), None)


def seeds_of(configs: Mapping[str, BaseModel]) -> dict[str, int]:
    """Every seed that a config states, by its key, such as `robustness.shaking.seed`; configs by name."""

    def within(content: Mapping[str, Any], path: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for key, value in content.items():
            if isinstance(value, Mapping):
                found |= within(value, f"{path}.{key}")
            elif key == "seed" or key.endswith("_seed"):
                found[f"{path}.{key}"] = value
        return found

    return {
        key: seed for name, model in configs.items() for key, seed in within(model.model_dump(), name).items()
    }


def manifest_json_schema() -> dict[str, Any]:
    """JSON Schema of a bundle's manifest.json."""
    return Manifest.model_json_schema()
