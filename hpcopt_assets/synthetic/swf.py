"""Writes the Standard Workload Format, version 2.2 (Feitelson; Parallel Workloads Archive).

In:  header fields and integer columns.   Out: the file's text, equal for equal input.
Not here: reading (ingest/) and what the columns hold (demo.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.swf import SWF_FIELDS
from hpcopt_assets.measures.schedule import IntArray

UNKNOWN = -1


def write_swf(header: Sequence[tuple[str, str]], columns: Mapping[str, IntArray]) -> str:
    """SWF text: one `; Label: value` line a header field, then one line of 18 integers a job.

    `columns` holds arrays of equal length under names of SWF_FIELDS, times in seconds from the header's
    UnixStartTime; a field without a column is unknown, -1. Columns are aligned. Raises `InputError` for a
    foreign field, or a header value with a line break, which would end the comment.
    """
    foreign = sorted(set(columns) - set(SWF_FIELDS))
    broken = [label for label, value in header if len(f"{label}: {value}".splitlines()) > 1]
    if foreign or broken:
        raise InputError(
            found=f"foreign fields {foreign}, header fields of several lines {broken}",
            needed=f"fields among {', '.join(SWF_FIELDS)} and header fields of one line",
            where="SWF text",
            next_step="Name the columns as in SWF_FIELDS; give a long note as several Note fields.",
        )
    known = pl.DataFrame({name: pl.Series(values, dtype=pl.Int64) for name, values in columns.items()})
    text = known.select(
        (pl.col(name) if name in columns else pl.lit(UNKNOWN, dtype=pl.Int64).alias(name)).cast(pl.String)
        for name in SWF_FIELDS
    )
    aligned = (
        pl.col(name).str.pad_start(max(map(len, text[name].unique()), default=1)) for name in SWF_FIELDS
    )
    rows = text.select(pl.concat_str(*aligned, separator=" ")).to_series()
    return "".join(f"; {label}: {value}\n" for label, value in header) + "".join(f"{row}\n" for row in rows)
