"""Ids that a server gives out again, and records that do not say whose they are."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets_tests.ingest.pbs.helpers import ended, parsed, read, refused

HOUR_S, DAY_S = 3600, 86_400
EARLY = (
    "03/10/2017 12:00:00;E;5.srv;user=a group=g queue=q ctime=1489140000 qtime=1489140000 etime=1489140000 "
    "start=1489143600 end=1489147200 Exit_status=0\n"
)
LATE = ended("Exit_status=1", "5.srv").replace("12:00:00", "11:01:00")
LATE_ID = "5.srv@2024-03-10T10:00:00Z"
QUEUED = "03/10/2024 10:00:00;Q;5.srv;queue=q\n"
DELETED = "03/10/2024 12:00:00;D;5.srv;requestor=b@h\n"


def told(submit_s: int, run_s: int = HOUR_S, user: str = "u1") -> str:
    """The E record of a job that started at once; instants are told, so that the clock does not matter."""
    return (
        f"03/10/2024 12:00:00;E;5.srv;user={user} ctime={submit_s} qtime={submit_s} etime={submit_s} "
        f"start={submit_s} end={submit_s + run_s} Exit_status=0\n"
    )


def ids(found: pl.DataFrame) -> list[tuple[str, int, int]]:
    return found.sort("submit_s", "attempt").select("job_id", "attempt", "attempt_count").rows()


def test_an_id_used_again_is_another_job(tmp_path: Path) -> None:
    for log in (EARLY + LATE, LATE + EARLY):
        found = parsed(log, tmp_path)
        jobs = read(log, tmp_path)
        assert ids(jobs) == [("5.srv", 1, 1), (LATE_ID, 1, 1)]
        assert jobs["user"].to_list() == ["a", "u1"]
        assert jobs["wait_s"].to_list() == [3600, 3600]
        assert found.facts == {"jobs_with_a_reused_id": 1}


def test_a_job_deleted_in_the_queue_is_not_the_one_that_had_the_id_long_ago(tmp_path: Path) -> None:
    jobs = read(EARLY + QUEUED + DELETED, tmp_path)
    assert jobs.select("job_id", "state").rows() == [("5.srv", "COMPLETED"), (LATE_ID, "CANCELLED")]


@pytest.mark.parametrize("kind", ["D", "C", "A", "R"])
def test_a_record_that_nobody_owns_is_of_no_job_that_ended_long_ago(tmp_path: Path, kind: str) -> None:
    found = parsed(EARLY + DELETED.replace(";D;", f";{kind};"), tmp_path)
    assert refused(found) == {2: "no_submit_time"}
    assert found.records.collect()["state"].to_list() == ["COMPLETED"]


def test_a_record_that_nobody_owns_is_of_the_job_that_lives(tmp_path: Path) -> None:
    waits = QUEUED.replace("03/10", "01/10")  # for two months
    assert read(waits + DELETED, tmp_path)["state"].to_list() == ["CANCELLED"]
    request = DELETED.replace("12:00:00", "11:00:30")
    found = read(EARLY + request + LATE, tmp_path)
    assert found.select("job_id", "state").rows() == [("5.srv", "COMPLETED"), (LATE_ID, "CANCELLED")]


def test_a_run_that_states_no_submission_is_of_the_job_that_waited_however_long(tmp_path: Path) -> None:
    run = "03/20/2024 10:00:00;S;5.srv;user=b start=1710928800\n"
    assert ids(read(QUEUED + run, tmp_path)) == [("5.srv", 1, 1)]
    assert ids(read(EARLY + QUEUED + run, tmp_path)) == [("5.srv", 1, 1), (LATE_ID, 1, 1)]


@pytest.mark.parametrize(
    ("gap_s", "user", "jobs"),
    [
        (DAY_S, "u1", 1),
        (DAY_S + 1, "u1", 2),
        (HOUR_S, "u2", 2),
        (-HOUR_S, "u2", 1),
    ],
)
def test_another_submission_is_of_the_same_job_for_a_day_and_for_its_user(
    tmp_path: Path, gap_s: int, user: str, jobs: int
) -> None:
    first = 1710064800
    found = read(told(first) + told(first + HOUR_S + gap_s, run_s=2 * HOUR_S, user=user), tmp_path)
    assert found["job_id"].n_unique() == jobs
    assert found.height == 2 if gap_s > 0 else found.height == 1


def test_a_job_of_another_user_in_between_parts_two_of_one_user(tmp_path: Path) -> None:
    first = 1710064800
    log = "".join(told(first + 2 * k * HOUR_S, user=user) for k, user in enumerate("aba"))
    assert [(count, of) for _, count, of in ids(read(log, tmp_path))] == [(1, 1)] * 3


def test_queueings_without_attributes_are_of_the_submission_they_follow(tmp_path: Path) -> None:
    moments_later = QUEUED.replace("10:00:00", "10:00:02") + QUEUED.replace("10:00:00", "10:30:00")
    assert ids(read(moments_later + LATE, tmp_path)) == [("5.srv", 1, 1)]
    # Within a day of a job of another user, the queueing is of the one who follows.
    before = told(1710064800 - 2 * HOUR_S, user="a")
    for queued in (QUEUED, QUEUED.replace("10:00:00", "09:59:30")):
        assert ids(read(before + queued + LATE, tmp_path)) == [("5.srv", 1, 1), (LATE_ID, 1, 1)]


def test_tasks_of_an_array_whose_number_came_round_are_of_another_array(tmp_path: Path) -> None:
    for server in (".srv", ""):
        log = (EARLY + LATE).replace("5.srv", f"5[3]{server}")
        jobs = read(log, tmp_path)
        since = "@2024-03-10T10:00:00Z"
        assert jobs.select("job_id", "array_job_id").rows() == [
            (f"5[3]{server}", "5"),
            (f"5[3]{server}{since}", f"5{since}"),
        ]


def test_lines_that_say_the_same_again_are_counted(tmp_path: Path) -> None:
    found = parsed({"a": LATE * 2, "b": LATE + DELETED}, tmp_path)
    assert found.facts == {"superseded_lines": 2}
    assert found.records.collect().height == 1
