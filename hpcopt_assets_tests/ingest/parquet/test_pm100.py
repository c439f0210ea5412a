"""Marconi100's jobs: limits in minutes, runtimes in seconds, expected times, two spellings, Slurm's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode, RequestKind
from hpcopt_assets.ingest.parquet.pm100 import read_pm100
from hpcopt_assets_tests.ingest.parquet.helpers import (
    PM100_SCHEMA,
    T0,
    codes,
    jobs_of,
    one,
    parse,
    pm100,
    utc,
    write,
)

INFINITE = 2**32 - 1
NO_VAL = 2**32 - 2


def job(folder: Path, types: dict[str, Any] | None = None, /, **columns: Any) -> dict[str, Any]:
    """How a row with these columns is read."""
    return one(read_pm100, write(folder / "a.parquet", [pm100(**columns)], PM100_SCHEMA, **(types or {})))


def test_the_limit_is_in_minutes_and_the_runtime_in_seconds(tmp_path: Path) -> None:
    row = job(tmp_path, run=86_500, time_limit=1440, job_state="TIMEOUT")
    assert (row["requested_runtime_s"], row["requested_runtime_kind"]) == (86_400, RequestKind.LIMIT)
    assert row["runtime_s"] - row["requested_runtime_s"] == 100
    assert (row["state"], row["procs"], row["nodes"]) == (JobState.TIMEOUT, 128, 1)
    assert row["quality_flags"] == [QualityFlag.RUNTIME_OVER_REQUEST]


def test_an_infinite_limit_is_no_number_of_seconds(tmp_path: Path) -> None:
    row = job(tmp_path, run=60, time_limit=INFINITE)
    assert (row["requested_runtime_s"], row["requested_runtime_kind"]) == (None, RequestKind.UNLIMITED)
    assert row["runtime_s"] == 60


@pytest.mark.parametrize(
    ("limit", "dtype", "seconds", "kind", "is_flagged"),
    [
        (float(INFINITE), pl.Float64, None, RequestKind.UNLIMITED, False),
        (INFINITE, pl.UInt32, None, RequestKind.UNLIMITED, False),
        ("INFINITE", pl.String, None, RequestKind.UNLIMITED, False),
        ("UNLIMITED", pl.String, None, RequestKind.UNLIMITED, False),
        ("4294967295", pl.String, None, RequestKind.UNLIMITED, False),
        (2**31 - 1, pl.Int32, None, RequestKind.UNLIMITED, False),
        (NO_VAL, pl.Int64, None, RequestKind.PARTITION_LIMIT, False),
        ("Partition_Limit", pl.String, None, RequestKind.PARTITION_LIMIT, False),
        (None, pl.Int64, None, RequestKind.UNKNOWN, False),
        (float("nan"), pl.Float64, None, RequestKind.UNKNOWN, False),
        ("", pl.String, None, RequestKind.UNKNOWN, False),
        ("30", pl.String, 1800, RequestKind.LIMIT, False),
        (1440.0, pl.Float64, 86_400, RequestKind.LIMIT, False),
        (0, pl.Int64, 0, RequestKind.LIMIT, False),
        (-1, pl.Int64, None, RequestKind.UNKNOWN, True),
        ("soon", pl.String, None, RequestKind.UNKNOWN, True),
        (10**15, pl.Int64, None, RequestKind.UNKNOWN, True),
    ],
)
def test_limits_of_all_spellings(
    tmp_path: Path, limit: Any, dtype: Any, seconds: int | None, kind: RequestKind, *, is_flagged: bool
) -> None:
    row = job(tmp_path, {"time_limit": dtype}, time_limit=limit)
    assert (row["requested_runtime_s"], row["requested_runtime_kind"]) == (seconds, kind)
    assert (QualityFlag.INVALID_LIMIT in row["quality_flags"]) == is_flagged


def test_both_spellings_of_the_columns_give_the_same_jobs(tmp_path: Path) -> None:
    renamed = {"num_cores_req": "num_cpus_req", "num_cores_alloc": "num_cpus_alloc"}
    new = write(tmp_path / "a.parquet", [pm100()], PM100_SCHEMA)
    (tmp_path / "old").mkdir()
    old = tmp_path / "old" / "a.parquet"
    pl.read_parquet(new).rename(renamed).write_parquet(old)
    assert jobs_of(parse(read_pm100, old)).equals(jobs_of(parse(read_pm100, new)))


def test_a_file_of_each_revision_makes_one_trace(tmp_path: Path) -> None:
    new = write(tmp_path / "b.parquet", [pm100(2)], PM100_SCHEMA)
    old = tmp_path / "a.parquet"
    pl.read_parquet(write(tmp_path / "x.parquet", [pm100(1)], PM100_SCHEMA)).rename(
        {"num_cores_alloc": "num_cpus_alloc"}
    ).drop("num_cores_req").write_parquet(old)
    jobs = jobs_of(parse(read_pm100, new, old))
    assert jobs.select("job_id", "source_file", "procs").rows() == [
        ("1", "a.parquet", 128),
        ("2", "b.parquet", 128),
    ]


@pytest.mark.parametrize(
    ("column", "named"),
    [
        ("num_cores_alloc", "num_cores_alloc or num_cpus_alloc or num_cpus"),
        ("time_limit", "time_limit"),
        ("job_state", "job_state"),
        ("submit_time", "submit_time"),
    ],
)
def test_a_missing_column_is_named(tmp_path: Path, column: str, named: str) -> None:
    path = write(tmp_path / "a.parquet", [pm100()], PM100_SCHEMA, **{column: None})
    with pytest.raises(TraceError, match=f"no column {named} among"):
        parse(read_pm100, path)


@pytest.mark.parametrize(
    "column", ["eligible_time", "end_time", "num_cores_req", "num_gpus_alloc", "mem_req", "user_id"]
)
def test_columns_that_a_job_can_do_without_may_be_absent(tmp_path: Path, column: str) -> None:
    row = job(tmp_path, {column: None})
    assert row["runtime_s"] == 100
    assert row["end_s"] == row["start_s"] + 100
    assert QualityFlag.ELIGIBLE_UNKNOWN not in row["quality_flags"]


def test_expected_times_of_unfinished_jobs_are_no_facts(tmp_path: Path) -> None:
    rows = [
        pm100(1, job_state="PENDING", wait=500, run=3600, run_time=0, num_cores_alloc=0),
        pm100(2, job_state="RUNNING", run=3600, run_time=2700),
    ]
    pending, running = jobs_of(parse(read_pm100, write(tmp_path / "a.parquet", rows, PM100_SCHEMA))).rows(
        named=True
    )
    for name in ("start_s", "end_s", "runtime_s", "wait_s"):
        assert pending[name] is None, name
    assert (running["start_s"], running["end_s"], running["runtime_s"]) == (T0 + 5, None, 2700)
    assert pending["procs"] == 128
    for row in (pending, running):
        assert row["quality_flags"] == [QualityFlag.UNFINISHED]


def test_expected_times_are_not_judged(tmp_path: Path) -> None:
    assert job(tmp_path, job_state="PENDING", wait=-50)["start_s"] is None
    assert job(tmp_path, job_state="RUNNING", end_time=utc(T0))["runtime_s"] == 100
    assert job(tmp_path, job_state="RUNNING", run_time=None)["runtime_s"] is None


def test_the_runtime_is_checked_against_start_and_end(tmp_path: Path) -> None:
    for run_time, is_flagged in ((100, False), (101, False), (103, True), (40, True)):
        row = job(tmp_path, run=100, run_time=run_time)
        assert row["runtime_s"] == run_time
        assert row["end_s"] == row["start_s"] + run_time
        assert (QualityFlag.ELAPSED_DIFFERS in row["quality_flags"]) == is_flagged


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("COMPLETED", JobState.COMPLETED),
        ("FAILED", JobState.FAILED),
        ("CANCELLED", JobState.CANCELLED),
        ("CANCELLED by 1234", JobState.CANCELLED),
        ("TIMEOUT", JobState.TIMEOUT),
        ("NODE_FAIL", JobState.NODE_FAIL),
        ("OUT_OF_MEMORY", JobState.OUT_OF_MEMORY),
        ("PREEMPTED", JobState.PREEMPTED),
        ("completed", JobState.COMPLETED),
        ("FROBBED", JobState.UNKNOWN),
        (None, JobState.UNKNOWN),
    ],
)
def test_states_are_slurms_words(tmp_path: Path, word: str | None, state: JobState) -> None:
    row = job(tmp_path, job_state=word)
    assert row["state"] == state
    assert (QualityFlag.UNKNOWN_STATUS in row["quality_flags"]) == (state is JobState.UNKNOWN)
    assert row["runtime_s"] == 100


def test_a_job_cancelled_while_it_waited_never_started(tmp_path: Path) -> None:
    waited = job(tmp_path, job_state="CANCELLED", run=0, num_cores_alloc=0, num_nodes_alloc=0)
    assert (waited["start_s"], waited["end_s"], waited["runtime_s"]) == (None, None, None)
    assert waited["procs"] == 128
    ran = job(tmp_path, job_state="CANCELLED", run=0)
    assert (ran["start_s"], ran["runtime_s"]) == (T0 + 5, 0)


def test_unset_times_are_unknown_and_never_1970(tmp_path: Path) -> None:
    row = job(
        tmp_path, eligible_time=utc(0), start_time=utc(0), end_time=utc(0), run_time=0, job_state="FAILED"
    )
    assert (row["eligible_s"], row["start_s"], row["end_s"], row["runtime_s"]) == (None, None, None, None)
    assert row["release_s"] == row["submit_s"]
    assert QualityFlag.ELIGIBLE_UNKNOWN in row["quality_flags"]
    assert job(tmp_path, eligible_time=utc(INFINITE))["eligible_s"] is None


def test_hold_and_wait_are_told_apart(tmp_path: Path) -> None:
    row = job(tmp_path, eligible_time=utc(T0 + 7200), wait=7500, run=3600)
    assert (row["hold_s"], row["wait_s"], row["release_s"]) == (7200, 300, T0 + 7200)


def test_memory_gpus_and_names(tmp_path: Path) -> None:
    row = job(tmp_path, mem_req=475, mem_alloc=3800, num_gpus_req=4, num_gpus_alloc=64)
    assert row["requested_memory_bytes"] == 475 * 2**30
    assert (row["gpus"], row["user"], row["group"], row["partition"]) == (64, "310", "25200", "1")
    assert row["name"] is None  # nothing in the log names a job
    assert job(tmp_path, num_gpus_req=0, num_gpus_alloc=0)["gpus"] == 0
    assert job(tmp_path, num_gpus_req=4, num_gpus_alloc=0)["gpus"] == 4
    assert job(tmp_path)["gpus"] is None
    assert job(tmp_path, mem_req=0)["requested_memory_bytes"] is None
    assert job(tmp_path, {"user_id": pl.Float64}, user_id=310.0)["user"] == "310"


def test_processors_of_0_are_unknown(tmp_path: Path) -> None:
    row = job(tmp_path, num_cores_req=0)
    assert (row["requested_procs"], row["allocated_procs"], row["procs"]) == (None, 128, 128)
    assert QualityFlag.PROCS_FROM_ALLOCATION in row["quality_flags"]
    row = job(tmp_path, num_cores_req=64)
    assert (row["procs"], row["allocated_procs"]) == (64, 128)
    assert QualityFlag.ALLOCATED_DIFFERS in row["quality_flags"]


@pytest.mark.parametrize(
    ("columns", "code", "reason"),
    [
        ({"submit_time": None}, RejectCode.NO_SUBMIT_TIME, "submit_time is missing"),
        ({"submit_time": utc(0)}, RejectCode.NO_SUBMIT_TIME, "submit_time is 1970-01-01"),
        ({"job_id": None}, RejectCode.NO_JOB_ID, "job_id is missing"),
        ({"run_time": -30}, RejectCode.NEGATIVE_RUNTIME, "run_time is -30"),
        ({"wait": -12}, RejectCode.NEGATIVE_WAIT, "start_time is 2020-09-13 12:26:28"),
        ({"end_time": utc(T0)}, RejectCode.NEGATIVE_RUNTIME, "an end not before the start needed"),
        ({"num_cores_alloc": -4}, RejectCode.NEGATIVE_VALUE, "num_cores_alloc is -4"),
        ({"num_cores_alloc": 2**24 + 1}, RejectCode.OUT_OF_RANGE, "from 0 to 16777216 needed"),
        ({"run_time": 2**39}, RejectCode.OUT_OF_RANGE, "run_time is 549755813888"),
    ],
    ids=str,
)
def test_a_bad_value_costs_its_own_row(
    tmp_path: Path, columns: dict[str, Any], code: RejectCode, reason: str
) -> None:
    rows = [pm100(1), pm100(2, **columns), pm100(3)]
    parsed = parse(read_pm100, write(tmp_path / "a.parquet", rows, PM100_SCHEMA))
    assert codes(parsed.refused) == {2: code}
    assert reason in parsed.refused[0].reason
    assert parsed.refused[0].text.startswith("job_id=")
    assert len(parsed.refused[0].text) <= 200
    assert jobs_of(parsed)["job_id"].to_list() == ["1", "3"]


def test_unset_counts_are_unknown(tmp_path: Path) -> None:
    row = job(tmp_path, num_nodes_alloc=NO_VAL, num_cores_req=INFINITE)
    assert (row["nodes"], row["procs"], row["requested_procs"]) == (1, 128, None)


def test_the_published_row(test_data: Path) -> None:
    row = one(read_pm100, test_data / "traces" / "parquet" / "PM100_schema_1realrow.parquet")
    assert (row["job_id"], row["nodes"], row["gpus"]) == ("2913594", 16, 64)
    assert (row["runtime_s"], row["wait_s"], row["requested_runtime_s"]) == (723, 1, 270 * 60)
    assert (row["requested_procs"], row["allocated_procs"], row["state"]) == (256, 2048, JobState.CANCELLED)
    assert set(row) == set(TRACE_JOBS.names)
