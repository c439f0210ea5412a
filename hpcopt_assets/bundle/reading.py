"""Reading what is in a bundle: tables, configs, lineage; nothing in it is trusted, and nothing is run.

In:  a bundle whose files are those of its manifest.   Out: frames within their contracts, plain values.
Not here: whether the files are those (integrity.py).

Parquet, JSON and YAML hold values only: there is no pickle, and the models' ONNX is not loaded. Whoever made
the bundle also made its hashes, so sizes are bounded here again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import yaml

from hpcopt_assets.bundle.integrity import parsed, read_bounded
from hpcopt_assets.contracts.bundle import CONFIGS, LINEAGE, BundleTable, Manifest
from hpcopt_assets.contracts.errors import ContractError, InputError
from hpcopt_assets.contracts.lineage import InputVersion, Materialization
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import TABLES

ROWS_MAX = 50_000_000
EXPANDED_BYTES_MAX = 8 * 2**30
TEXT_BYTES_MAX = 64 * 2**20
CONFIG_BYTES_MAX = 2**20
BRACKETS_MAX = 2_000
# Of a config: the time to read YAML grows with the square of how deep brackets stand in one another.
NEXT_STEP = "Ask for the bundle again: its files are as its manifest says, so it was made like this."


def read_table(folder: Path, manifest: Manifest, stated: BundleTable) -> pl.DataFrame:
    """One table, of the bundle's trace and within its contract; InputError where it is not."""
    path, contract = folder / stated.path, TABLES[stated.table]
    _check_size(path, stated)
    try:
        frame = contract.shape(pl.read_parquet(path, hive_partitioning=False, glob=False))
        validate(contract, frame)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        # Damaged pages make polars panic, which is no Exception, and text may be none.
        raise _unusable(stated.path, str(error).splitlines()[0][:200], "a parquet file") from error
    except ContractError as error:
        raise _unusable(stated.path, error.found, f"the table {contract.name}") from error
    foreign = set(frame["trace_id"].unique()) - {manifest.trace_id} if "trace_id" in frame.columns else set()
    if foreign or frame.height != stated.rows_count:
        raise _unusable(
            stated.path,
            f"{frame.height:,} rows, some of trace {min(foreign)}" if foreign else f"{frame.height:,} rows",
            f"{stated.rows_count:,} rows of trace {manifest.trace_id}",
        )
    return frame


def _check_size(path: Path, stated: BundleTable) -> None:
    """What a parquet file would expand to, by its own account."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            facts = file.metadata
            groups = range(facts.num_row_groups)
            expanded = sum(facts.row_group(group).total_byte_size for group in groups)
            rows = facts.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unusable(stated.path, str(error).splitlines()[0][:200], "a parquet file") from error
    if rows > ROWS_MAX or not 0 <= expanded <= EXPANDED_BYTES_MAX:
        raise _unusable(
            stated.path,
            f"{rows:,} rows, {expanded:,} bytes when expanded",
            f"at most {ROWS_MAX:,} and {EXPANDED_BYTES_MAX:,}",
        )


def check_config(folder: Path, name: str) -> Path:
    """The folder of configs, once the file of that name is plain YAML of a bearable size.

    Aliases are refused: a few lines of them expand to more than any machine holds.
    """
    where = f"{CONFIGS}/{name}.yaml"
    path = folder / where
    content = read_bounded(path, CONFIG_BYTES_MAX) if path.is_file() else None
    if content is None:
        raise _unusable(
            where, "no such file, or a large one", f"a file of at most {CONFIG_BYTES_MAX:,} bytes"
        )
    if sum(content.count(bracket) for bracket in (b"[", b"{")) > BRACKETS_MAX:
        raise _unusable(where, "YAML of many brackets", f"at most {BRACKETS_MAX:,}")
    try:
        has_aliases = any(
            isinstance(token, yaml.AliasToken | yaml.AnchorToken) for token in yaml.scan(content)
        )
        yaml.compose(content, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _unusable(where, " ".join(str(error).split())[:200], "YAML") from error
    if has_aliases:
        raise _unusable(where, "YAML with aliases", "YAML without")
    return folder / CONFIGS


def read_lineage(folder: Path) -> tuple[Materialization, ...]:
    """The records of lineage.json, upstream first."""
    content = read_bounded(folder / LINEAGE, TEXT_BYTES_MAX)
    try:
        records: list[dict[str, Any]] = parsed(content or b"")
        return tuple(
            Materialization(**record | {"inputs": tuple(InputVersion(**each) for each in record["inputs"])})
            for record in records
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unusable(LINEAGE, str(error)[:200], "a list of materializations") from error


def _unusable(file: str, found: str, needed: str) -> InputError:
    return InputError(found, needed, file, NEXT_STEP)
