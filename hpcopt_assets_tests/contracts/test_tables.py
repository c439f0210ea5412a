"""One definition a column: what pandera judges, what a rule says, and that lazy frames are refused."""

from __future__ import annotations

import polars as pl
import pytest

from hpcopt_assets.contracts.columns import DType, Table
from hpcopt_assets.contracts.errors import ContractError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE, TABLES, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets_tests.builders import trace

UNITS = {"_s": "s", "_bytes": "bytes", "_ratio": "ratio", "_per_hour": "jobs/h"}
PUBLISHED = {"l1_failed"}
# Named by the data set that placement_snapshots is to stand beside.


def jobs() -> pl.DataFrame:
    return trace([(1, 0, 1, 10), (2, 5, 2, 20, 30)])


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_an_empty_frame_fits_and_a_foreign_or_missing_column_does_not(table: Table) -> None:
    validate(table, table.empty())
    with pytest.raises(ContractError, match="foreign"):
        table.shape(table.empty().with_columns(foreign=pl.lit(1)))
    with pytest.raises(ContractError, match=table.names[-1]):
        table.shape(table.empty().drop(table.names[-1]))


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_names_end_in_their_unit_and_numbers_have_bounds(table: Table) -> None:
    for column in table.columns:
        assert column.means, column.name
        for ending, unit in UNITS.items():
            if column.name.endswith(ending):
                assert column.unit is not None, column.name
                assert column.unit.startswith(unit), column.name
        if column.dtype is DType.BOOL:
            assert column.name.startswith(("is_", "has_")) or column.name in PUBLISHED, column.name
        if column.dtype is DType.INT64:
            assert column.hi is not None, column.name


def broken(**values: object) -> pl.DataFrame:
    """The good frame with values of its first row replaced."""
    good = jobs()
    first = pl.int_range(pl.len()) == 0
    return good.with_columns(
        **{
            name: pl.when(first).then(pl.lit(value, dtype=good.schema[name])).otherwise(pl.col(name))
            for name, value in values.items()
        }
    )


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"runtime_s": -5}, "runtime_s"),
        ({"procs": 0, "requested_procs": 0}, "procs"),
        ({"procs": 2**24 + 1, "requested_procs": 2**24 + 1}, "procs"),
        ({"state": "FROBBED"}, "state"),
        ({"job_id": None}, "job_id"),
        ({"hold_s": 3}, "hold_is_release_minus_submit"),
        ({"requested_runtime_kind": "unknown"}, "request_has_its_kind"),
        ({"quality_flags": ["no_such_flag"]}, "quality_flags_in_vocabulary"),
        ({"procs": 3}, "procs_is_requested_else_allocated"),
    ],
)
def test_a_bad_value_is_named(values: dict[str, object], named: str) -> None:
    validate(TRACE_JOBS, jobs())
    with pytest.raises(ContractError, match=named):
        validate(TRACE_JOBS, broken(**values))


def test_exactly_the_bad_row_is_reported_and_the_null_one_kept() -> None:
    with pytest.raises(ContractError, match=r"^table trace_jobs: 1 failures"):
        validate(TRACE_JOBS, broken(used_memory_bytes=-5))
    validate(TRACE_JOBS, broken(used_memory_bytes=None))


def test_a_job_twice_is_refused() -> None:
    with pytest.raises(ContractError, match="uniqueness"):
        validate(TRACE_JOBS, pl.concat([jobs(), jobs()]))


def test_a_lazy_frame_is_refused_since_its_values_would_pass() -> None:
    with pytest.raises(TypeError, match="LazyFrame"):
        validate(TRACE_JOBS, broken(runtime_s=-5).lazy())  # type: ignore[arg-type]


def test_a_column_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(ContractError, match="source_line"):
        validate(TRACE_REJECTS, TRACE_REJECTS.empty().with_columns(pl.col("source_line").cast(pl.Float64)))


def test_a_schedule_row_either_starts_or_says_why_not() -> None:
    row = dict.fromkeys(REPLAY_SCHEDULE.names) | {
        "trace_id": "t", "policy": "p", "job_id": "1", "attempt": 1, "submit_s": 0, "release_s": 0,
    }  # fmt: skip
    frame = pl.DataFrame([row], schema=REPLAY_SCHEDULE.polars_schema())
    with pytest.raises(ContractError, match="started_or_left_out"):
        validate(REPLAY_SCHEDULE, frame)
    validate(REPLAY_SCHEDULE, frame.with_columns(left_out=pl.lit("never_started")))
