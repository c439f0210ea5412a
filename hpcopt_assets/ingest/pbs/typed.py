"""Records of a PBS log with numbers for texts.

In:  records with attributes as text (`lines.SCHEMA`).   Out: `typed` records.
Not here: what records together tell of a job (attempts.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import polars as pl

from hpcopt_assets.contracts.columns import BYTES_MAX, PROCS_MAX
from hpcopt_assets.contracts.vocabulary import Dialect
from hpcopt_assets.ingest.pbs import specs
from hpcopt_assets.ingest.pbs.lines import ATTRIBUTES, ENDED, QUEUED, RERUN, RESTARTED, STARTED
from hpcopt_assets.ingest.pbs.values import TIME_MAX_S, WELL_FORMED, seconds, size_bytes

INSTANTS = ("ctime", "qtime", "etime", "start", "end")
COUNTS = (
    "total_slots",
    "node_count",
    "nodect",
    "ncpus",
    "slots",
    "ngpus",
    "site_gpus",
    "site_gpu",
    "used_ncpus",
)
EXIT_MAX = 2**31
READERS: dict[str, tuple[Callable[[str], float | None], type[pl.DataType]]] = {
    "walltime": (seconds, pl.Float64),
    "used_walltime": (seconds, pl.Float64),
    "used_cput": (seconds, pl.Float64),
    "memory": (size_bytes, pl.Int64),
    "memory_per_proc": (size_bytes, pl.Int64),
    "used_memory": (size_bytes, pl.Int64),
}
DURATIONS = ("walltime", "used_walltime", "used_cput")
SPECS: dict[str, Callable[[str], specs.Counts]] = {
    "exec_vnode": specs.exec_vnode,
    "exec_gpus": specs.exec_gpus,
    "select": specs.select,
    "node_spec": specs.node_spec,
}
COUNTS_SCHEMA = dict.fromkeys(specs.Counts._fields, pl.Int64)
NOTHING = specs.Counts()
UNLIMITED = ("unlimited", "infinity")
DEFAULT_PROJECT = "_pbs_project_default"
# What PBS writes for a job of no project.
KEPT = (
    *("source_line", "kind", "job_id", "local_s", "epoch_s", "text_hash"),
    *("user", "group", "account", "queue", "name", "array_indices"),
    *INSTANTS,
    *("limit_s", "requested_procs", "allocated_procs", "nodes", "gpus", "requested_memory_bytes"),
    *("exit_status", "used_walltime", "used_cput", "used_memory"),
    *(
        "is_duplicate",
        "is_unlimited",
        "is_invalid_limit",
        "is_odd_duration",
        "is_malformed_value",
        "is_pbs_pro",
    ),
)


def _whole(name: str, lo: int, hi: int) -> pl.Expr:
    number = pl.col(name).cast(pl.Int64, strict=False)
    return pl.when(number.is_between(lo, hi)).then(number)


def _read(texts: pl.Series, reader: Callable[[str], float | None], dtype: type[pl.DataType]) -> pl.Series:
    return pl.Series([None if text is None else reader(text) for text in texts], dtype=dtype)


def _counted(texts: pl.Series, reader: Callable[[str], specs.Counts]) -> pl.Series:
    if texts.null_count() == texts.len():
        return pl.DataFrame(schema=COUNTS_SCHEMA).clear(texts.len()).to_struct()
    rows = [NOTHING if text is None else reader(text) for text in texts]
    return pl.DataFrame(rows, schema=COUNTS_SCHEMA, orient="row").to_struct()


def _of(spec: str, what: str) -> pl.Expr:
    return pl.col(spec).struct.field(what)


def _positive(name: str) -> pl.Expr:
    return pl.when(pl.col(name) > 0).then(pl.col(name))


def _sizes() -> dict[str, pl.Expr]:
    """What the job asked for and was given, by the attribute that says it best.

    `total_execution_slots` settles what a Torque list leaves open: `node/4` may be slot 4 or four slots.
    """
    is_unsaid = _of("node_spec", "nodes").is_not_null() & _of("node_spec", "procs").is_null()
    # Then `ncpus` is but the server's default.
    requested = pl.coalesce(
        _of("select", "procs"),
        pl.when(~is_unsaid).then(
            pl.max_horizontal(_of("node_spec", "procs"), _positive("slots"), _positive("ncpus"))
        ),
        pl.when(_of("select", "nodes") > 0).then(_of("select", "nodes")),
    )
    allocated = pl.coalesce(
        _of("exec_vnode", "procs"),
        _positive("total_slots"),
        _of("exec_host", "procs"),
        _positive("used_ncpus"),
    )
    procs, each = pl.coalesce(requested, allocated), pl.col("read_memory_per_proc")
    return {
        "requested_procs": requested,
        "allocated_procs": allocated,
        "nodes": pl.coalesce(
            _of("exec_host", "nodes"),
            _positive("node_count"),
            _of("exec_vnode", "nodes"),
            _of("node_spec", "nodes"),
            _of("select", "nodes"),
            _positive("nodect"),
        ),
        "gpus": pl.coalesce(
            _of("exec_vnode", "gpus"),
            _of("exec_gpus", "gpus"),
            "ngpus",
            _of("select", "gpus"),
            _of("node_spec", "gpus"),
            "site_gpus",
            "site_gpu",
        ),
        "requested_memory_bytes": pl.coalesce(
            "read_memory",
            _of("select", "memory_bytes"),
            _of("exec_vnode", "memory_bytes"),
            pl.when(each <= BYTES_MAX // procs).then(each * procs),
        ),
    }


def _marks(wholes: dict[str, pl.Expr]) -> dict[str, pl.Expr]:
    """What is remarkable about the values of a record."""
    unread = [pl.col(name).is_not_null() & number.is_null() for name, number in wholes.items()]
    unread += [
        pl.col(name).is_not_null() & pl.col(f"read_{name}").is_null()
        for name in READERS
        if name != "walltime"
    ]
    is_unlimited = pl.col("walltime").str.to_lowercase().is_in(UNLIMITED).fill_null(False)
    return {
        "is_malformed_value": pl.any_horizontal(unread),
        "is_odd_duration": pl.any_horizontal(
            pl.col(f"read_{name}").is_not_null() & ~pl.col(name).str.contains(WELL_FORMED)
            for name in DURATIONS
        ),
        "is_unlimited": is_unlimited,
        "is_invalid_limit": pl.col("walltime").is_not_null()
        & pl.col("read_walltime").is_null()
        & ~is_unlimited,
    }


def typed(records: pl.DataFrame, dialect: Dialect | None) -> pl.DataFrame:
    """Records with numbers for texts; what cannot be read is null and marks its record.

    `epoch_s` is when the event took place by an attribute of its own, null where none says. An instant of 0
    is an unknown one: PBS writes it so.
    """
    texts = records.with_columns(pl.when(pl.col(name) != "").then(name).alias(name) for name in ATTRIBUTES)
    wholes = {
        **{name: _whole(name, -TIME_MAX_S, TIME_MAX_S) for name in INSTANTS},
        **{name: _whole(name, 0, PROCS_MAX) for name in COUNTS},
        "exit_status": _whole("exit_status", -EXIT_MAX, EXIT_MAX),
    }
    kind = pl.col("kind")
    hosts = partial(specs.exec_host, is_counted=dialect is Dialect.TORQUE_COUNTS)
    return (
        texts.with_columns(
            *(
                _counted(texts[name], reader).alias(name)
                for name, reader in (SPECS | {"exec_host": hosts}).items()
            ),
            *(_read(texts[name], *reader).alias(f"read_{name}") for name, reader in READERS.items()),
            is_pbs_pro=texts["exec_vnode"].is_not_null() | texts["run_count"].is_not_null()
            if dialect is None
            else pl.lit(dialect is Dialect.PBS_PRO),
        )
        .with_columns(
            **wholes,
            **_marks(wholes),
            account=pl.coalesce("account", pl.col("project").replace(DEFAULT_PROJECT, None)),
        )
        .with_columns(
            *(_positive(name).alias(name) for name in INSTANTS),
            **_sizes(),
            **{name: pl.col(f"read_{name}") for name in ("used_walltime", "used_cput", "used_memory")},
            limit_s=(pl.col("read_walltime") + 0.5).floor().cast(pl.Int64),
        )
        .with_columns(
            epoch_s=pl.when(kind.is_in((STARTED, RESTARTED)))
            .then("start")
            .when(kind.is_in((ENDED, RERUN)))
            .then("end")
            .when(kind == QUEUED)
            .then("qtime")
        )
        .select(KEPT)
    )
