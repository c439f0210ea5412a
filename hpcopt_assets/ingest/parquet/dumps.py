"""Dumps that overlap: which of several records of a job stands for it, and which attempts it had.

In:  records of jobs, piece by piece.   Out: for each record whether it is kept, and as which attempt.
Not here: reading (columns.py); dumps of text formats, whose lines tell more (slurm/, pbs/).

Records of one id, submission and start tell of one attempt: the finished one counts, else the one that saw
the job longest. A record without a start (the job waited) yields to one with the same submission that has
one. Other submissions or starts of the id are further attempts, in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.unique import Hashes, Tally, hashes_of, is_among

SEEN = ("job_id", "submit_s", "start_s", "is_finished", "runtime_s", "source_line")
Reader = Callable[[], Iterator[pl.DataFrame]]
# Reads one file's records again, piece by piece.
IDS_AT_ONCE = 500_000
# Repeated ids that are decided together: some hundred MB of their records.


@dataclass(frozen=True)
class Standing:
    """The repeated ids' records of one file: `attempt` is 0 where another record stands for the job."""

    lines: npt.NDArray[np.int64]
    attempts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    def of(self, records: pl.DataFrame) -> pl.DataFrame:
        """The records (in line order) that are kept, with `attempt` and `attempt_count`."""
        lines = records["source_line"].to_numpy()
        attempt = np.ones(lines.size, dtype=np.int64)
        count = np.ones(lines.size, dtype=np.int64)
        if lines.size and self.lines.size:
            here = slice(*np.searchsorted(self.lines, (lines[0], lines[-1] + 1)))
            places = np.searchsorted(lines, self.lines[here])
            attempt[places], count[places] = self.attempts[here], self.counts[here]
        return records.with_columns(attempt=pl.Series(attempt), attempt_count=pl.Series(count)).filter(
            pl.col("attempt") > 0
        )


def standings(files: Sequence[Reader], tally: Tally) -> list[Standing]:
    """Decide for each file (in the order of their names), from its records' columns `SEEN`.

    `tally` holds the ids of all files. The files are read again only if some id is repeated.
    """
    repeated = tally.repeated()
    parts = np.array_split(repeated, -(-repeated.size // IDS_AT_ONCE)) if repeated.size else []
    decided = [_decided(_records_of(files, part)) for part in parts]
    table = pl.concat(decided) if decided else None
    return [_standing(table, place) for place in range(len(files))]


def _records_of(files: Sequence[Reader], wanted: Hashes) -> pl.DataFrame:
    return pl.concat(
        piece.select(pl.lit(place, dtype=pl.Int32).alias("place"), *SEEN).filter(
            is_among(hashes_of(piece.select("job_id")), wanted)
        )
        for place, pieces in enumerate(files)
        for piece in pieces()
    )


def _decided(records: pl.DataFrame) -> pl.DataFrame:
    """Of records of repeated ids: `place`, `source_line`, `attempt` (0: superseded) and `attempt_count`."""
    attempt = ["job_id", "submit_s", "start_s"]
    waited_only = pl.col("start_s").is_null() & pl.col("start_s").is_not_null().any().over(
        "job_id", "submit_s"
    )
    kept = (
        records.filter(~waited_only)
        .sort(
            "is_finished",
            "runtime_s",
            "place",
            "source_line",
            descending=[True, True, False, False],
            nulls_last=True,
        )
        .unique(attempt, keep="first", maintain_order=True)
        .sort(attempt)
        .select(
            "place",
            "source_line",
            attempt=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("job_id"),
            attempt_count=pl.len().over("job_id").cast(pl.Int64),
        )
    )
    return (
        records.select("place", "source_line")
        .join(kept, on=["place", "source_line"], how="left")
        .with_columns(pl.col("attempt", "attempt_count").fill_null(0))
    )


def _standing(decided: pl.DataFrame | None, place: int) -> Standing:
    if decided is None:
        empty = np.empty(0, dtype=np.int64)
        return Standing(empty, empty, empty)
    own = decided.filter(pl.col("place") == place).sort("source_line")
    return Standing(*(own[name].to_numpy() for name in ("source_line", "attempt", "attempt_count")))
