"""Jobs that had one number at different times: a server gives numbers out again.

In:  submissions of job numbers.   Out: which of them are of one job, and what tells the others' ids apart.
Not here: which record is of which submission; that the formats know.
"""

from __future__ import annotations

import polars as pl

ID_COMES_ROUND_S = 86400
# Not within a day of the end of the job that had it. A requeued job may be submitted again when it ends.


def lives_of(submissions: pl.DataFrame) -> pl.DataFrame:
    """(`number`, `submit_s`) of submissions, with `life`, `begins_s` and the `suffix` of that life's id.

    In:  `number`, `submit_s`, `user` (null where unknown), `last_known_s`: when the job was last heard of.
    Submissions of one number that follow each other are of one job while the user is the same and each lies
    within a day of what was known before.
    The first job of a number keeps it as it is; the others get `@<submission, UTC>`.
    """
    once = (
        submissions.group_by("number", "submit_s")
        .agg(pl.col("user", "last_known_s").max())
        .sort("number", "submit_s")
        .with_columns(life=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    )
    is_shared = pl.col("number").is_duplicated()
    alone = once.filter(~is_shared).with_columns(begins_s="submit_s", suffix=pl.lit(""))
    shared = _joined(once.filter(is_shared))
    since = pl.from_epoch("begins_s", time_unit="s").dt.strftime("@%Y-%m-%dT%H:%M:%SZ")
    is_first = pl.col("begins_s") == pl.col("begins_s").min().over("number")
    shared = shared.with_columns(suffix=pl.when(is_first).then(pl.lit("")).otherwise(since))
    columns = ("number", "submit_s", "life", "begins_s", "suffix")
    return pl.concat([alone.select(columns), shared.select(columns)])


def _joined(once: pl.DataFrame) -> pl.DataFrame:
    """Submissions with the life of the first that is of the same job; the order is by number, then time."""
    before_s = pl.col("last_known_s").cum_max().shift(1).over("number")
    is_long_after = before_s.is_null() | (pl.col("submit_s") > before_s + ID_COMES_ROUND_S)
    once = once.with_columns(block=is_long_after.cum_sum())
    owner = pl.coalesce(
        "user", pl.col("user").forward_fill().over("block"), pl.col("user").backward_fill().over("block")
    )
    # Who is not named is whoever had the number then.
    once = once.with_columns(user=owner)
    is_other = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in ("block", "user"))
    return once.with_columns(chain=is_other.cum_sum()).with_columns(
        life=pl.col("life").first().over("chain"), begins_s=pl.col("submit_s").first().over("chain")
    )
