"""Standard Workload Format: a file as header, records of 18 numbers, and an account of every line.

In:  a path.   Out: `SwfLog`.
Not here: what the numbers mean (jobs.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.ingest.parsed import Loss
from hpcopt_assets.ingest.source import RowBudget, blocks
from hpcopt_assets.ingest.swf.header import Header, read_header
from hpcopt_assets.ingest.swf.lines import SCHEMA, read_lines


@dataclass(frozen=True)
class SwfLog:
    """An SWF file as it stands: `fields` (float64, -1 = unknown) by `source_line`, ascending."""

    header: Header
    fields: pl.DataFrame
    lost: list[Loss]
    lines_count: int
    header_lines_count: int
    comment_lines_count: int
    blank_lines_count: int


def read_log(path: Path, limits: IngestConfig, budget: RowBudget) -> SwfLog:
    """Read an SWF file, packed with gzip or not.

    Raises `TraceError` for what `source.blocks` cannot read, and for more job lines than the budget has left.
    """
    frames = [pl.DataFrame(schema=SCHEMA)]
    lost: list[Loss] = []
    comments: list[tuple[int, bytes]] = []
    blank_count = lines_count = 0
    for block in blocks(path, limits):
        lines = read_lines(block, lines_count + 1)
        frames.append(lines.fields.sort("source_line"))
        lost += lines.lost
        comments += lines.comments
        blank_count += lines.blank_count
        budget.spend(path, lines.fields.height)
        lines_count += lines.count
    header, header_lines = read_header(comments)
    return SwfLog(
        header=header,
        fields=pl.concat(frames),
        lost=lost,
        lines_count=lines_count,
        header_lines_count=header_lines,
        comment_lines_count=len(comments) - header_lines,
        blank_lines_count=blank_count,
    )
