"""Whose a row is where its own dump does not say: cluster, user and id, as other dumps of the job tell them.

In:  rows of all files, null where a dump has no such column or nothing in it.   Out: the same rows, each
     with what it leaves open filled in where the others leave one way to do so.
Not here: what then becomes of rows of one job (jobs.py).
"""

from __future__ import annotations

import polars as pl

ID_COMES_ROUND_S = 86400
# Slurm gives an id out again after MaxJobId others, or after its database was emptied: not within a day of
# the end of the job that had it. A requeued job is submitted again when it ends.
WHO = ("cluster", "user", "uid")
RECORD, SUBMISSION = ("base_id", "submit_s", "start_s"), ("base_id", "submit_s")
ARRAY = ("root", "submit_s")
SIGNATURES_MAX = 100
# Dumps differ in columns in a few ways. What has more signatures than this is no job of one number.
NUMBER = r"^\d+$"

Signature = tuple[str | None, ...]


def identified(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with `base_id`, `root`, `cluster` ("" where nobody names one), and `owner`, which parts jobs.

    What is open is looked up first among rows of the same submission and start, then of the same submission
    (of the job, of its array), then among all that have the number at that time: a requeued job is submitted
    again.
    """
    rows = _with_ids(_users_by_kind(rows))
    for scope in (RECORD, SUBMISSION, ARRAY):
        rows = _completed(rows, scope, WHO)
    rows = _completed_over_time(rows, "root", WHO)
    owner = pl.coalesce(pl.concat_str(pl.lit("uid "), "uid"), "user")
    # Slurm keeps the uid of a job; the name is looked up when it is dumped, and may be another by then.
    return rows.with_columns(pl.col("cluster").fill_null(""), owner=owner)


def of_one_cluster(*frames: pl.DataFrame) -> list[pl.DataFrame]:
    """The frames; where all of them name at most one cluster, rows that name none are of it too."""
    named = pl.concat([frame["cluster"] for frame in frames]).drop_nulls().unique().to_list()
    if len(named) > 1:
        return list(frames)
    return [frame.with_columns(pl.col("cluster").fill_null("".join(named))) for frame in frames]


def eras(rows: pl.DataFrame, number: tuple[str, ...]) -> pl.DataFrame:
    """`row` and `era` of rows that share a number: those of one job, or of one array.

    They belong together while each is submitted within a day of the end of those before.
    """
    rows = rows.filter(pl.col(number[0]).is_duplicated() & pl.col(number[0]).is_not_null()).select(
        "row",
        *number,
        "submit_s",
        last_known=pl.max_horizontal("submit_s", "logged_end_s", pl.col("start_s") + pl.col("runtime_s")),
    )
    rows = rows.sort(*number, "submit_s", nulls_last=True)
    is_other = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in number)
    rows = rows.with_columns(holder=is_other.cast(pl.Int64).cum_sum())
    before = pl.col("last_known").cum_max().shift(1).over("holder")
    begins = before.is_null() | (pl.col("submit_s") > before + ID_COMES_ROUND_S).fill_null(True)
    return rows.select("row", era=begins.cast(pl.Int64).cum_sum())


def steps_of_jobs(steps: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """Steps with the id and the cluster of their job, where their own dump does not tell.

    Of several jobs that may be meant, it is the last that had started when the step began.
    """
    is_silent = pl.col("cluster").is_null()
    told, silent = steps.filter(~is_silent), steps.filter(is_silent)
    if told["base_id"].is_null().any():
        told = _looked_up(told, jobs, ("cluster", "number"), ("base_id",))
    if silent["base_id"].is_null().any():
        silent = _looked_up(silent, jobs, ("number",), ("base_id", "cluster"))
    steps = pl.concat([told, silent]).with_columns(pl.coalesce("base_id", "number"))
    if silent.height:
        steps = _looked_up(steps, jobs, ("base_id",), ("cluster",))
    return steps.with_columns(pl.col("cluster").fill_null(""))


def _looked_up(
    steps: pl.DataFrame, jobs: pl.DataFrame, by: tuple[str, ...], told: tuple[str, ...]
) -> pl.DataFrame:
    new = {name: pl.col(name).alias(f"new_{name}") for name in told}
    known = jobs.select(*by, *new.values(), at=pl.coalesce("start_s", "submit_s")).drop_nulls(by)
    known = known.unique().sort("at", *(f"new_{name}" for name in told))
    placed = steps.with_columns(at=pl.col("start_s").fill_null(2**62)).sort("at")
    for strategy in ("backward", "forward"):
        placed = placed.join_asof(known, on="at", by=by, strategy=strategy, check_sortedness=False)
        placed = placed.with_columns(pl.coalesce(name, f"new_{name}") for name in told).select(
            [*steps.columns, "at"]
        )
    return placed.drop("at")


def _users_by_kind(rows: pl.DataFrame) -> pl.DataFrame:
    """`user` and `uid` kept apart: where Slurm finds no name any more, it may write the uid as the user.

    A user of digits is a name where some row gives it another uid.
    """
    is_number = pl.col("user").str.contains(NUMBER).fill_null(False)
    names = rows.filter(is_number & (pl.col("user") != pl.col("uid")))["user"].unique()
    is_uid = is_number & ~pl.col("user").is_in(names.implode())
    return rows.with_columns(
        user=pl.when(~is_uid).then("user"), uid=pl.coalesce("uid", pl.when(is_uid).then("user"))
    )


def _with_ids(rows: pl.DataFrame) -> pl.DataFrame:
    """`base_id` of rows that tell a number only: that of the rows which tell it for the same job, else it."""
    if rows["base_id"].is_null().any():
        told = ("base_id", *WHO)
        rows = _completed(rows, ("number", "submit_s"), told)
        rows = _completed_over_time(rows, "number", told)
        rows = rows.with_columns(pl.coalesce("base_id", "number"))
    return rows.with_columns(root=pl.col("base_id").str.extract(r"^(\d+)"))


def _completed_over_time(rows: pl.DataFrame, number: str, told: tuple[str, ...]) -> pl.DataFrame:
    if not _is_open(rows, told):
        return rows
    rows = rows.with_row_index("row")
    rows = rows.join(eras(rows, (number,)), on="row", how="left", maintain_order="left")
    return _completed(rows, ("era",), told).drop("row", "era")


def _is_open(rows: pl.DataFrame, told: tuple[str, ...]) -> bool:
    """Whether some rows say what others do not."""
    return any(0 < rows[name].null_count() < rows.height for name in told)


def _completed(rows: pl.DataFrame, scope: tuple[str, ...], told: tuple[str, ...]) -> pl.DataFrame:
    """Rows with what they leave open among `told`, as far as rows that agree in `scope` tell it.

    The rows of a scope are one job's if nothing that they say differs. Where something does, those are one
    job's that could be one with the same others (`_agreed`).
    """
    if not _is_open(rows, told):
        return rows
    seen = rows.filter(pl.col(scope[0]).is_not_null() & pl.col(scope[0]).is_duplicated())
    seen = seen.select(*scope, *told).unique().filter(pl.struct(scope).is_duplicated())
    differs = pl.any_horizontal(pl.col(name).drop_nulls().n_unique().over(scope) > 1 for name in told)
    seen = seen.with_columns(differs=differs)
    plain = seen.filter(~pl.col("differs")).with_columns(
        pl.col(name).max().over(scope).alias(f"new_{name}") for name in told
    )
    others = seen.filter("differs").group_by(scope).agg(told)
    agreed = [_agreed(list(zip(*columns, strict=True))) for columns in others.select(told).iter_rows()]
    new = [
        pl.Series(f"new_{name}", [[found[k] for found in group] for group in agreed], pl.List(pl.String))
        for k, name in enumerate(told)
    ]
    others = others.with_columns(new).explode(*told, *(column.name for column in new))
    filled = pl.concat([plain.drop("differs"), others], how="diagonal")
    rows = rows.join(filled, on=[*scope, *told], how="left", nulls_equal=True, maintain_order="left")
    return rows.with_columns(pl.coalesce(name, f"new_{name}") for name in told).drop(
        f"new_{name}" for name in told
    )


def _agreed(signatures: list[Signature]) -> list[Signature]:
    """What rows say, completed by each other: those are one job's that fit the same signatures.

    So a row that fits two others which do not fit each other stays by itself.
    """
    if len(signatures) > SIGNATURES_MAX:
        return signatures
    fits = [tuple(_fit(one, other) for other in signatures) for one in signatures]
    told: dict[tuple[bool, ...], list[str | None]] = {}
    for signature, fit in zip(signatures, fits, strict=True):
        known = told.setdefault(fit, [None] * len(signature))
        for k, value in enumerate(signature):
            if value is not None:
                known[k] = min(value, known[k] or value)
    return [tuple(told[fit]) for fit in fits]


def _fit(one: Signature, other: Signature) -> bool:
    """Whether two rows may be of one job: a user parts them where both tell the uid, else both the name."""
    *places, user, uid = zip(one, other, strict=True)
    person = user if None in uid else uid
    return all(None in pair or pair[0] == pair[1] for pair in (*places, person))
