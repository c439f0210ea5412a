"""What each SWF field becomes, and which rows carry which flag."""

from pathlib import Path

import pytest

from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RequestKind
from hpcopt_assets_tests.ingest.helpers import flags, line, read_text

CLEAN = {"submit": 100, "wait": 5, "run": 50, "requested": 4, "allocated": 4, "requested_time": 60}
FLAGGED: list[tuple[str, list[QualityFlag]]] = [
    (line(**CLEAN), []),
    (line(**CLEAN) + " 7 8", [QualityFlag.EXTRA_FIELDS]),
    (line(**CLEAN) + " a name, that; holds anything", [QualityFlag.EXTRA_FIELDS]),
    (line(**CLEAN | {"run": "50.2"}), [QualityFlag.FRACTIONAL_TIME]),
    (line(**CLEAN | {"run": "50.0", "cpu": "1.25"}), []),
    (line(**CLEAN | {"run": 61}), [QualityFlag.RUNTIME_OVER_REQUEST]),
    (line(**CLEAN | {"run": 60}), []),
    (
        line(**CLEAN | {"requested_time": 0}),
        [QualityFlag.RUNTIME_OVER_REQUEST, QualityFlag.ZERO_REQUEST],
    ),
    (line(**CLEAN | {"allocated": 8}), [QualityFlag.ALLOCATED_DIFFERS]),
    (line(**CLEAN | {"allocated": -1}), []),
    (line(**CLEAN | {"requested": -1}), [QualityFlag.PROCS_FROM_ALLOCATION]),
    (line(**CLEAN | {"requested": 0}), [QualityFlag.PROCS_FROM_ALLOCATION]),
    (line(**CLEAN | {"requested": 0, "allocated": 0}), []),
    (line(**CLEAN | {"preceding": 99}), [QualityFlag.DANGLING_PREDECESSOR]),
    (line(**CLEAN | {"status": 2}), [QualityFlag.UNKNOWN_STATUS]),
    (line(**CLEAN | {"status": 3}), []),
    (line(**CLEAN | {"status": 4}), []),
    (line(**CLEAN | {"status": 17}), [QualityFlag.UNKNOWN_STATUS]),
    (line(**CLEAN | {"status": -1}), []),
    (line(**CLEAN | {"job": 2, "submit": 99}), [QualityFlag.OUT_OF_ORDER]),
]


@pytest.mark.parametrize(("text", "expected"), FLAGGED)
def test_flags_of_a_row(text: str, expected: list[QualityFlag], tmp_path: Path):
    before = line(**CLEAN | {"job": 1000})
    found = read_text(before + "\n" + text, tmp_path)
    (job_id,) = set(found.jobs["job_id"]) - {"1000"}
    assert set(flags(found)[job_id]) == set(expected)
    assert len(flags(found)[job_id]) == len(expected)
    assert flags(found)["1000"] == []


def test_every_flag_of_a_line_is_reached():
    assert {flag for _, expected in FLAGGED for flag in expected} == {
        QualityFlag.EXTRA_FIELDS,
        QualityFlag.FRACTIONAL_TIME,
        QualityFlag.OUT_OF_ORDER,
        QualityFlag.RUNTIME_OVER_REQUEST,
        QualityFlag.ZERO_REQUEST,
        QualityFlag.ALLOCATED_DIFFERS,
        QualityFlag.DANGLING_PREDECESSOR,
        QualityFlag.PROCS_FROM_ALLOCATION,
        QualityFlag.UNKNOWN_STATUS,
    }  # of several lines: PARTS_SUMMED; the others are of formats that say more of a job


