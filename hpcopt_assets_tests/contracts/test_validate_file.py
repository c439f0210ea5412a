"""A file is judged as a frame is, part by part: values, rules, types, and the key over the whole of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.contracts import schemas
from hpcopt_assets.contracts.errors import ContractError
from hpcopt_assets.contracts.schemas import validate, validate_file
from hpcopt_assets.contracts.tables import INGEST_REPORT, TRACE_JOBS
from hpcopt_assets.contracts.unique import Tally, hashes_of, is_among
from hpcopt_assets_tests.builders import trace

ROWS = 100


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "CHUNK_ROWS", 30)


def jobs(count: int = ROWS) -> pl.DataFrame:
    return trace([(k, k, 1, 10) for k in range(count)])


def stored(frame: pl.DataFrame, folder: Path) -> Path:
    path = folder / "part.parquet"
    frame.write_parquet(path, row_group_size=10)
    return path


def with_value(row: int, **values: object) -> pl.DataFrame:
    """Good jobs but for one row."""
    good = jobs()
    is_row = pl.int_range(pl.len()) == row
    return good.with_columns(
        **{
            name: pl.when(is_row).then(pl.lit(value, dtype=good.schema[name])).otherwise(pl.col(name))
            for name, value in values.items()
        }
    )


def complaint(frame: pl.DataFrame, folder: Path) -> str:
    with pytest.raises(ContractError) as raised:
        validate_file(TRACE_JOBS, stored(frame, folder))
    return str(raised.value)


@pytest.mark.parametrize("count", [0, 1, 29, 30, ROWS])
def test_a_good_file_passes(tmp_path: Path, count: int) -> None:
    validate_file(TRACE_JOBS, stored(jobs(count), tmp_path))


@pytest.mark.parametrize(
    "values",
    [
        {"runtime_s": -5},
        {"state": "FROBBED"},
        {"hold_s": 3},
        {"quality_flags": ["no_such_flag"]},
        {"job_id": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("row", [0, 45, ROWS - 1])
def test_a_bad_value_anywhere_is_told_as_of_a_frame(
    tmp_path: Path, row: int, values: dict[str, object]
) -> None:
    frame = with_value(row, **values)
    with pytest.raises(ContractError) as raised:
        validate(TRACE_JOBS, frame)
    assert complaint(frame, tmp_path) == str(raised.value)


def test_failures_are_counted_over_the_whole_file(tmp_path: Path) -> None:
    bad = jobs().with_columns(used_memory_bytes=pl.lit(-1, dtype=pl.Int64))
    assert complaint(bad, tmp_path).startswith(f"table trace_jobs: {ROWS} failures: used_memory_bytes")
    assert complaint(bad, tmp_path).count("used_memory_bytes") == schemas.FAILURES_SHOWN


def test_a_key_that_stands_twice_is_found_across_the_file(tmp_path: Path) -> None:
    first_again = pl.concat([jobs(), jobs().head(1)])
    assert "trace_id, job_id, attempt: uniqueness (found made, 0, 1 2 times)" in complaint(
        first_again, tmp_path
    )
    validate_file(
        TRACE_JOBS,
        stored(pl.concat([jobs(), jobs().head(1).with_columns(attempt=pl.lit(2, dtype=pl.Int64))]), tmp_path),
    )


def test_every_repeated_key_counts_once(tmp_path: Path) -> None:
    assert complaint(pl.concat([jobs(), jobs(), jobs().head(3)]), tmp_path).startswith(
        f"table trace_jobs: {ROWS} failures"
    )


def test_keys_whose_hashes_collide_are_no_duplicates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "hashes_of", lambda keys: np.zeros(keys.height, dtype=np.uint64))
    monkeypatch.setattr(
        "hpcopt_assets.contracts.unique.hashes_of", lambda keys: np.zeros(keys.height, dtype=np.uint64)
    )
    validate_file(TRACE_JOBS, stored(jobs(), tmp_path))
    assert "1 failures" in complaint(pl.concat([jobs(), jobs().tail(1)]), tmp_path)


def test_a_missing_column_or_a_wrong_type_is_told(tmp_path: Path) -> None:
    assert "state" in complaint(jobs().drop("state"), tmp_path)
    assert "attempt" in complaint(jobs().drop("attempt"), tmp_path)
    assert "procs" in complaint(jobs().with_columns(pl.col("procs").cast(pl.Float64)), tmp_path)


def test_tables_of_one_row_group_are_judged_too(tmp_path: Path) -> None:
    path = tmp_path / "report.parquet"
    INGEST_REPORT.empty().write_parquet(path)
    validate_file(INGEST_REPORT, path)


pieces = st.lists(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab")), max_size=6), max_size=5)


@given(pieces=pieces)
def test_a_tally_finds_exactly_what_is_repeated(pieces: list[list[tuple[int, str]]]) -> None:
    frames = [pl.DataFrame(rows, schema={"k": pl.Int64, "w": pl.String}, orient="row") for rows in pieces]
    keys = [row for rows in pieces for row in rows]
    tally = Tally(len(keys))
    for frame in frames:
        tally.add(frame)
    repeated = tally.repeated()
    for frame, rows in zip(frames, pieces, strict=True):
        assert is_among(hashes_of(frame), repeated).tolist() == [keys.count(row) > 1 for row in rows]
