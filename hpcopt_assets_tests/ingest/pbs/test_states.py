"""How attempts ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcopt_assets_tests.ingest.pbs.helpers import ended, only, parsed, read

PRO, TORQUE = "run_count=1", "owner=u@h"
HOUR = "Resource_List.walltime=01:00:00"


@pytest.mark.parametrize(
    ("attributes", "state"),
    [
        ("Exit_status=0", "COMPLETED"),
        ("Exit_status=1", "FAILED"),
        ("Exit_status=255", "FAILED"),
        ("Exit_status=265", "FAILED"),
        ("Exit_status=271", "CANCELLED"),
        (f"Exit_status=271 {HOUR} resources_used.walltime=00:01:00", "CANCELLED"),
        (f"Exit_status=271 {HOUR} resources_used.walltime=01:00:07", "TIMEOUT"),
        (f"Exit_status=265 {HOUR} resources_used.walltime=01:00:07", "TIMEOUT"),
        (f"Exit_status=0 {HOUR} resources_used.walltime=01:00:07", "COMPLETED"),
        ("Exit_status=-29", "FAILED"),
        (f"Exit_status=-29 {PRO}", "TIMEOUT"),
        (f"Exit_status=-11 {PRO}", "REQUEUED"),
        (f"Exit_status=-11 {TORQUE}", "TIMEOUT"),
        (f"Exit_status=-10 {TORQUE}", "OUT_OF_MEMORY"),
        (f"Exit_status=-10 {PRO}", "FAILED"),
        (f"Exit_status=-27 {PRO}", "OUT_OF_MEMORY"),
        (f"Exit_status=-20 {PRO}", "NODE_FAIL"),
        ("Exit_status=-4", "NODE_FAIL"),
        (f"Exit_status=-19 {PRO}", "CANCELLED"),
        ("Exit_status=-1", "FAILED"),
        ("Exit_status=strange", "UNKNOWN"),
        ("", "UNKNOWN"),
    ],
)
def test_exit_statuses(tmp_path: Path, attributes: str, state: str) -> None:
    assert only(read(ended(attributes), tmp_path))["state"] == state


def test_a_request_to_delete_makes_a_bad_end_a_cancelled_one(tmp_path: Path) -> None:
    request = "03/10/2024 11:59:59;D;1.srv;requestor=u1@h\n"
    assert only(read(request + ended("Exit_status=1"), tmp_path))["state"] == "CANCELLED"
    assert only(read(request + ended("Exit_status=0"), tmp_path))["state"] == "COMPLETED"


BASE = "user=u1 queue=q ctime=1710064800 qtime=1710064800 etime=1710064800"
QUEUED = f"03/10/2024 10:00:00;Q;1;{BASE}\n"
STARTED = f"03/10/2024 10:10:00;S;1;{BASE} start=1710065400\n"
DELETED = "03/10/2024 10:20:00;D;1;requestor=u1@h\n"
ABORTED = "03/10/2024 10:20:00;A;1;\n"
RERUN = "03/10/2024 10:30:00;R;1;\n"
MOVED = "03/10/2024 10:20:00;M;1;destination=q@other\n"


@pytest.mark.parametrize(
    ("log", "states"),
    [
        (QUEUED, ["PENDING"]),
        (QUEUED + DELETED, ["CANCELLED"]),
        (QUEUED + ABORTED, ["CANCELLED"]),
        (QUEUED + MOVED, ["UNKNOWN"]),
        (STARTED, ["RUNNING"]),
        (STARTED + DELETED, ["CANCELLED"]),
        (STARTED + ABORTED, ["FAILED"]),
        (STARTED + RERUN, ["REQUEUED"]),
        (STARTED + RERUN + DELETED.replace("10:20", "10:40"), ["REQUEUED", "CANCELLED"]),
        (STARTED + RERUN + DELETED.replace("10:20", "10:40") + QUEUED, ["REQUEUED", "CANCELLED"]),
    ],
)
def test_attempts_without_an_end_record(tmp_path: Path, log: str, states: list[str]) -> None:
    assert read(log, tmp_path)["state"].to_list() == states


def test_a_job_that_runs_has_no_end(tmp_path: Path) -> None:
    job = only(read(QUEUED + STARTED, tmp_path))
    assert (job["wait_s"], job["end_s"], job["runtime_s"]) == (600, None, None)
    assert job["quality_flags"] == ["no_end_record", "unfinished"]


def test_a_rerun_record_without_attributes_ends_at_its_own_time(tmp_path: Path) -> None:
    job = only(read(STARTED + RERUN, tmp_path))
    assert (job["end_s"], job["runtime_s"]) == (1710066600, 1200)


def test_failed_starts_are_of_one_attempt(tmp_path: Path) -> None:
    early = STARTED.replace("10:10:00", "10:05:00").replace("start=1710065400", "start=1710065100")
    found = parsed(
        early + STARTED + ended("Exit_status=0", "1").replace("start=1710068400", "start=1710065400"),
        tmp_path,
    )
    assert found.records.collect()["start_s"].to_list() == [1710065400]
    assert found.facts["failed_starts"] == 1


def test_of_several_starts_the_last_counts(tmp_path: Path) -> None:
    early = STARTED.replace("10:10:00", "10:05:00").replace(
        "start=1710065400", "start=1710065100 exec_host=n1/0*4"
    )
    late = STARTED.replace("start=1710065400", "start=1710065400 exec_host=n2/0*8")
    job = only(read(early + late, tmp_path))
    assert (job["start_s"], job["allocated_procs"]) == (1710065400, 8)


def test_a_rerun_within_a_second_is_no_failed_start(tmp_path: Path) -> None:
    at_once = STARTED.replace(";S;", ";R;").replace("start=1710065400", "start=1710065400 end=1710065400")
    again = STARTED.replace("10:10:00", "10:20:00").replace("start=1710065400", "start=1710066000")
    found = parsed(STARTED + at_once + again, tmp_path)
    assert found.records.collect().sort("attempt")["state"].to_list() == ["REQUEUED", "RUNNING"]
    assert found.facts == {"requeued_attempts": 1}


def test_a_checkpointed_job_goes_on_in_another_attempt(tmp_path: Path) -> None:
    log = (
        STARTED
        + "03/10/2024 10:30:00;C;1;\n"
        + STARTED.replace("10:10:00;S;", "10:36:40;T;").replace("1710065400", "1710067000")
    )
    assert read(log, tmp_path)["state"].to_list() == ["REQUEUED", "RUNNING"]


@pytest.mark.parametrize("bare", ["", ";"])
def test_a_rerun_record_in_the_second_of_its_start_ends_that_run(tmp_path: Path, bare: str) -> None:
    at_once = f"03/10/2024 10:10:00;R;1{bare}\n"
    again = STARTED.replace("10:10:00", "10:20:00").replace("start=1710065400", "start=1710066000")
    for log in (STARTED + at_once + again, STARTED + at_once * 2 + again):
        found = read(log, tmp_path)
        assert found["state"].to_list() == ["REQUEUED", "RUNNING"]
        assert found.select("start_s", "runtime_s").rows() == [(1710065400, 0), (1710066000, None)]


def test_a_rerun_record_in_the_second_of_the_next_start_ends_the_run_before(tmp_path: Path) -> None:
    again = STARTED.replace("10:10:00", "10:30:00").replace("start=1710065400", "start=1710066600")
    found = read(STARTED + RERUN + again + RERUN.replace("10:30:00", "10:40:00"), tmp_path)
    assert found.select("start_s", "runtime_s").rows() == [(1710065400, 1200), (1710066600, 600)]


def test_a_walltime_that_is_not_the_time_between_start_and_end_is_marked(tmp_path: Path) -> None:
    def flags(used: str) -> list[str]:
        found: list[str] = only(
            read(ended(f"Exit_status=0 resources_used.walltime={used}", run_s=100), tmp_path)
        )["quality_flags"]
        return found

    assert flags("00:01:35") == []
    assert flags("00:00:10") == ["elapsed_differs"]


def test_an_end_without_a_start_keeps_the_walltime(tmp_path: Path) -> None:
    log = ended("Exit_status=0 resources_used.walltime=00:01:00").replace("start=1710068400", "start=0")
    found = read(log + log, tmp_path)
    assert found.select("start_s", "wait_s", "runtime_s", "end_s").rows() == [(None, None, 60, 1710068460)]