def test_all_fields_of_one_line(tmp_path: Path):
    text = """; UnixStartTime: 1000000
1 100 5 50 4 2.5 1024 8 60 2048 1 3 7 12 0 2 -1 -1
2 200 0 50 4 2.5 1024 8 60 2048 0 0 0 0 1 0 1 30
"""
    found = read_text(text, tmp_path)
    first, second = found.jobs.rows(named=True)
    assert first == {
        "trace_id": "made",
        "job_id": "1",
        "source_file": "made.swf",
        "source_line": 2,
        "submit_s": 1000100,
        "eligible_s": None,
        "start_s": 1000105,
        "end_s": 1000155,
        "wait_s": 5,
        "runtime_s": 50,
        "release_s": 1000100,
        "hold_s": 0,
        "requested_runtime_s": 60,
        "requested_runtime_kind": RequestKind.LIMIT,
        "partition_limit_s": None,
        "procs": 8,
        "requested_procs": 8,
        "allocated_procs": 4,
        "nodes": None,
        "gpus": None,
        "requested_memory_bytes": 2048 * 1024 * 8,
        "used_memory_bytes": 1024 * 1024 * 4,
        "cpu_used_s": 10.0,
        "state": JobState.COMPLETED,
        "attempt": 1,
        "attempt_count": 1,
        "user": "3",
        "group": "7",
        "account": None,
        "queue": "0",
        "partition": "2",
        "name": "12",
        "array_job_id": None,
        "het_group_id": None,
        "preceding_job_id": None,
        "think_time_s": None,
        "quality_flags": ["allocated_differs"],
    }
    names = ["preceding_job_id", "think_time_s", "state", "user", "partition", "name"]
    assert [second[name] for name in names] == ["1", 30, JobState.FAILED, "0", "0", "0"]


def test_the_registrys_limit_of_a_partition_or_of_a_queue_where_there_is_none(tmp_path: Path):
    lines = [
        line(job=1, partition=2, queue=7, requested_time=50),
        line(job=2, partition=3, queue=7),
        line(job=3, queue=7),
        line(job=4),
    ]
    jobs = read_text("\n".join(lines), tmp_path, max_runtime_s={"2": 3600, "7": 60}).jobs
    assert jobs["partition_limit_s"].to_list() == [3600, None, 60, None]
    assert jobs["requested_runtime_s"].to_list() == [50, None, None, None]


def test_times_are_rounded_to_the_nearest_second(tmp_path: Path):
    text = "1 10.5 0.4 0.49 1 0.25 -1 1 1e2 -1 1 -1 -1 -1 -1 -1 -1 .5"
    job = read_text(text, tmp_path, format="swf").jobs.row(0, named=True)
    times = ("submit_s", "wait_s", "runtime_s", "requested_runtime_s", "think_time_s")
    assert [job[name] for name in times] == [11, 0, 0, 100, 1]
    assert job["cpu_used_s"] == 0.25


def test_the_largest_times_stay_within_the_contract(tmp_path: Path):
    most = 2**38
    text = f"; UnixStartTime: {most}\n" + line(submit=most, wait=most, run=most)
    assert read_text(text, tmp_path).jobs["end_s"].item() == 2**40


def test_memory_counts_for_the_processors_that_are_known(tmp_path: Path):
    text = "\n".join(
        [
            line(job=1, used_memory=1, requested_memory=2, cpu=3, requested=5),
            line(job=2, used_memory=1, requested_memory=2, cpu=3, allocated=7),
            line(job=3, used_memory=1, requested_memory=2, cpu=3),
            line(job=4, used_memory="0.7", allocated=1),
        ]
    )
    jobs = read_text(text, tmp_path).jobs
    assert jobs["used_memory_bytes"].to_list() == [5 * 1024, 7 * 1024, None, 717]
    assert jobs["requested_memory_bytes"].to_list() == [10 * 1024, 14 * 1024, None, None]
    assert jobs["cpu_used_s"].to_list() == [15.0, 21.0, None, None]


def test_jobs_come_in_order_of_release_then_of_their_numbers(tmp_path: Path):
    text = "\n".join(
        line(job=job, submit=submit) for job, submit in ((10, 5), (9, 5), (100, 5), (1, 9), (2, 0))
    )
    found = read_text(text, tmp_path)
    assert found.jobs["job_id"].to_list() == ["2", "9", "10", "100", "1"]
    assert found.jobs["source_line"].to_list() == [5, 2, 1, 3, 4]
    assert [job for job, flag in flags(found).items() if "out_of_order" in flag] == ["2"]
