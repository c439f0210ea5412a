"""What is generated from the contracts: pandera schemas and JSON Schema documents.

In:  tables and config models.   Out: `validate`, `table_json_schema`, `all_json_schemas`.
Not here: the Dagster column schema (orchestration/, the only room that knows Dagster).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from hpcopt_assets.contracts.columns import Column, DType, Table
from hpcopt_assets.contracts.config import CONFIG_MODELS
from hpcopt_assets.contracts.errors import ContractError
from hpcopt_assets.contracts.tables import TABLES

if TYPE_CHECKING:
    import pandera.polars as pa

DRAFT = "https://json-schema.org/draft/2020-12/schema"
FAILURES_SHOWN = 5


def pandera_schema(table: Table) -> pa.DataFrameSchema:
    """The table as a strict pandera schema: columns, types, nulls, domains, key and rules."""
    import pandera.polars as pa

    def checks(column: Column) -> list[pa.Check]:
        found = []
        if column.lo is not None:
            found.append(pa.Check.ge(column.lo))
        if column.hi is not None:
            found.append(pa.Check.le(column.hi))
        if column.words is not None and column.dtype is DType.STRING:
            found.append(pa.Check.isin(column.words))
        return found

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
            column.name: pa.Column(column.dtype.polars, checks(column), nullable=column.nullable)
            for column in table.columns
        },
        checks=[row_check(rule.name, rule.holds()) for rule in table.rules] + word_rules,
        unique=list(table.key),
        strict=True,
        ordered=True,
        name=table.name,
    )


def validate(table: Table, frame: pl.DataFrame) -> None:
    """Raise `ContractError` naming the first failures if a collected frame breaks its contract.

    A LazyFrame is refused by type: on one, pandera judges only the schema and lets bad values pass.
    """
    from pandera.errors import SchemaErrors

    if not isinstance(frame, pl.DataFrame):
        raise TypeError(f"table {table.name}: found {type(frame).__name__}, a collected DataFrame is needed")
    try:
        pandera_schema(table).validate(frame, lazy=True)
    except SchemaErrors as error:
        failures = error.failure_cases
        shown = "; ".join(
            f"{row['column']}: {row['check']} (found {row['failure_case']})"
            for row in failures.head(FAILURES_SHOWN).iter_rows(named=True)
        )
        raise ContractError(
            found=f"{failures.height} failures: {shown}",
            needed="every row within the contract",
            where=f"table {table.name}",
            next_step=f"See schemas/table.{table.name}.json for what each column allows.",
        ) from error


def _column_json(column: Column) -> dict[str, Any]:
    kind = {
        DType.INT64: "integer",
        DType.FLOAT64: "number",
        DType.BOOL: "boolean",
        DType.STRING: "string",
        DType.STRINGS: "array",
    }[column.dtype]
    out: dict[str, Any] = {
        "type": [kind, "null"] if column.nullable else kind,
        "description": column.description,
    }
    if column.unit is not None:
        out["x-unit"] = column.unit
    if column.lo is not None:
        out["minimum"] = column.lo
    if column.hi is not None:
        out["maximum"] = column.hi
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
    """File name (without .json) -> document, for every table and every config file."""
    tables = {f"table.{table.name}": table_json_schema(table) for table in TABLES.values()}
    configs = {
        f"config.{name}": {"$schema": DRAFT, **model.model_json_schema()}
        for name, model in CONFIG_MODELS.items()
    }
    return tables | configs
