"""Which rows tell of one job: overlapping dumps, attempts, ids used again, clusters, steps."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets_tests.ingest.slurm.dumps import DAY, PLAIN, Found, dump, job, read, read_files, step

REQUEUED = {"State": "REQUEUED", "End": f"{DAY}10:10:00"}
AGAIN = {"Start": f"{DAY}11:00:00"}
PENDING = {"State": "PENDING", "Start": "Unknown", "End": "Unknown"}
RUNNING = {"State": "RUNNING", "End": "Unknown"}


def rows_of(found: Found) -> list[tuple[object, ...]]:
    return found.of("job_id", "attempt", "attempt_count", "state", "runtime_s")


def in_all_orders(folder: Path, *rows: dict[str, str]) -> Found:
    """The rows, each a dump of its own, in every order of the files and in every order of one file."""
    tables = [
        found
        for order in permutations(rows)
        for found in (
            read_files(
                {f"{k}.log": dump(row) for k, row in enumerate(order)}, folder, is_validated=order == rows
            ),
            read(dump(*order), folder, is_validated=False),
        )
    ]
    first = tables[0]
    assert all(
        table.jobs.drop("source_file", "source_line").equals(first.jobs.drop("source_file", "source_line"))
        for table in tables
    )
    return first


def test_the_record_that_knows_the_end_wins_over_those_before(tmp_path: Path):
    found = in_all_orders(
        tmp_path,
        job(**PENDING),
        job(**RUNNING, Elapsed="00:10:00"),
        job(**RUNNING, Elapsed="00:20:00"),
        job(),
    )
    assert rows_of(found) == [("1", 1, 1, "COMPLETED", 1800)]
    assert found.parsed.counts.merged == 4


def test_of_two_that_saw_it_running_the_later_one_counts(tmp_path: Path):
    found = in_all_orders(tmp_path, job(**RUNNING, Elapsed="00:10:00"), job(**RUNNING, Elapsed="00:20:00"))
    assert rows_of(found) == [("1", 1, 1, "RUNNING", 1200)]


def test_attempts_of_one_submission(tmp_path: Path):
    last = job(**AGAIN, End=f"{DAY}11:30:00")
    found = in_all_orders(tmp_path, job(**REQUEUED), last, job(**PENDING))
    assert rows_of(found) == [("1", 1, 2, "REQUEUED", 600), ("1", 2, 2, "COMPLETED", 1800)]
    # The second attempt cannot have waited while the first one ran.
    assert found.of("wait_s", "hold_s") == [(3600, 0), (3000, 4200)]


def test_an_attempt_that_was_released_later_still_keeps_its_release(tmp_path: Path):
    late = f"{DAY}10:50:00"
    rows = [job(**REQUEUED, Eligible=f"{DAY}09:00:00"), job(**AGAIN, End=f"{DAY}11:30:00", Eligible=late)]
    assert read(dump(*rows), tmp_path).of("wait_s") == [3600, 600]


def test_a_requeued_job_that_waits_again(tmp_path: Path):
    found = in_all_orders(tmp_path, job(**REQUEUED), job(**PENDING))
    assert rows_of(found) == [("1", 1, 2, "REQUEUED", 600), ("1", 2, 2, "PENDING", None)]


def test_a_requeued_job_that_runs_again(tmp_path: Path):
    found = in_all_orders(
        tmp_path,
        job(**REQUEUED),
        job(**RUNNING, Elapsed="00:05:00"),
        job(**RUNNING | AGAIN, Elapsed="00:05:00"),
    )
    assert rows_of(found) == [("1", 1, 2, "REQUEUED", 600), ("1", 2, 2, "RUNNING", 300)]


def test_a_record_that_a_later_attempt_overtook_tells_nothing_more(tmp_path: Path):
    later = {"Submit": f"{DAY}10:45:00"} | AGAIN
    for seen in (job(**PENDING), job(**RUNNING, Elapsed="00:05:00")):
        found = in_all_orders(tmp_path, seen, job(**later, End=f"{DAY}11:30:00"))
        assert rows_of(found) == [("1", 1, 1, "COMPLETED", 1800)]
        assert found.parsed.facts == {"records_superseded": 1}


def test_a_requeued_job_that_was_cancelled_in_the_queue(tmp_path: Path):
    gone = job(State="CANCELLED by 7", Start="None", End=f"{DAY}10:40:00")
    found = in_all_orders(tmp_path, job(**REQUEUED), gone)
    assert rows_of(found) == [("1", 1, 2, "REQUEUED", 600), ("1", 2, 2, "CANCELLED", None)]


def test_an_id_of_another_time_user_or_cluster_is_another_job(tmp_path: Path):
    def at(day: str, **fields: str) -> dict[str, str]:
        times = {"Submit": f"{day}T09:00:00", "Start": f"{day}T10:00:00", "End": f"{day}T10:30:00"}
        return job(JobID="5", Cluster="a", User="u") | times | fields

    rows = [
        at("2024-01-01"),
        at("2024-01-02", State="FAILED"),  # within a day of the end: the same job, again
        at("2024-01-05"),
        at("2024-01-05", User="v"),
        at("2024-01-05", Cluster="b"),
    ]
    found = in_all_orders(tmp_path, *rows[:3])
    assert [row[:4] for row in rows_of(found)] == [
        ("5", 1, 2, "COMPLETED"),
        ("5", 2, 2, "FAILED"),
        ("5@2024-01-05T09:00:00Z", 1, 1, "COMPLETED"),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("job_id", "user", "attempt_count") == [
        ("5", "u", 2),
        ("5", "u", 2),
        ("5@2024-01-05T09:00:00Z", "u", 1),
        ("5@2024-01-05T09:00:00Z.2", "v", 1),
        ("5@2024-01-05T09:00:00Z.3", "u", 1),
    ]


def test_arrays_and_groups_of_an_id_used_again_stay_apart(tmp_path: Path):
    old = {"Submit": "2017-01-01T09:00:00", "Start": "2017-01-01T10:00:00", "End": "2017-01-01T10:30:00"}
    rows = [
        job(JobID="7_1") | old,
        job(JobID="7_2") | old,
        job(JobID="7_2"),
        job(JobID="7_3"),
        job(JobID="8+0") | old,
        job(JobID="8+0"),
    ]
    found = read(dump(*rows), tmp_path)
    at = "@2024-06-02T09:00:00Z"
    assert found.of("job_id", "array_job_id", "het_group_id") == [
        ("7_1", "7", None),
        ("7_2", "7", None),
        ("7_2" + at, "7" + at, None),
        ("7_3" + at, "7" + at, None),
        ("8+0", None, "8"),
        ("8+0" + at, None, "8" + at),
    ]


def test_tasks_of_a_long_array_stay_one_array(tmp_path: Path):
    rows = [
        job(JobID="7_1", End="2024-06-20T10:00:00"),
        job(
            JobID="7_2", Submit="2024-06-20T12:00:00", Start="2024-06-20T13:00:00", End="2024-06-20T14:00:00"
        ),
    ]
    assert read(dump(*rows), tmp_path).of("job_id", "array_job_id") == [("7_1", "7"), ("7_2", "7")]


def test_a_file_that_names_no_cluster_or_user_tells_of_the_same_jobs(tmp_path: Path):
    found = in_all_orders(
        tmp_path, job(Cluster="c", User="u"), job(**RUNNING, Elapsed="00:10:00"), job(User="u")
    )
    assert rows_of(found) == [("1", 1, 1, "COMPLETED", 1800)]
    assert found.only()["user"] == "u"


@pytest.mark.parametrize(
    ("one", "other", "user"),
    [
        ({"User": "alice", "UID": "1001"}, {"User": "", "UID": "1001"}, "alice"),
        ({"User": "alice", "UID": "1001"}, {"User": "1001"}, "alice"),
        ({"User": "alice", "UID": "1001"}, {"User": "1001", "UID": "1001"}, "alice"),
        ({"User": "alice", "UID": "1001"}, {"User": "alice2", "UID": "1001"}, None),
        ({"User": "alice", "UID": "1001"}, {}, "alice"),
        ({"User": "alice"}, {"UID": "1001"}, "alice"),
        ({"User": "alice"}, {"User": "1001"}, "alice"),
        ({"User": "alice"}, {"User": ""}, "alice"),
        ({"User": "1001"}, {}, "1001"),
        ({"User": "70031", "UID": "1001"}, {"User": "70031"}, "70031"),  # a name of digits
        ({"User": "70031", "UID": "1001"}, {"UID": "1001"}, "70031"),
    ],
)
def test_dumps_that_name_the_user_in_other_ways_tell_of_the_same_job(
    one: dict[str, str], other: dict[str, str], user: str | None, tmp_path: Path
):
    seen = job(**RUNNING, Elapsed="00:10:00")
    for first, second in ((one, other), (other, one)):
        found = in_all_orders(tmp_path, seen | first, job() | second)
        assert rows_of(found) == [("1", 1, 1, "COMPLETED", 1800)]
        assert found.only()["user"] == (user or second["User"])


@pytest.mark.parametrize("silent", [{}, {"JobName": ""}])
def test_a_record_without_a_name_has_that_of_its_submission(silent: dict[str, str], tmp_path: Path):
    seen = {**RUNNING, "Elapsed": "00:10:00"}
    found = in_all_orders(tmp_path, job(**seen, JobName="sweep"), job() | silent)
    assert found.of("state", "name") == [("COMPLETED", "sweep")]
    found = in_all_orders(tmp_path, job(**seen, JobName="sweep"), job(JobName="renamed"))
    assert found.of("state", "name") == [("COMPLETED", "renamed")]


def test_a_name_decides_last_which_record_stands_for_a_job(tmp_path: Path):
    found = in_all_orders(tmp_path, job(JobName="z", NCPUS="2"), job(JobName="a", NCPUS="4"))
    assert found.of("procs", "name") == [(4, "a")]


def test_a_user_that_both_name_and_that_differs_parts_two_jobs(tmp_path: Path):
    for one, other in (({"User": "a"}, {"User": "b"}), ({"User": "1"}, {"UID": "2"})):
        found = in_all_orders(tmp_path, job() | one, job() | other)
        assert found.of("job_id") == ["1", "1@2024-06-02T09:00:00Z.2"]
    a, b = job(User="a", NCPUS="1"), job(User="b", NCPUS="2")
    assert in_all_orders(tmp_path, a, b, job(UID="7", NCPUS="3")).jobs.height == 3  # it may be either's
    told = in_all_orders(tmp_path, a, b, job(User="a", UID="7"), job(UID="7", NCPUS="3"))
    assert told.of("user", "procs") == [("b", 2), ("a", 3)]


def test_a_requeue_whose_attempts_are_told_by_dumps_of_other_columns(tmp_path: Path):
    failed = {"State": "NODE_FAIL", "End": f"{DAY}10:10:00"}
    later = {"Submit": f"{DAY}10:11:00"} | AGAIN | {"End": f"{DAY}11:30:00"}
    for one, other in (({}, {"User": "u"}), ({"User": "u"}, {}), ({"UID": "5"}, {"User": "u"})):
        found = in_all_orders(tmp_path, job(**failed) | one, job(**later) | other)
        assert rows_of(found) == [("1", 1, 2, "NODE_FAIL", 600), ("1", 2, 2, "COMPLETED", 1800)]
        assert found.of("user") == ["u", "u"]


def test_tasks_stay_in_their_array_whichever_dump_names_the_user(tmp_path: Path):
    found = in_all_orders(tmp_path, job(JobID="900_1"), job(JobID="900_2", User="u"))
    assert found.of("job_id", "array_job_id") == [("900_1", "900"), ("900_2", "900")]


def test_a_record_that_names_no_cluster_belongs_to_the_one_job_it_can_be_of(tmp_path: Path):
    a = job(JobID="7", Cluster="a", **RUNNING, Elapsed="00:10:00", User="u")
    b = job(JobID="7", Cluster="b", User="v") | {"Submit": f"{DAY}09:00:01"}
    found = in_all_orders(tmp_path, a, b, job(JobID="7"))
    assert found.of("job_id", "user", "state") == [
        ("7", "u", "COMPLETED"),
        ("7@2024-06-02T09:00:01Z", "v", "COMPLETED"),
    ]
    same_second = b | {"Submit": f"{DAY}09:00:00"}
    found = in_all_orders(tmp_path, a, same_second, job(JobID="7", User="u"))
    assert found.of("user", "state") == [("u", "COMPLETED"), ("v", "COMPLETED")]
    assert in_all_orders(tmp_path, a, same_second, job(JobID="7")).jobs.height == 3  # it may be of either
    other_start = same_second | {"Start": f"{DAY}10:00:01"}
    assert in_all_orders(tmp_path, a, other_start, job(JobID="7")).jobs.height == 2


def test_a_task_that_names_no_cluster_is_of_the_array_submitted_with_it(tmp_path: Path):
    waits = {"State": "PENDING", "Start": "Unknown", "End": "Unknown"}
    a, b = {"Cluster": "a", "User": "u"}, {"Cluster": "b", "User": "v", "Submit": f"{DAY}09:00:01"}
    rows = [job(JobID="7_1") | a, job(JobID="7") | b, job(JobID="7_2"), job(JobID="7_[1-2]") | waits]
    found = in_all_orders(tmp_path, *rows)
    assert found.of("job_id", "user") == [
        ("7@2024-06-02T09:00:01Z", "v"),
        ("7_1", "u"),
        ("7_2", "u"),
    ]
    assert found.parsed.refused == []


def test_steps_that_name_no_cluster_are_of_the_job_that_was_running(tmp_path: Path):
    rows = [
        job(JobID="7", Cluster="a"),
        job(JobID="7", Cluster="b", Start=f"{DAY}12:00:00", End=f"{DAY}13:00:00"),
        step("7.0", MaxRSS="1K"),
        step("7.1", MaxRSS="2K", Start=f"{DAY}12:30:00"),
        step("7.2", MaxRSS="3K", Start=f"{DAY}12:30:00", Cluster="a"),
    ]
    found = read(dump(*rows, columns=[*PLAIN, "Cluster", "MaxRSS"]), tmp_path)
    assert found.of("used_memory_bytes") == [3 * 1024, 2 * 1024]


def test_a_number_that_another_dump_knows_as_a_task_is_that_task(tmp_path: Path):
    raw = {name: value for name, value in PLAIN.items() if name != "JobID"}
    rows = [
        job(JobID="900_1", JobIDRaw="901", **RUNNING, Elapsed="00:10:00"),
        raw | {"JobIDRaw": "901"},
        job(JobID="900_2", JobIDRaw="902"),
        job(JobID="901") | {"Submit": "2017-01-01T09:00:00"},
    ]
    found = in_all_orders(tmp_path, *rows)
    assert found.of("job_id", "array_job_id", "state") == [
        ("900_1", "900", "COMPLETED"),
        ("900_2", "900", "COMPLETED"),
        ("901", None, "COMPLETED"),
    ]
    first = raw | {"JobIDRaw": "901", "State": "NODE_FAIL", "Submit": f"{DAY}08:00:00"}
    first |= {"Start": f"{DAY}08:10:00", "End": f"{DAY}08:50:00"}
    found = in_all_orders(tmp_path, first, job(JobID="900_1", JobIDRaw="901"))
    assert found.of("job_id", "attempt_count") == [("900_1", 2), ("900_1", 2)]
    assert in_all_orders(tmp_path, first, job(JobID="901")).of("job_id") == ["901", "901"]


def test_steps_of_a_number_are_of_the_task_it_is(tmp_path: Path):
    raw = {name: value for name, value in step("").items() if name != "JobID"}
    both = {"JobID": "900_1", "JobIDRaw": "901"}
    for cluster in ({}, {"Cluster": "a"}):
        rows = [
            job() | both | cluster,
            job() | {"JobIDRaw": "901", "Cluster": "b", "JobID": "901", "Start": f"{DAY}09:30:00"},
            raw | {"JobIDRaw": "901.batch", "MaxRSS": "1K"} | cluster,
        ]
        found = read_files({str(k): dump(row) for k, row in enumerate(rows)}, tmp_path)
        assert found.of("job_id", "used_memory_bytes") == [("900_1", 1024), ("901", None)]
        assert found.parsed.refused == []


def test_a_canceller_is_known_as_another_by_the_uid_of_any_dump(tmp_path: Path):
    gone = job(User="u", State="CANCELLED by 7")
    for uid, others in (("7", 0), ("8", 1)):
        found = read_files({"a": dump(gone), "b": dump(job(UID=uid, **RUNNING))}, tmp_path)
        assert found.parsed.facts.get("cancelled_by_another_user", 0) == others


def test_lines_that_stand_twice_count_once(tmp_path: Path):
    text = dump(job(JobID="1"), step("1.0", MaxRSS="1K", TotalCPU="00:10.000"), job(JobID="2"))
    once = read(text, tmp_path)
    twice = read_files({"a": text, "b": text + text}, tmp_path)
    assert twice.jobs.drop("source_file", "source_line").equals(once.jobs.drop("source_file", "source_line"))
    assert once.of("cpu_used_s", "used_memory_bytes") == [(10.0, 1024), (None, None)]
    assert twice.parsed.counts.merged == 9


def test_a_step_belongs_to_the_attempt_that_was_running(tmp_path: Path):
    last = job(**AGAIN, End=f"{DAY}11:30:00")
    rows = [
        job(**REQUEUED | {"End": f"{DAY}10:59:00"}),
        last,
        step("1.batch", MaxRSS="1K"),
        step("1.batch", Start=f"{DAY}11:00:01", MaxRSS="2K"),
        step("1.0", Start="Unknown", MaxRSS="3K"),
        step("1.1", Start=f"{DAY}09:59:59", MaxRSS="4K"),
        step("1.2", Start=f"{DAY}10:58:00", MaxRSS="5K"),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("used_memory_bytes") == [5 * 1024, 3 * 1024]


def test_a_step_may_stand_in_another_file_than_its_job(tmp_path: Path):
    files = {"a": dump(step("1.0", MaxRSS="2K"), step("3.0")), "b": dump(job())}
    found = read_files(files, tmp_path)
    assert found.only()["used_memory_bytes"] == 2048
    assert [refused.source_file for refused in found.parsed.refused] == ["a"]
    assert found.parsed.refused[0].text.startswith("3.0|")


def test_gpus_are_tracked_by_cluster(tmp_path: Path):
    rows = [
        job(JobID="1", Cluster="a", ReqTRES="cpu=1,gres/gpu=1"),
        job(JobID="2", Cluster="a", ReqTRES="cpu=1"),
        job(JobID="3", Cluster="a", ReqTRES=""),
        job(JobID="4", Cluster="b", ReqTRES="cpu=1"),
    ]
    assert read(dump(*rows), tmp_path).of("gpus") == [1, 0, None, None]


def test_an_all_null_column_keeps_its_type(tmp_path: Path):
    found = read(dump(job()), tmp_path)
    assert found.jobs.schema["gpus"] == pl.Int64
    assert found.jobs["gpus"].null_count() == 1
