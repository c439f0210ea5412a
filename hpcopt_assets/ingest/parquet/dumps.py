"""Dumps that overlap: which of several records of a job stands for it, and which attempts it had.

In:  records of jobs, piece by piece.   Out: for each record whether it is kept, and as which attempt.
Not here: reading (columns.py); dumps of text formats, whose lines tell more (slurm/, pbs/).

Records of one id, submission and start tell of one attempt: the finished one counts, else the one that saw
the job longest. A record without a start (the job waited) yields to one with the same submission that has
one. Other submissions or starts of the job are further attempts, in that order; a record that saw the job
wait or run yields to any later attempt. An id that is used again is another job (ingest/lives.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hpcopt_assets.contracts.unique import Hashes, Tally, hashes_of, is_among
from hpcopt_assets.ingest.canonical import UNFINISHED
from hpcopt_assets.ingest.lives import lives_of
from hpcopt_assets.ingest.parsed import RECORD_SCHEMA

SEEN = (
    *("job_id", "user", "submit_s", "eligible_s", "start_s", "end_s", "runtime_s", "state"),
    *("is_finished", "source_line"),
)
PLACE = ("source_file", "source_line")
Reader = Callable[[], Iterator[pl.DataFrame]]
# Reads one file's records again, piece by piece.
IDS_AT_ONCE = 500_000
# Repeated ids that are decided together: some hundred MB of their records.
STANDING_SCHEMA = pl.Schema(
    {
        "place": pl.Int32,
        "source_line": pl.Int64,
        "attempt": pl.Int64,
        "attempt_count": pl.Int64,
        "suffix": pl.String,
        "ended_before_s": pl.Int64,
    }
)


@dataclass(frozen=True)
class Standing:
    """The repeated ids' records of one file (`STANDING_SCHEMA`), by line.

    `attempt` is 0 where another record stands for the job. `suffix` tells its id from that of a job before.
    `ended_before_s`: when the attempt before ended and so released this one.
    """

    rows: pl.DataFrame

    def of(self, records: pl.DataFrame) -> pl.DataFrame:
        """The records (in line order) that are kept, as the attempts that they are."""
        lines = records["source_line"]
        ends = (0, 0) if lines.is_empty() else (lines[0], lines[-1] + 1)
        first, after = (int(self.rows["source_line"].search_sorted(line)) for line in ends)
        here = self.rows.slice(first, after - first)
        return (
            records.join(here, on="source_line", how="left", maintain_order="left")
            .with_columns(
                pl.col("attempt", "attempt_count").fill_null(1),
                job_id=pl.col("job_id") + pl.col("suffix").fill_null(""),
                eligible_s=pl.coalesce("ended_before_s", "eligible_s"),
            )
            .filter(pl.col("attempt") > 0)
        )

    def facts(self) -> dict[str, int]:
        """How many records another one stands for, and how many jobs have the id of a job before."""
        attempt = self.rows["attempt"]
        return {
            "superseded_lines": int((attempt == 0).sum()),
            "jobs_with_a_reused_id": int(((attempt == 1) & (self.rows["suffix"] != "")).sum()),
        }


def standings(files: Sequence[Reader], tally: Tally) -> list[Standing]:
    """Decide for each file (in the order of their names), from its records' columns `SEEN`.

    `tally` holds the ids of all files. The files are read again only if some id is repeated.
    """
    repeated = tally.repeated()
    parts = np.array_split(repeated, -(-repeated.size // IDS_AT_ONCE)) if repeated.size else []
    decided = [_decided(_records_of(files, part)) for part in parts]
    table = pl.concat([pl.DataFrame(schema=STANDING_SCHEMA), *decided])
    return [
        Standing(table.filter(pl.col("place") == place).drop("place").sort("source_line"))
        for place in range(len(files))
    ]


def _records_of(files: Sequence[Reader], wanted: Hashes) -> pl.DataFrame:
    return pl.concat(
        piece.filter(is_among(hashes_of(piece.select("job_id")), wanted)).select(
            pl.lit(place, dtype=pl.Int32).alias("place"), *SEEN, content=_content(piece)
        )
        for place, pieces in enumerate(files)
        for piece in pieces()
    )


def _content(records: pl.DataFrame) -> pl.Expr:
    """All that a record says, as a text: of two that know as much it decides, not the file they are in."""
    said = [
        pl.col(name).list.join(" ") if isinstance(dtype, pl.List) else pl.col(name).cast(pl.String)
        for name, dtype in RECORD_SCHEMA.items()
        if name in records.columns and name not in PLACE
    ]
    return pl.concat_str((text.fill_null("") for text in said), separator="\t")


def _decided(records: pl.DataFrame) -> pl.DataFrame:
    """What becomes of records of repeated ids (`STANDING_SCHEMA`)."""
    known_s = pl.max_horizontal("submit_s", "start_s", pl.col("start_s") + pl.col("runtime_s"))
    submissions = records.select("submit_s", "user", number="job_id", last_known_s=known_s)
    records = records.join(
        lives_of(submissions).drop("begins_s"),
        left_on=["job_id", "submit_s"],
        right_on=["number", "submit_s"],
    )
    attempts = _attempts(_best(records))
    return (
        records.select("place", "source_line")
        .join(attempts, on=["place", "source_line"], how="left")
        .with_columns(pl.col("attempt", "attempt_count").fill_null(0))
        .select(pl.col(name).cast(dtype) for name, dtype in STANDING_SCHEMA.items())
    )


def _best(records: pl.DataFrame) -> pl.DataFrame:
    """One record for each submission and start of a job, in their order."""
    has_started = pl.col("start_s").is_not_null()
    waited_only = ~has_started & has_started.any().over("life", "submit_s")
    best_first = ("is_finished", "runtime_s", "content", "place", "source_line")
    down = [name in ("is_finished", "runtime_s") for name in best_first]
    attempt = ["life", "submit_s", "start_s"]
    return (
        records.filter(~waited_only)
        .sort(best_first, descending=down, nulls_last=True)
        .unique(attempt, keep="first", maintain_order=True)
        .sort(attempt, nulls_last=True)
    )


def _attempts(best: pl.DataFrame) -> pl.DataFrame:
    """Numbers the attempts of each job; what saw it wait or run is past where another attempt came later."""
    is_last = pl.col("life").ne_missing(pl.col("life").shift(-1))
    is_past = pl.col("state").is_in(UNFINISHED) & ~is_last
    before_s = pl.col("end_s").shift(1).over("life")
    is_released = before_s > pl.coalesce("eligible_s", "submit_s")
    is_possible = (before_s <= pl.col("start_s")).fill_null(True)
    return best.filter(~is_past).select(
        "place",
        "source_line",
        "suffix",
        attempt=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("life"),
        attempt_count=pl.len().over("life").cast(pl.Int64),
        ended_before_s=pl.when(is_released & is_possible).then(before_s),
    )
