"""Standard Workload Format: a file as header, records of 18 numbers, and an account of every line.

In:  a path.   Out: `SwfLog`.
Not here: what the numbers mean (swf_jobs.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.ingest.source import blocks, over_limit
from hpcopt_assets.ingest.swf_header import Header, read_header
from hpcopt_assets.ingest.swf_lines import SCHEMA, Refused, read_lines


@dataclass(frozen=True)
class SwfLog:
    """An SWF file as it stands: `fields` (float64, -1 = unknown) by `source_line`, ascending."""

    header: Header
    fields: pl.DataFrame
    refused: list[Refused]
    lines_count: int
    header_lines_count: int
    comment_lines_count: int
    blank_lines_count: int


def read_log(path: Path, limits: IngestConfig) -> SwfLog:
    """Read an SWF file, packed with gzip or not.

    Raises `TraceError` for what `source.blocks` cannot read, and for more job lines than `max_rows`.
    """
    frames = [pl.DataFrame(schema=SCHEMA)]
    refused: list[Refused] = []
    comments: list[tuple[int, bytes]] = []
    blank_count = lines_count = rows_count = 0
    for block in blocks(path, limits):
        lines = read_lines(block, lines_count + 1)
        frames.append(lines.fields)
        refused += lines.refused
        comments += lines.comments
        blank_count += lines.blank_count
        rows_count += lines.fields.height
        if rows_count > limits.max_rows:
            raise over_limit(path, "the number of its job lines", rows_count, limits.max_rows, "max_rows")
        lines_count += lines.count
    header, header_lines = read_header(comments)
    return SwfLog(
        header=header,
        fields=pl.concat(frames).sort("source_line"),
        refused=refused,
        lines_count=lines_count,
        header_lines_count=header_lines,
        comment_lines_count=len(comments) - header_lines,
        blank_lines_count=blank_count,
    )
