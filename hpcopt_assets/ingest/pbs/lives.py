"""Which job an event tells of: an id that a server gave out again is another job.

In:  events with their times (times.py), and what each says of the submission.   Out: the job of each.
Not here: which events tell of one start of a job (attempts.py).
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.ingest.lives import ID_COMES_ROUND_S, lives_of
from hpcopt_assets.ingest.pbs.lines import (
    ABORTED,
    CHECKPOINTED,
    DELETED,
    ENDED,
    MOVED,
    QUEUED,
    RERUN,
    RESTARTED,
    STARTED,
)
from hpcopt_assets.ingest.pbs.times import WRITING_MAX_S

FINAL = (ENDED, DELETED, ABORTED, MOVED)
# What ends a job, unless one of these goes on with it:
GOING_ON = (QUEUED, STARTED, RESTARTED, RERUN, CHECKPOINTED)
OF_A_RUN = (STARTED, RESTARTED, ENDED)
# Without a submission too they tell of the job that had the id last, however long it waited or ran.


def with_jobs(events: pl.DataFrame) -> pl.DataFrame:
    """Adds `job`, which tells jobs of one `number` apart, and the `suffix` of the job's id.

    Events that state a submission are of one job while that agrees, or the user does and no more than a day
    lies between. Others (a bare D, R or C) are of the job then living: the last that was submitted before,
    unless it ended more than a day ago. Those of no such job are kept apart; nothing tells its submission.
    """
    events = _with_submissions(events)
    is_silent = pl.col("submit_s").is_null()
    lives = lives_of(
        events.filter(~is_silent).select("number", "submit_s", "user", last_known_s=pl.col("time_s"))
    )
    events = events.drop("user")  # no copy of what is not needed any more
    stated = events.filter(~is_silent).join(lives.drop("begins_s"), on=["number", "submit_s"])
    silent = _living(events.filter(is_silent), lives).select(stated.columns)
    nobodys = -pl.col("number").cast(pl.Int64)
    placed = pl.concat([stated, silent]).with_columns(life=pl.coalesce("life", nobodys))
    return (
        _with_remnants(placed)
        .sort("life", "remnant")
        .with_columns(
            job=pl.any_horizontal(
                pl.col(name).ne_missing(pl.col(name).shift(1)) for name in ("life", "remnant")
            ).cum_sum(),
            suffix=pl.col("suffix").fill_null(""),
        )
        .drop("life", "remnant", "submit_s")
    )


def _with_submissions(events: pl.DataFrame) -> pl.DataFrame:
    """Adds `submit_s`: what an event states; of a Q that states nothing, when it was written.

    Q is written a moment after the job was made, so that it may be of a submission that others state.
    """
    of_that_qtime = pl.when(pl.col("qtime").is_not_null()).then(pl.col("ctime").max().over("number", "qtime"))
    events = events.with_columns(submit_s=pl.coalesce("ctime", of_that_qtime, "qtime")).drop("ctime", "qtime")
    is_bare = pl.col("submit_s").is_null() & (pl.col("kind") == QUEUED)
    if not events.select(is_bare.any()).item():
        return events
    stated = events.filter(pl.col("submit_s").is_not_null()).select("number", stated_s="submit_s").unique()
    bare = (
        events.filter(is_bare)
        .sort("time_s")
        .join_asof(
            stated.sort("stated_s"),
            left_on="time_s",
            right_on="stated_s",
            by="number",
            strategy="nearest",
            tolerance=WRITING_MAX_S,
            check_sortedness=False,
        )
        .with_columns(submit_s=pl.coalesce("stated_s", "time_s"))
    )
    return pl.concat([events.filter(~is_bare), bare.select(events.columns)])


def _living(silent: pl.DataFrame, lives: pl.DataFrame) -> pl.DataFrame:
    """Adds the life of events that state no submission: the last that had begun, else one within a day."""
    begun = lives.unique("life").select("number", "begins_s", "life", "suffix").sort("begins_s")
    silent = silent.sort("time_s")
    last = silent.join_asof(begun, left_on="time_s", right_on="begins_s", by="number", check_sortedness=False)
    coming = silent.join_asof(
        begun,
        left_on="time_s",
        right_on="begins_s",
        by="number",
        strategy="forward",
        tolerance=ID_COMES_ROUND_S,
        check_sortedness=False,
    )
    is_after = last["life"].is_null()
    return silent.with_columns(
        coming[name].zip_with(is_after, last[name]).alias(name) for name in ("life", "suffix")
    )


def _with_remnants(events: pl.DataFrame) -> pl.DataFrame:
    """Adds `remnant`, which tells apart what comes more than a day after the end of its life; else 0."""
    kind, time_s, is_silent = pl.col("kind"), pl.col("time_s"), pl.col("submit_s").is_null()
    whose = events.filter(is_silent)["life"].unique()
    has_silent = pl.col("life").is_in(whose.implode())
    is_over = pl.when(kind.is_in(FINAL)).then(True).when(kind.is_in(GOING_ON)).then(False)
    was_over = is_over.forward_fill().shift(1).over("life")
    is_long_ago = time_s - time_s.shift(1).over("life") > ID_COMES_ROUND_S
    is_late = (is_silent & ~kind.is_in(OF_A_RUN) & was_over & is_long_ago).fill_null(False)
    some = (
        events.filter(has_silent)
        .sort("life", "time_s", kind.is_in(FINAL))
        .with_columns(is_late=is_late)
        .with_columns(remnant=pl.when(is_silent).then(pl.col("is_late").cum_sum().over("life")).otherwise(0))
        .drop("is_late")
    )
    others = events.filter(~has_silent).with_columns(remnant=pl.lit(0, some.schema["remnant"]))
    return pl.concat([others, some])
