"""The last step of ingest: jobs in any order become one parquet file in the table's row order.

In:  `trace_jobs` rows, lazily.   Out: a file whose bytes depend on the rows alone, not on their order.
Not here: what the rows mean; where the file is kept (the io manager, the command line).

Rows that fit into a share of the memory are sorted there. More become sorted runs, in files beside the
target, which are merged range by range: a range reads those blocks of each run that reach into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from hpcopt_assets.contracts.columns import DType
from hpcopt_assets.contracts.order import ROW_ORDER, job_order
from hpcopt_assets.contracts.tables import TRACE_JOBS

GROUP_ROWS = 100_000
# Rows of a row group, always: whoever reads one needs some 30 MB.
BATCH_ROWS = 50_000
BLOCK_ROWS = 4096
# Runs are read in blocks; ranges end where some block begins.
HELD_SHARE = 8
# Rows may fill a quarter of the memory before they are sorted: sorting takes as much again, and the rest is
# for Arrow's copies, the blocks of all runs at the end of a range, and what allocators keep.

ARROW_TYPES = {
    DType.INT64: pa.int64(),
    DType.FLOAT64: pa.float64(),
    DType.BOOL: pa.bool_(),
    DType.STRING: pa.string(),
    DType.STRINGS: pa.list_(pa.field("element", pa.string())),
    DType.INT64S: pa.list_(pa.field("element", pa.int64())),
    DType.BINARY: pa.binary(),
}
SCHEMA = pa.schema([(column.name, ARROW_TYPES[column.dtype]) for column in TRACE_JOBS.columns])
RUN_SCHEMA = SCHEMA.append(pa.field("job_order", pa.string()))
DICTIONARY = [
    f"{column.name}.list.element" if column.dtype is DType.STRINGS else column.name
    for column in TRACE_JOBS.columns
    if column.dtype in (DType.STRING, DType.STRINGS) and column.name != "job_id"
]
# Words that repeat; ids do not.

BOUND = ROW_ORDER[:3]
# Enough to part rows: ids hardly ever have the same order.
Bound = tuple[int, int, str]


def write_sorted(jobs: pl.LazyFrame, target: Path, *, memory_bytes: int) -> int:
    """Write `trace_jobs` rows to `target` in the table's row order, and return their number.

    Equal rows give equal bytes whatever order they come in. About `memory_bytes` are held at a time; larger
    tables take room beside the target. The target appears when it is complete.
    """
    batches = jobs.collect_batches(chunk_size=BATCH_ROWS, maintain_order=False, lazy=True, engine="streaming")
    allowed = memory_bytes // HELD_SHARE
    held, is_all = _hold(batches, allowed)
    with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        made = Path(folder) / "sorted.parquet"
        if is_all:
            ranges = iter([_sorted(held)])
        else:
            runs: list[_Run] = []
            while held:
                runs.append(_write_run(_sorted(held), Path(folder) / f"run-{len(runs)}.arrow"))
                held, _ = _hold(batches, allowed)
            ranges = _merged(runs, allowed)
        rows = _write(ranges, made)
        made.replace(target)
    return rows


def _hold(batches: Iterator[pl.DataFrame], allowed_bytes: int) -> tuple[list[pl.DataFrame], bool]:
    """The next batches, up to so many bytes, and whether these are all there are."""
    held: list[pl.DataFrame] = []
    size = 0.0
    for batch in batches:
        held.append(TRACE_JOBS.shape(batch))
        size += batch.estimated_size()
        if size > allowed_bytes:
            return held, False
    return held, True


def _sorted(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """The parts (which are let go) together in row order, with the column `job_order`."""
    jobs = pl.concat(parts) if parts else TRACE_JOBS.empty()
    parts.clear()
    if "job_order" not in jobs.columns:
        jobs = jobs.with_columns(job_order=job_order(pl.col("job_id")))
    return jobs.sort(ROW_ORDER)


@dataclass(frozen=True)
class _Run:
    """Sorted rows in an Arrow file: their number and size, and the first and last bound of each block."""

    path: Path
    rows: int
    size_bytes: float
    blocks: list[tuple[Bound, Bound]]

    def read(self, low: Bound | None, high: Bound | None) -> Iterator[pl.DataFrame]:
        """The rows from `low` on and before `high`, block by block; None leaves that side open."""
        with pa.OSFile(str(self.path)) as source:
            file = pa.ipc.open_file(source)
            for number, (first, last) in enumerate(self.blocks):
                if (low is None or low <= last) and (high is None or first < high):
                    block = pl.DataFrame(file.get_batch(number))
                    is_inside = (low is None or low <= first) and (high is None or last < high)
                    yield block if is_inside else block.filter(_between(low, high))


def _write_run(jobs: pl.DataFrame, path: Path) -> _Run:
    blocks = []
    with pa.ipc.new_file(path, RUN_SCHEMA) as writer:
        for block in jobs.iter_slices(BLOCK_ROWS):
            writer.write_table(_arrow(block, RUN_SCHEMA).combine_chunks())
            bounds = block.select(BOUND)
            blocks.append((bounds.row(0), bounds.row(-1)))
    return _Run(path, jobs.height, jobs.estimated_size(), blocks)


def _merged(runs: list[_Run], allowed_bytes: int) -> Iterator[pl.DataFrame]:
    """All rows, range by range, each of about the allowed size and in row order."""
    row_bytes = sum(run.size_bytes for run in runs) / sum(run.rows for run in runs)
    blocks_of_range = max(1, int(allowed_bytes / row_bytes) // BLOCK_ROWS)
    firsts = sorted(first for run in runs for first, _ in run.blocks)
    cuts = dict.fromkeys(firsts[blocks_of_range::blocks_of_range])
    for low, high in pairwise([None, *cuts, None]):
        yield _sorted([part for run in runs for part in run.read(low, high)])


def _between(low: Bound | None, high: Bound | None) -> pl.Expr:
    is_within = pl.lit(True)
    if low is not None:
        is_within &= ~_is_before(low)
    if high is not None:
        is_within &= _is_before(high)
    return is_within


def _is_before(bound: Bound) -> pl.Expr:
    first, second, third = (pl.col(name) for name in BOUND)
    return (first < bound[0]) | (
        (first == bound[0]) & ((second < bound[1]) | ((second == bound[1]) & (third < bound[2])))
    )


def _arrow(frame: pl.DataFrame, schema: pa.Schema) -> Any:
    return frame.select(schema.names).to_arrow(compat_level=pl.CompatLevel.oldest()).cast(schema)


def _write(ranges: Iterable[pl.DataFrame], path: Path) -> int:
    """Write sorted rows in row groups of `GROUP_ROWS`, however the ranges are cut."""
    rows = 0
    waiting = TRACE_JOBS.empty()
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", use_dictionary=DICTIONARY) as writer:
        for part in ranges:
            waiting = pl.concat([waiting, part.select(waiting.columns)])
            rows += part.height
            full = waiting.height // GROUP_ROWS * GROUP_ROWS
            for group in waiting.head(full).iter_slices(GROUP_ROWS):
                writer.write_table(_arrow(group, SCHEMA).combine_chunks(), row_group_size=GROUP_ROWS)
            waiting = waiting.slice(full)
        if waiting.height or rows == 0:
            writer.write_table(_arrow(waiting, SCHEMA).combine_chunks(), row_group_size=GROUP_ROWS)
    return rows
