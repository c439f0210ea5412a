"""An answer of the catalog as text or bytes.

In:  an Arrow table whose column names differ.   Out: CSV, JSON, parquet, and values as a terminal shows them.
Not here: asking (query.py).
"""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa

from hpcopt_assets.warehouse.forms import Form

NANOSECONDS = 10**9
BRIEF_CHARACTERS = 300


def encoded(table: pa.Table, form: Form) -> bytes:
    """The answer as a file's content; a table is for the terminal and has none."""
    return {Form.CSV: to_csv, Form.JSON: to_json, Form.PARQUET: to_parquet}[form](table)


def to_json(table: pa.Table) -> bytes:
    """One JSON array of objects; what JSON has no number for (NaN, infinity) is null."""
    rows = [{key: plain(value) for key, value in row.items()} for row in table.to_pylist()]
    return (json.dumps(rows, indent=2, allow_nan=False) + "\n").encode()


def to_csv(table: pa.Table) -> bytes:
    """One line a row; the items of a list are joined by `;`, other nested values are JSON."""
    import polars as pl

    frame = pl.from_arrow(_with_text(table, lambda kind: _is_nested(kind) or pa.types.is_binary(kind)))
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 -- an Arrow table becomes a frame; for the type checker
    buffer = io.BytesIO()
    frame.write_csv(buffer)
    return buffer.getvalue()


def to_parquet(table: pa.Table) -> bytes:
    """Parquet with the types of the answer; intervals, which it does not know, are text."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(_with_text(table, _has_interval), buffer, compression="zstd")
    return buffer.getvalue()


def plain(value: object) -> object:
    """A value in the types of JSON."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    if isinstance(value, pa.MonthDayNano):
        return _duration(*value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def brief(value: object) -> object:
    """A value as a terminal has room for it: bytes by their number, long text by its beginning."""
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    flattened = flat(value)
    is_long = isinstance(flattened, str) and len(flattened) > BRIEF_CHARACTERS
    return f"{str(flattened)[:BRIEF_CHARACTERS]}..." if is_long else flattened


def flat(value: object) -> object:
    """A value without inner structure: lists joined by `;`, structs and maps as JSON, the rest as it is."""
    if isinstance(value, list) and not any(isinstance(item, list | tuple | dict) for item in value):
        return ";".join("" if item is None else str(flat(item)) for item in value)
    return value if isinstance(value, float) else _scalar(plain(value))


def _scalar(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict) else value


def _duration(months: int, days: int, nanoseconds: int) -> str:
    """An interval by ISO 8601: `P1M2DT3.5S`."""
    seconds = format(Decimal(nanoseconds) / NANOSECONDS, "f")
    parts = (f"{months}M" if months else "", f"{days}D" if days else "")
    time = f"T{seconds}S" if nanoseconds or not any(parts) else ""
    return f"P{''.join(parts)}{time}"


def _with_text(table: pa.Table, is_text: Callable[[pa.DataType], bool]) -> pa.Table:
    """The table with the columns of some types as text."""
    for index, field in enumerate(table.schema):
        if is_text(field.type):
            values = [flat(value) for value in table.column(index).to_pylist()]
            text = pa.array([None if value is None else str(value) for value in values], pa.string())
            table = table.set_column(index, field.name, text)
    return table


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_interval(kind))


def _has_interval(kind: pa.DataType) -> bool:
    inner = (kind.field(index).type for index in range(kind.num_fields))
    return bool(pa.types.is_interval(kind)) or any(map(_has_interval, inner))
