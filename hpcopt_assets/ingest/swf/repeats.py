"""Which line stands for a job of which several tell: overlapping files, and jobs that were swapped out.

In:  lines in which every field can be taken, of all files of a trace.   Out: `Whole`: one line for each job.
Not here: what a field means (jobs.py).
Source: Standard Workload Format 2.2, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from hpcopt_assets.contracts.swf import SWF_FIELDS
from hpcopt_assets.contracts.vocabulary import RejectCode
from hpcopt_assets.ingest.swf.header import SPAN_MAX_S

UNKNOWN = -1.0
WHERE = ("source_file", "source_line")
SAID = ("submit_s", *(name for name in SWF_FIELDS if name not in ("job", "submit")))
# What a line says of its job, once its submission is counted from the epoch.
PARTS = (2.0, 3.0, 4.0)
# Status of a line that tells one burst of a job which was swapped out (to be continued; the last one, which
# completed; the last one, which failed); another line sums the job up.
ENDED = (0.0, 1.0, 5.0)
# Status of a line that knows how its job ended.
SUMMARY, PART, OPEN = range(3)
# What a line is, the better account first. An open line saw the job wait or run.


class Lost(NamedTuple):
    """A line that became no job, and the file whose line it is."""

    source_file: str
    source_line: int
    code: RejectCode
    reason: str


class Whole(NamedTuple):
    """One record for each job number, the lines that contradict it, and how many another line stands for."""

    records: pl.DataFrame
    lost: list[Lost]
    superseded: int


def one_line_a_job(records: pl.DataFrame) -> Whole:
    """Of lines on one job the one that knows its end stands for it; the names of files decide nothing.

    SWF 2.2, usage note: a job that was swapped out has a summary line (status 0 or 1) and a line for each
    burst (2, 3 or 4) under the same number; studies of the workload use the summary alone. Bursts that no
    line sums up are summed here. A line that says nothing else (overlapping files) is merged.
    """
    is_repeated = records["job"].is_duplicated()
    alone = records.filter(~is_repeated).with_columns(is_summed=pl.lit(False))
    if alone.height == records.height:
        return Whole(alone, [], 0)
    role = pl.col("role")
    lines = records.filter(is_repeated).with_columns(role=_role()).sort("job", "role", *_best_first())
    parts, others = lines.filter(role == PART), lines.filter(role != PART)
    bursts = _bursts(parts)
    is_best = role == role.first().over("job")
    best = lines.filter(is_best).unique("job", keep="first", maintain_order=True)
    summed = _sums(bursts.join(best.filter(role == PART), on="job", how="semi", maintain_order="left"))
    kept = pl.concat(
        [
            best.filter(role != PART).with_columns(is_summed=pl.lit(False)),
            summed.select(*lines.columns, "is_summed"),
        ]
    )
    lost, merged = _others(others, kept)
    return Whole(pl.concat([alone, kept.select(alone.columns)]), lost, merged + parts.height - bursts.height)


def _role() -> pl.Expr:
    is_open = (pl.col("run") == UNKNOWN) & ~pl.col("status").is_in(ENDED)
    role = pl.when(pl.col("status").is_in(PARTS)).then(PART).when(is_open).then(OPEN).otherwise(SUMMARY)
    return role.cast(pl.Int8)


def _best_first() -> tuple[pl.Expr, ...]:
    """The order of a job's lines of one role: by what they know, or as bursts follow each other.

    Of lines that know as much any may come first, but the same one whatever files they stand in.
    """
    is_part, status = pl.col("role") == PART, pl.col("status")
    known_count = pl.sum_horizontal(pl.col(name) != UNKNOWN for name in SAID)
    by_knowledge = (pl.col("run") == UNKNOWN, ~status.is_in(ENDED), -known_count.cast(pl.Int64))
    as_bursts = (pl.col("submit") == UNKNOWN, status.is_in(PARTS[1:]))
    return (
        *(pl.when(~is_part).then(key) for key in by_knowledge),
        pl.col("submit_s"),
        *(pl.when(is_part).then(key) for key in as_bursts),
        *(pl.col(name) for name in (*SAID[1:], "submit", "fields_count", *WHERE)),
    )


def _bursts(parts: pl.DataFrame) -> pl.DataFrame:
    """Every burst once: equal ones of one file are several, those of another file are the same again."""
    nth = pl.int_range(pl.len()).over("job", *SAID, "source_file")
    said = ["job", *SAID, "nth"]
    return parts.with_columns(nth=nth).unique(said, keep="first", maintain_order=True).drop("nth")


def _sums(bursts: pl.DataFrame) -> pl.DataFrame:
    """One line for the bursts of each job; their sum is unknown where one is, or where it is too large."""
    run = pl.col("run")
    is_known = (run != UNKNOWN).all() & (run.sum() <= SPAN_MAX_S)
    return bursts.group_by("job", maintain_order=True).agg(
        pl.exclude("run", "status", "cpu").first(),
        pl.when(is_known).then(run.sum()).otherwise(UNKNOWN).alias("run"),
        pl.col("status").last(),
        pl.when(pl.len() == 1).then(pl.col("cpu").first()).otherwise(UNKNOWN).alias("cpu"),
        is_summed=pl.len() > 1,
    )


def _others(lines: pl.DataFrame, kept: pl.DataFrame) -> tuple[list[Lost], int]:
    """Lines that say otherwise than the one that is kept, and how many say nothing that it does not say."""
    pairs = lines.join(kept.select("job", *SAID, *WHERE), on="job", suffix="_kept").filter(
        pl.any_horizontal(pl.col(name) != pl.col(f"{name}_kept") for name in WHERE)
    )
    contradicting = pairs.filter(
        pl.any_horizontal(
            (pl.col(name) != UNKNOWN) & (pl.col(name) != pl.col(f"{name}_kept")) for name in SAID
        )
    )
    lost = [
        Lost(
            row["source_file"],
            row["source_line"],
            RejectCode.DUPLICATE_JOB_ID,
            f"job {row['job']:.0f}, which line {row['source_line_kept']} of {row['source_file_kept']} tells "
            "otherwise, one line for each job needed",
        )
        for row in contradicting.iter_rows(named=True)
    ]
    return lost, pairs.height - len(lost)
