"""What is generated from the contracts: pandera schemas and JSON Schema documents.

In:  tables, config models and the adapter's messages.
Out: `validate`, `validate_file`, `table_json_schema`, `all_json_schemas`.
Not here: the Dagster column schema (orchestration/, the only room that knows Dagster).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from hpcopt_assets.contracts.adapter import AdapterDecision, AdapterSnapshot
from hpcopt_assets.contracts.bundle import manifest_json_schema
from hpcopt_assets.contracts.columns import Column, DType, Table
from hpcopt_assets.contracts.config import CONFIG_MODELS
from hpcopt_assets.contracts.dossier_file import DossierFile
from hpcopt_assets.contracts.errors import ContractError
from hpcopt_assets.contracts.placement_bundle import bundle_json_schema
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.contracts.unique import Hashes, Tally, hashes_of, is_among

if TYPE_CHECKING:
    import pandera.polars as pa
    from pyarrow.parquet import ParquetFile

DRAFT = "https://json-schema.org/draft/2020-12/schema"
FAILURES_SHOWN = 5
FAILURE_LETTERS = 120
# An array may have a thousand items.
CHUNK_ROWS = 100_000
# Of a file that is judged in parts: some hundred MB of the widest table, checks included.


def pandera_schema(
    table: Table, *, judges_key: bool = True, found: pl.Schema | None = None
) -> pa.DataFrameSchema:
    """The table as a strict pandera schema: columns, types, nulls, domains, rules and, if asked, the key.

    Arrays may be of any length, one for all rows: that of `found`.
    """
    import pandera.polars as pa

    def checks(column: Column) -> list[pa.Check]:
        if column.dtype.is_array:
            return [pa.Check(lambda data: data.lazyframe.select(_items_within(column)), name="items_within")]
        kept = []
        if column.lo is not None:
            kept.append(pa.Check.ge(column.lo))
        if column.hi is not None:
            kept.append(pa.Check.le(column.hi))
        if column.words is not None and column.dtype is DType.STRING:
            kept.append(pa.Check.isin(column.words))
        return kept

    def row_check(name: str, expression: pl.Expr) -> pa.Check:
        return pa.Check(lambda data: data.lazyframe.select(expression.fill_null(True)), name=name)

    word_rules = [
        row_check(
            f"{column.name}_in_vocabulary",
            pl.col(column.name).list.eval(pl.element().is_in(list(column.words))).list.all(),
        )
        for column in table.columns
        if column.words is not None and column.dtype is DType.STRINGS
    ]
    return pa.DataFrameSchema(
        {
            column.name: pa.Column(
                column.dtype.like(found.get(column.name) if found else None),
                checks(column),
                nullable=column.nullable,
            )
            for column in table.columns
        },
        checks=[row_check(rule.name, rule.holds()) for rule in table.rules] + word_rules,
        unique=list(table.key) if judges_key else None,
        strict=True,
        ordered=True,
        name=table.name,
    )


def validate(table: Table, frame: pl.DataFrame) -> None:
    """Raise `ContractError` naming the first failures if a collected frame breaks its contract.

    A LazyFrame is refused by type: on one, pandera judges only the schema and lets bad values pass.
    """
    if not isinstance(frame, pl.DataFrame):
        raise TypeError(f"table {table.name}: found {type(frame).__name__}, a collected DataFrame is needed")
    failures = _failures(pandera_schema(table, found=frame.schema), frame)
    if failures.count:
        raise _broken(table, failures)


def validate_file(table: Table, path: Path) -> None:
    """`validate` for a parquet file that need not fit into memory: some row groups at a time.

    Of the whole file only a hash of each key is held, 8 bytes a row.
    """
    import pyarrow.parquet as pq

    failures = _Failures()
    with pq.ParquetFile(path) as file:
        has_key = set(table.key) <= set(file.schema_arrow.names)
        tally = Tally(file.metadata.num_rows)
        for chunk in _chunks(file):
            failures += _failures(pandera_schema(table, judges_key=False, found=chunk.schema), chunk)
            if has_key:
                tally.add(chunk.select(table.key))
        repeated = tally.repeated()
        if repeated.size:
            failures += _repeated_keys(table, file, repeated)
    if failures.count:
        raise _broken(table, failures)


def _items_within(column: Column) -> pl.Expr:
    """Whether no item of an array is null, NaN or out of its domain."""
    items = pl.col(column.name).arr
    holds = ~items.eval(pl.element().is_null()).arr.any()
    if column.dtype is DType.FLOAT32_ARRAY:
        holds &= items.sum().is_not_nan()
    if column.lo is not None:
        holds &= items.min() >= column.lo
    if column.hi is not None:
        holds &= items.max() <= column.hi
    return holds


@dataclass(frozen=True)
class _Failures:
    """How many there are, and sentences for the first of them."""

    count: int = 0
    shown: tuple[str, ...] = ()

    def __add__(self, more: _Failures) -> _Failures:
        return _Failures(self.count + more.count, (self.shown + more.shown)[:FAILURES_SHOWN])


def _chunks(file: ParquetFile, columns: tuple[str, ...] | None = None) -> Iterator[pl.DataFrame]:
    """Some row groups at a time, of about `CHUNK_ROWS` rows; one empty frame where there are no rows."""
    waiting: list[int] = []
    rows = 0
    for group in range(file.num_row_groups):
        waiting.append(group)
        rows += file.metadata.row_group(group).num_rows
        if rows >= CHUNK_ROWS:
            yield pl.DataFrame(file.read_row_groups(waiting, columns=columns))
            waiting, rows = [], 0
    if waiting or file.num_row_groups == 0:
        yield pl.DataFrame(file.read_row_groups(waiting, columns=columns))


def _repeated_keys(table: Table, file: ParquetFile, hashes: Hashes) -> _Failures:
    """Keys that stand more than once, among those with these hashes."""
    candidates = pl.concat(
        keys.filter(is_among(hashes_of(keys), hashes)) for keys in _chunks(file, table.key)
    )
    repeated = candidates.group_by(table.key, maintain_order=True).len().filter(pl.col("len") > 1)
    shown = (
        f"{', '.join(table.key)}: uniqueness (found {', '.join(map(str, row[:-1]))} {row[-1]} times)"
        for row in repeated.head(FAILURES_SHOWN).iter_rows()
    )
    return _Failures(repeated.height, tuple(shown))


def _failures(schema: pa.DataFrameSchema, frame: pl.DataFrame) -> _Failures:
    """What in a frame breaks its schema."""
    from pandera.errors import SchemaErrors

    try:
        schema.validate(frame, lazy=True)
    except SchemaErrors as error:
        cases = error.failure_cases
        shown = (
            f"{row['column']}: {row['check']} (found {_cut(row['failure_case'])})"
            for row in cases.head(FAILURES_SHOWN).iter_rows(named=True)
        )
        return _Failures(cases.height, tuple(shown))
    return _Failures()


def _cut(value: object) -> str:
    text = str(value)
    return text if len(text) <= FAILURE_LETTERS else f"{text[:FAILURE_LETTERS]}..."


def _broken(table: Table, failures: _Failures) -> ContractError:
    return ContractError(
        found=f"{failures.count} failures: {'; '.join(failures.shown)}",
        needed="every row within the contract",
        where=f"table {table.name}",
        next_step=f"See schemas/table.{table.name}.json for what each column allows.",
    )


def _column_json(column: Column) -> dict[str, Any]:
    kind = {
        DType.INT64: "integer",
        DType.FLOAT64: "number",
        DType.BOOL: "boolean",
        DType.STRING: "string",
        DType.STRINGS: "array",
        DType.INT64S: "array",
        DType.UINT8_ARRAY: "array",
        DType.FLOAT32_ARRAY: "array",
        DType.BINARY: "string",
    }[column.dtype]
    out: dict[str, Any] = {
        "type": [kind, "null"] if column.nullable else kind,
        "description": column.description,
    }
    if column.unit is not None:
        out["x-unit"] = column.unit
    bounds = {
        name: bound for name, bound in (("minimum", column.lo), ("maximum", column.hi)) if bound is not None
    }
    if column.dtype.is_array:
        item = "number" if column.dtype is DType.FLOAT32_ARRAY else "integer"
        return out | {"items": {"type": item, **bounds}, "x-same-length-in-all-rows": True}
    out |= bounds
    if column.dtype is DType.BINARY:
        out["contentEncoding"] = "base64"
    if column.dtype is DType.STRINGS:
        out["items"] = {"type": "string"} | ({"enum": list(column.words)} if column.words else {})
    elif column.words is not None:
        out["enum"] = [*column.words, None] if column.nullable else list(column.words)
    return out


def table_json_schema(table: Table) -> dict[str, Any]:
    """JSON Schema of one row of a table."""
    return {
        "$schema": DRAFT,
        "title": table.name,
        "description": table.means,
        "type": "object",
        "properties": {column.name: _column_json(column) for column in table.columns},
        "required": list(table.names),
        "additionalProperties": False,
        "x-key": list(table.key),
        "x-rules": {rule.name: rule.means for rule in table.rules},
    }


def all_json_schemas() -> dict[str, dict[str, Any]]:
    """File name (without .json) -> document: tables, configs, the adapter's messages, bundles, dossiers."""
    tables = {f"table.{table.name}": table_json_schema(table) for table in TABLES.values()}
    configs = {
        f"config.{name}": {"$schema": DRAFT, **model.model_json_schema()}
        for name, model in CONFIG_MODELS.items()
    }
    adapter = {
        "adapter_snapshot": AdapterSnapshot.model_json_schema(mode="serialization"),
        "adapter_decision": AdapterDecision.model_json_schema(),
    }
    single = adapter | {
        "placement_bundle": bundle_json_schema(),
        "bundle_manifest": manifest_json_schema(),
        "dossier": DossierFile.model_json_schema(mode="serialization"),
    }
    return tables | configs | {name: {"$schema": DRAFT, **schema} for name, schema in single.items()}
