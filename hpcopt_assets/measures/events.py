"""What happened when: releases, starts and ends, for observed and replayed alike.

In:  a `trace_jobs` or `replay_schedule` frame.   Out: one row an event, in the order in which they happen.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.measures.schedule import has_run, held_procs

ENDED, RELEASED, STARTED = "ended", "released", "started"
# In this order at one instant; a job of no runtime ends after it has started.


def events(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns `at_s`, `event`, `job_id`, `attempt`, `procs`, `queued_count`, `used_procs` (after the event).

    Of the jobs that started and ran, whose rows are in trace order.
    """
    procs = held_procs() if "allocated_procs" in frame.columns else pl.col("procs")
    ran = frame.filter(has_run()).select(
        "job_id",
        "attempt",
        "release_s",
        "start_s",
        procs=procs,
        end_s=pl.col("start_s") + pl.col("runtime_s"),
    )
    of_kind = [
        ran.with_row_index("position").select(
            pl.col(column).alias("at_s"),
            pl.lit(event).alias("event"),
            "job_id",
            "attempt",
            "procs",
            "position",
            place=pl.when(pl.lit(event == ENDED) & (pl.col("end_s") == pl.col("start_s")))
            .then(len(COLUMN_OF))
            .otherwise(place),
            queued=pl.lit(queued),
            used=pl.lit(used) * pl.col("procs"),
        )
        for place, (event, (column, queued, used)) in enumerate(COLUMN_OF.items())
    ]
    return (
        pl.concat(of_kind)
        .sort("at_s", "place", "position")
        .select(
            "at_s",
            "event",
            "job_id",
            "attempt",
            "procs",
            queued_count=pl.col("queued").cum_sum(),
            used_procs=pl.col("used").cum_sum(),
        )
    )


COLUMN_OF = {ENDED: ("end_s", 0, -1), RELEASED: ("release_s", 1, 0), STARTED: ("start_s", -1, 1)}
# The column that tells when, and what the event adds to the queue's length and to the use of the machine.
