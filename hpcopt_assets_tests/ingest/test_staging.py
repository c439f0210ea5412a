"""Jobs in any order become the same file, whether they fit into memory or are merged from runs."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.schemas import validate, validate_file
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.ingest import staging
from hpcopt_assets.ingest.staging import write_sorted
from hpcopt_assets_tests.builders import job

ROOMY = 500_000_000
TIGHT = 40_000
# Of which an eighth is held: some 20 jobs.


def jobs_of(rows: list[tuple[str, int, int]]) -> pl.DataFrame:
    """Jobs of (id, submit, hold), in that order."""
    made = [
        job(
            job_id,
            submit_s,
            1 + submit_s % 5,
            10,
            wait_s=submit_s % 7,
            eligible_s=submit_s + hold_s,
            source_line=line,
            trace_id="made",
            user=f"u{submit_s % 3}" if submit_s % 4 else None,
            quality_flags=["zero_request"] if submit_s % 2 else [],
        )
        for line, (job_id, submit_s, hold_s) in enumerate(rows, start=1)
    ]
    return TRACE_JOBS.shape(pl.DataFrame(made, schema=TRACE_JOBS.polars_schema()))


def written(
    jobs: pl.DataFrame | pl.LazyFrame, folder: Path, memory_bytes: int = ROOMY
) -> tuple[str, pl.DataFrame]:
    target = folder / "trace_jobs.parquet"
    rows = write_sorted(jobs.lazy(), target, memory_bytes=memory_bytes)
    assert list(folder.iterdir()) == [target], "something was left beside the target"
    frame = pl.read_parquet(target, hive_partitioning=False, glob=False)
    assert frame.height == rows
    return hashlib.sha256(target.read_bytes()).hexdigest(), frame


def many(count: int) -> pl.DataFrame:
    """Jobs that often share a release and a submission, with ids of several kinds."""
    return jobs_of(
        [(f"{k}" if k % 3 else f"{k}[{k % 11}].srv", (k * 7) % 50 // 10 * 10, k % 3) for k in range(count)]
    )


def test_rows_come_in_the_order_of_the_table(tmp_path: Path) -> None:
    jobs = jobs_of(
        [("10", 5, 0), ("9", 5, 0), ("7", 0, 9), ("8", 4, 5), ("10_2", 5, 0), ("6", 9, 0), ("1", 50, 0)]
    )
    _, found = written(jobs, tmp_path)
    assert found["job_id"].to_list() == ["9", "10", "10_2", "7", "8", "6", "1"]
    assert found["release_s"].to_list() == [5, 5, 5, 9, 9, 9, 50]
    validate(TRACE_JOBS, found)


def test_attempts_of_one_job_follow_each_other(tmp_path: Path) -> None:
    jobs = jobs_of([("5", 1, 0), ("5", 1, 0), ("5", 1, 0)]).with_columns(
        attempt=pl.Series([3, 1, 2]), attempt_count=3
    )
    assert written(jobs, tmp_path)[1]["attempt"].to_list() == [1, 2, 3]


@pytest.mark.parametrize("memory_bytes", [ROOMY, TIGHT])
def test_the_bytes_do_not_depend_on_the_order_of_rows(tmp_path: Path, memory_bytes: int) -> None:
    jobs = many(300)
    digests = {
        written(jobs.sample(fraction=1, shuffle=True, seed=seed), tmp_path, memory_bytes)[0]
        for seed in range(4)
    }
    assert len(digests) == 1
    assert written(jobs.with_columns(pl.col("nodes").fill_null(1)), tmp_path, memory_bytes)[0] not in digests


def test_merging_runs_gives_the_same_bytes_as_sorting_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = many(2_000).sample(fraction=1, shuffle=True, seed=5)
    in_memory, frame = written(jobs, tmp_path)
    monkeypatch.setattr(staging, "BLOCK_ROWS", 16)
    monkeypatch.setattr(staging, "BATCH_ROWS", 64)
    runs: list[int] = []
    write_run = staging._write_run

    def counted(part: pl.DataFrame, path: Path) -> staging._Run:
        runs.append(part.height)
        return write_run(part, path)

    monkeypatch.setattr(staging, "_write_run", counted)
    merged, other = written(jobs, tmp_path, TIGHT)
    assert len(runs) > 5
    assert sum(runs) == 2_000
    assert other.equals(frame)
    assert merged == in_memory


def test_row_groups_are_of_fixed_size_however_the_rows_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "GROUP_ROWS", 128)
    monkeypatch.setattr(staging, "BLOCK_ROWS", 16)
    monkeypatch.setattr(staging, "BATCH_ROWS", 50)
    for memory_bytes in (ROOMY, TIGHT):
        written(many(300), tmp_path, memory_bytes)
        with pq.ParquetFile(tmp_path / "trace_jobs.parquet") as file:
            groups = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
        assert groups == [128, 128, 44]


def test_texts_are_dictionary_encoded_and_packed_and_types_are_the_contracts(tmp_path: Path) -> None:
    written(many(300), tmp_path)
    path = tmp_path / "trace_jobs.parquet"
    with pq.ParquetFile(path) as file:
        chunks = {
            chunk.path_in_schema: chunk
            for chunk in (file.metadata.row_group(0).column(k) for k in range(file.metadata.num_columns))
        }
    for name in ("trace_id", "user", "state", "quality_flags.list.element"):
        assert chunks[name].has_dictionary_page, name
    assert {chunk.compression for chunk in chunks.values()} == {"ZSTD"}
    assert pl.read_parquet_schema(path) == TRACE_JOBS.polars_schema()


def test_columns_without_any_value_keep_their_type(tmp_path: Path) -> None:
    """A month without GPUs must not turn `gpus` into a column of another type."""
    jobs = jobs_of([("1", 0, 0)]).with_columns(gpus=pl.lit(None))
    written(jobs.cast({"gpus": pl.Int64}), tmp_path)
    assert pl.read_parquet_schema(tmp_path / "trace_jobs.parquet")["gpus"] == pl.Int64


@pytest.mark.parametrize("memory_bytes", [ROOMY, 1])
def test_no_rows_make_an_empty_table(tmp_path: Path, memory_bytes: int) -> None:
    digest, found = written(TRACE_JOBS.empty(), tmp_path, memory_bytes)
    assert found.equals(TRACE_JOBS.empty())
    assert digest == written(jobs_of([("1", 0, 0)]).clear(), tmp_path)[0]
    validate_file(TRACE_JOBS, tmp_path / "trace_jobs.parquet")


def test_the_least_memory_still_sorts(tmp_path: Path) -> None:
    assert written(many(200), tmp_path, 1)[0] == written(many(200), tmp_path)[0]


def test_jobs_of_one_instant_are_merged_by_their_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "BLOCK_ROWS", 8)
    monkeypatch.setattr(staging, "BATCH_ROWS", 32)
    jobs = jobs_of([(str(k), 0, 0) for k in range(500)]).sample(fraction=1, shuffle=True, seed=2)
    assert written(jobs, tmp_path, TIGHT)[1]["job_id"].to_list() == [str(k) for k in range(500)]


def test_a_folder_with_brackets_in_its_name_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "trace=a[1]*?"
    folder.mkdir()
    assert written(many(200), folder, TIGHT)[1].height == 200


def test_a_target_is_replaced_only_by_a_complete_file(tmp_path: Path) -> None:
    before, _ = written(many(10), tmp_path)
    broken = (
        many(300)
        .lazy()
        .with_columns(procs=pl.col("procs").map_elements(lambda _: 1 // 0, return_dtype=pl.Int64))
    )
    with pytest.raises(Exception, match="division"):
        write_sorted(broken, tmp_path / "trace_jobs.parquet", memory_bytes=TIGHT)
    assert hashlib.sha256((tmp_path / "trace_jobs.parquet").read_bytes()).hexdigest() == before
    assert [path.name for path in tmp_path.iterdir()] == ["trace_jobs.parquet"]


rows = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 30).map(str), st.integers(0, 9).map(lambda k: f"3[{k}].srv")),
        st.integers(0, 3),
        st.integers(0, 2),
    ),
    unique_by=lambda row: row[0],
    max_size=25,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(data=rows, random=st.randoms(use_true_random=False))
def test_any_jobs_in_any_order_and_memory_make_one_file(
    tmp_path_factory: pytest.TempPathFactory, data: list[tuple[str, int, int]], random: object
) -> None:
    folder = tmp_path_factory.mktemp("staging")
    jobs = jobs_of(data)
    order = list(range(jobs.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    digest, found = written(jobs, folder)
    assert written(jobs[order], folder, 4_000)[0] == digest
    keys = list(zip(found["release_s"], found["submit_s"], strict=True))
    assert keys == sorted(keys)
    assert sorted(found["job_id"]) == sorted(job_id for job_id, *_ in data)
