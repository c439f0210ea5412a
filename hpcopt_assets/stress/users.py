"""A greedier user: one to whom more of the jobs belong, and nothing else changes.

In:  trace_jobs, the machine, a seed.   Out: trace_jobs.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.stress.statistics import Obstacle, counts


def user_skew(jobs: pl.DataFrame, factor: float, capacity: Capacity, seed: tuple[int, ...]) -> pl.DataFrame:
    """The jobs with the share of the user who has most of them `factor` times what it is.

    Others' jobs become that user's (of equals, the first to appear): those of users in a random order, all of
    each, of the last as many as are missing, the earliest first. Group and account are that user's, too.
    `Obstacle` where that would take more than there are, or nobody's user is known.
    """
    counted = jobs.select(counts(capacity) & pl.col("user").is_not_null()).to_series()
    held = jobs.filter(counted).group_by("user", maintain_order=True).len()
    # As they first appear and not by name: what comes out must not depend on what people are called.
    if held.is_empty():
        raise Obstacle("no job has a known user")
    largest, own = held.row(int(held["len"].to_numpy().argmax()))
    total, wanted = int(held["len"].sum()), round(factor * own)
    if wanted > total:
        raise Obstacle(f"{factor:g} times {own:,} jobs of one user: all users have {total:,}")
    others = held["user"].filter(held["user"] != largest)
    order = np.random.default_rng(seed).permutation(others.len())
    places = pl.DataFrame({"user": others.gather(order), "turn": np.arange(others.len())})
    turns = (
        jobs.select("user")
        .with_columns(is_counted=counted)
        .with_row_index("row")
        .join(places, on="user", how="inner", maintain_order="left")
        .sort("turn", "row")
    )
    # A job that does not count goes with those that do, as long as any of them is missing.
    taken = turns.filter(pl.col("is_counted").cum_sum() - pl.col("is_counted") < wanted - own)["row"]
    is_taken = pl.Series(np.isin(np.arange(jobs.height), taken.to_numpy()))
    names = ("user", "group", "account")
    theirs = jobs.filter(pl.col("user") == largest).select(names).row(0, named=True)
    return jobs.with_columns(
        pl.when(is_taken).then(pl.lit(theirs[name], dtype=pl.String)).otherwise(name).alias(name)
        for name in names
    )
