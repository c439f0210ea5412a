"""What each column of sacct becomes: times, states, sizes, memory; and what makes a row no job."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode
from hpcopt_assets.ingest.slurm.values import LEAKED, Memory, memory, requested_memory, state, tres
from hpcopt_assets_tests.ingest.slurm.dumps import DAY, dump, job, read, step

MIB = 2**20


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def test_all_columns_of_one_row(tmp_path: Path):
    row = job(
        JobID="900_7",
        JobIDRaw="907",
        Cluster="c",
        User="u",
        UID="1001",
        Group="g",
        GID="100",
        Account="acc",
        Partition="long",
        Job_Name="sweep 7",
        QOS="q",
        Eligible=f"{DAY}09:30:00",
        Elapsed="00:30:00",
        Timelimit="01:00:00",
        ReqCPUS="6",
        NCPUS="8",
        NNodes="2",
        ReqMem="4Gn",
        MaxRSS="",
        TotalCPU="01:30.500",
        ReqTRES="cpu=6,mem=8G,node=2,billing=6",
        AllocTRES="cpu=8,mem=8G,node=2,billing=8,gres/gpu=2",
        NodeList="n[1-2]",
    )
    assert read(dump(row), tmp_path).only() == {
        "trace_id": "made",
        "job_id": "900_7",
        "source_file": "made.log",
        "source_line": 2,
        "submit_s": utc(f"{DAY}09:00:00"),
        "eligible_s": utc(f"{DAY}09:30:00"),
        "start_s": utc(f"{DAY}10:00:00"),
        "end_s": utc(f"{DAY}10:30:00"),
        "wait_s": 1800,
        "runtime_s": 1800,
        "release_s": utc(f"{DAY}09:30:00"),
        "hold_s": 1800,
        "requested_runtime_s": 3600,
        "requested_runtime_kind": "limit",
        "partition_limit_s": None,
        "procs": 6,
        "requested_procs": 6,
        "allocated_procs": 8,
        "nodes": 2,
        "gpus": 2,
        "requested_memory_bytes": 8 * 2**30,
        "used_memory_bytes": None,
        "cpu_used_s": 90.5,
        "state": "COMPLETED",
        "attempt": 1,
        "attempt_count": 1,
        "user": "u",
        "group": "g",
        "account": "acc",
        "queue": None,
        "partition": "long",
        "name": "sweep 7",
        "array_job_id": "900",
        "het_group_id": None,
        "preceding_job_id": None,
        "think_time_s": None,
        "quality_flags": ["allocated_differs"],
    }


def test_numbers_stand_in_for_names(tmp_path: Path):
    one = read(dump(job(User="", UID="1001", GID="100")), tmp_path).only()
    assert (one["user"], one["group"]) == ("1001", "100")


@pytest.mark.parametrize(
    ("told", "zone", "expected"),
    [
        ("2024-06-02T10:00:00", None, "2024-06-02T10:00:00"),
        ("2024-06-02T10:00:00", "Europe/Stockholm", "2024-06-02T08:00:00"),
        ("2024-01-02T10:00:00", "Europe/Stockholm", "2024-01-02T09:00:00"),
        ("2024-06-02T10:00:00+02:00", "America/New_York", "2024-06-02T08:00:00"),
        ("2024-06-02T10:00:00-0430", "America/New_York", "2024-06-02T14:30:00"),
        ("2024-06-02T10:00:00Z", "America/New_York", "2024-06-02T10:00:00"),
        ("2024-06-02 10:00:00", "Europe/Stockholm", "2024-06-02T08:00:00"),
        ("1717322400", "America/New_York", "2024-06-02T10:00:00"),
    ],
)
def test_spellings_of_times(told: str, zone: str | None, expected: str, tmp_path: Path):
    row = job(Submit=told, Start=told, End=told)
    one = read(dump(row), tmp_path, timezone=zone).only()
    assert one["submit_s"] == one["start_s"] == one["end_s"] == utc(expected)


@pytest.mark.parametrize(
    "none", ["Unknown", "None", "N/A", "", "0", "1970-01-01T01:00:00", "1969-12-31T19:00:00"]
)
def test_spellings_of_no_time(none: str, tmp_path: Path):
    rows = [
        job(JobID="1", State="PENDING", Start=none, End=none, Eligible=none),
        job(JobID="2", Submit=none, Eligible=none),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("job_id", "start_s", "end_s", "eligible_s") == [("1", None, None, None)]
    assert found.rejects == {3: RejectCode.NO_SUBMIT_TIME}


@pytest.mark.parametrize("column", ["Submit", "Start", "End"])
@pytest.mark.parametrize("text", ["soon", "2024-02-30T00:00:00", "2024-06-02", "99999999999999", "-5", "1e9"])
def test_a_time_that_is_none_is_refused(column: str, text: str, tmp_path: Path):
    found = read(dump(job(JobID="1"), job(JobID="2") | {column: text}), tmp_path)
    assert found.rejects == {3: RejectCode.NOT_A_TIME}
    assert found.reasons[0].startswith(f"{column} is {text!r}, a time")
    assert found.of("job_id") == ["1"]


@pytest.mark.parametrize("text", ["", "x", "_4", "12a", "12_", "12+", "12_[1-3", "-1"])
def test_an_id_that_is_none_is_refused(text: str, tmp_path: Path):
    found = read(dump(job(JobID="1"), job(JobID=text)), tmp_path)
    assert found.rejects == {3: RejectCode.NO_JOB_ID}


AUTUMN = "2023-10-29T"
# Europe/Stockholm: 02:00 to 03:00 came twice, first at UTC+2, then at UTC+1; on 2024-03-31 it never came.


@pytest.mark.parametrize(
    ("start", "end", "elapsed", "expected", "is_ambiguous"),
    [
        ("01:30:00", "02:30:00", "01:00:00", (-90, -30), False),
        ("01:30:00", "02:30:00", "02:00:00", (-90, 30), False),
        ("02:30:00", "04:00:00", "02:30:00", (-30, 120), False),
        ("02:30:00", "04:00:00", "01:30:00", (30, 120), False),
        ("02:10:00", "02:05:00", "00:55:00", (-50, 5), False),
        ("02:10:00", "02:20:00", "01:10:00", (-50, 20), False),
        ("02:10:00", "02:20:00", "00:10:00", (-50, -40), True),
        ("02:30:00", "04:00:00", "", (-30, 120), True),
        ("02:30:00", "04:00:00", "00:07:00", (-30, 120), True),
        ("04:00:00", "05:00:00", "01:00:00", (120, 180), False),
    ],
)
def test_the_hour_that_comes_twice_is_settled_by_elapsed(
    start: str, end: str, elapsed: str, expected: tuple[int, int], is_ambiguous: object, tmp_path: Path
):
    row = job(Submit=AUTUMN + "00:30:00", Start=AUTUMN + start, End=AUTUMN + end, Elapsed=elapsed)
    found = read(dump(row), tmp_path, timezone="Europe/Stockholm")
    one = found.only()
    middle = utc(AUTUMN + "01:00:00")  # of the two hours
    assert ((one["start_s"] - middle) / 60, (one["end_s"] - middle) / 60) == expected
    assert (QualityFlag.AMBIGUOUS_LOCAL_TIME in found.flags["1"]) == is_ambiguous


def test_the_order_of_times_settles_what_elapsed_leaves_open(tmp_path: Path):
    row = job(
        Submit=AUTUMN + "02:50:00", Start=AUTUMN + "02:10:00", End=AUTUMN + "02:20:00", Elapsed="00:10:00"
    )
    found = read(dump(row), tmp_path, timezone="Europe/Stockholm")
    assert (found.only()["wait_s"], found.only()["runtime_s"]) == (20 * 60, 600)
    assert found.flags["1"] == set()


def test_suspended_time_counts_when_an_hour_is_settled(tmp_path: Path):
    row = job(
        Submit=AUTUMN + "00:30:00",
        Start=AUTUMN + "01:30:00",
        End=AUTUMN + "02:30:00",
        Elapsed="01:45:00",
        Suspended="00:15:00",
    )
    found = read(dump(row), tmp_path, timezone="Europe/Stockholm")
    assert found.only()["runtime_s"] == 7200
    assert found.flags["1"] == {QualityFlag.ELAPSED_DIFFERS, QualityFlag.SUSPENDED}


def test_a_time_that_never_was_is_flagged(tmp_path: Path):
    spring = "2024-03-31T"
    row = job(
        Submit=spring + "01:00:00", Start=spring + "02:30:00", End=spring + "04:00:00", Elapsed="00:30:00"
    )
    found = read(dump(row), tmp_path, timezone="Europe/Stockholm")
    assert found.only()["start_s"] == utc(spring + "01:30:00")
    assert found.flags["1"] == {QualityFlag.AMBIGUOUS_LOCAL_TIME}


def test_runtime_is_the_time_that_nodes_were_held(tmp_path: Path):
    rows = [
        job(JobID="1", Elapsed="00:30:00", Suspended="00:00:00"),
        job(JobID="2", Elapsed="00:20:00", Suspended="00:10:00"),
        job(JobID="3", Elapsed="00:20:00", Suspended=""),
        job(JobID="4", Elapsed="30:00.600", End="Unknown"),
        job(JobID="5", Elapsed="rubbish"),
        job(JobID="6", Elapsed="", ElapsedRaw="1800"),
        job(JobID="7", Elapsed="", ElapsedRaw="x"),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("runtime_s") == [1800, 1800, 1800, 1801, 1800, 1800, 1800]
    assert found.flags == {
        "1": set(),
        "2": {QualityFlag.ELAPSED_DIFFERS, QualityFlag.SUSPENDED},
        "3": {QualityFlag.ELAPSED_DIFFERS},
        "4": {QualityFlag.FRACTIONAL_TIME, QualityFlag.NO_END_RECORD},
        "5": {QualityFlag.MALFORMED_DURATION},
        "6": set(),
        "7": {QualityFlag.MALFORMED_DURATION},
    }


def test_times_in_the_wrong_order_are_refused(tmp_path: Path):
    rows = [
        job(JobID="1"),
        job(JobID="2", End=f"{DAY}09:59:58"),
        job(JobID="3", Start=f"{DAY}08:59:58"),
        job(JobID="4", ElapsedRaw="-1"),
        job(JobID="5", State="RUNNING", End=f"{DAY}09:00:00"),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("job_id") == ["1", "5"]
    assert found.rejects == {
        3: RejectCode.NEGATIVE_RUNTIME,
        4: RejectCode.NEGATIVE_WAIT,
        5: RejectCode.NEGATIVE_RUNTIME,
    }
    assert found.reasons[0] == f"End {DAY}09:59:58 is 2 s before Start {DAY}10:00:00, at least 0 s needed"
    assert found.reasons[1] == f"Start {DAY}08:59:58 is 2 s before Submit {DAY}09:00:00, at least 0 s needed"


@pytest.mark.parametrize(
    ("fields", "started"),
    [
        ({"NodeList": "None assigned"}, False),
        ({"NodeList": ""}, False),
        ({"NodeList": "n1"}, True),
        ({"NodeList": "n1", "AllocTRES": ""}, True),
        ({"AllocTRES": ""}, False),
        ({"AllocTRES": "cpu=4"}, True),
        ({}, False),
        ({"State": "COMPLETED"}, True),
        ({"State": "FAILED", "NodeList": "None assigned"}, False),
        ({"State": "FAILED", "NodeList": ""}, True),
        ({"End": f"{DAY}10:00:01", "Elapsed": "00:00:01", "NodeList": "None assigned"}, True),
        ({"End": f"{DAY}10:11:07", "NodeList": "None assigned"}, False),
        ({"End": f"{DAY}10:11:07", "NodeList": "None assigned", "State": "FAILED"}, False),
        ({"End": f"{DAY}10:11:07", "NodeList": ""}, True),
        ({"State": "PENDING", "End": "Unknown"}, False),
    ],
)
def test_a_job_cancelled_in_the_queue_never_started(fields: dict[str, str], started: object, tmp_path: Path):
    at = f"{DAY}10:00:00"
    row = job(State="CANCELLED by 7", Start=at, End=at, Elapsed="00:00:00", NCPUS="4") | fields
    one = read(dump(row), tmp_path).only()
    assert (one["start_s"] is not None, one["runtime_s"] is not None) == (started, started)
    assert (one["requested_procs"], one["allocated_procs"]) == ((None, 4) if started else (4, None))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COMPLETED", JobState.COMPLETED),
        ("completed", JobState.COMPLETED),
        ("CANCELLED+", JobState.CANCELLED),
        ("CANCELLED by 0", JobState.CANCELLED),
        ("CANCELLED by root", JobState.CANCELLED),
        ("DEADLINE", JobState.CANCELLED),
        ("REVOKED", JobState.CANCELLED),
        ("TIMEOUT", JobState.TIMEOUT),
        ("BOOT_FAIL", JobState.NODE_FAIL),
        ("OUT_OF_MEMORY", JobState.OUT_OF_MEMORY),
        ("COMPLETING", JobState.RUNNING),
        ("CONFIGURING", JobState.RUNNING),
        ("SUSPENDED", JobState.RUNNING),
        ("REQUEUE_HOLD", JobState.PENDING),
        ("SPECIAL_EXIT", JobState.PENDING),
        ("RESIZING", JobState.REQUEUED),
        ("FROBBED", None),
        ("", None),
        ("COMPLETED|", None),
    ],
)
def test_states(text: str, expected: JobState | None):
    assert state(text).state == expected


def test_a_record_that_a_resize_closed_is_an_attempt_and_an_open_one_runs(tmp_path: Path):
    rows = [
        job(JobID="1", State="RESIZING", NCPUS="8"),
        job(JobID="1", State="COMPLETED", NCPUS="4", Start=f"{DAY}10:30:00", End=f"{DAY}11:00:00"),
        job(JobID="2", State="RESIZING", End="Unknown", Elapsed="00:05:00"),
        job(JobID="3", State="SUSPENDED", End="Unknown", Elapsed="00:05:00"),
        job(JobID="4", State="", End="Unknown", Elapsed="00:05:00"),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("job_id", "attempt", "state", "runtime_s", "procs") == [
        ("1", 1, JobState.REQUEUED, 1800, 8),
        ("1", 2, JobState.COMPLETED, 1800, 4),
        ("2", 1, JobState.RUNNING, 300, None),
        ("3", 1, JobState.RUNNING, 300, None),
        ("4", 1, JobState.UNKNOWN, None, None),
    ]
    assert found.flags["3"] == {QualityFlag.SUSPENDED, QualityFlag.UNFINISHED}
    assert found.flags["4"] == {QualityFlag.UNKNOWN_STATUS, QualityFlag.NO_END_RECORD}


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("8000M", "M", (8000 * MIB, "")),
        ("8000", "M", (8000 * MIB, "")),
        ("3000Mc", "M", (3000 * MIB, "c")),
        ("62.50Gn", "M", (64000 * MIB, "n")),
        ("1500000K", "", (1536000000, "")),
        ("900", "", (900, "")),
        ("2T", "M", (2 * MIB * MIB, "")),
        ("1.5P", "M", (1.5 * 2**50, "")),
        ("x", "M", None),
        ("-5M", "M", None),
        ("5Q", "M", None),
        ("9999999E", "M", None),
        ("", "M", None),
    ],
)
def test_amounts_of_memory(text: str, unit: str, expected: tuple[float, str] | None):
    assert memory(text, unit) == (None if expected is None else Memory(*expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8000", (8000 * MIB, "")),
        ("3000Mc", (3000 * MIB, "c")),
        ("62.50Gn", (64000 * MIB, "n")),
        ("2147483647M", (2147483647 * MIB, "")),
        ("2147486648Mn", (3000 * MIB, "c")),
        ("2147486648Mc", (3000 * MIB, "c")),
        ("2147486648M", (2147486648 * MIB, LEAKED)),
        ("2147486648", (2147486648 * MIB, LEAKED)),
        ("2048.5Tn", (2**39, "c")),
        ("9223372036854778808Mn", (3000 * MIB, "c")),
        ("9223372036854778808", (3000 * MIB, "c")),
        ("4294967296Mn", None),
        ("9999999E", None),
        ("", None),
    ],
)
def test_requested_memory_and_the_flag_that_may_leak_into_it(text: str, expected: tuple[float, str] | None):
    assert requested_memory(text) == (None if expected is None else Memory(*expected))


def test_a_leaked_flag_is_told_from_the_memory_of_many_nodes(tmp_path: Path):
    told = ["2147486648Mn", "2147486648M", "2147486648", "2097154.93G", "2097154.93Gn", "2048T"]
    rows = [job(JobID=k, ReqMem=text, NCPUS="4", NNodes="1") for k, text in enumerate(told)]
    rows.append(job(JobID=6, ReqMem="4194304G", NCPUS="400000", NNodes="9000"))
    rows.append(job(JobID=7, ReqMem="3145728G", NCPUS="400000", NNodes="9000"))
    found = read(dump(*rows), tmp_path)
    sizes = [size and round(size / MIB) for size in found.of("requested_memory_bytes")]
    assert sizes == [12000, 12000, 12000, 12001, 12001, None, 4194304 * 1024, 3145728 * 1024]
    assert [QualityFlag.MALFORMED_VALUE in flags for flags in found.flags.values()][:6] == [False] * 6


def test_requested_memory_is_that_of_the_whole_job(tmp_path: Path):
    size = {"ReqCPUS": "6", "NCPUS": "8", "NNodes": "2", "ReqTRES": "cpu=6,node=2"}
    told = ["100M", "100Mn", "100Mc", "2147483748Mn", "0n", "0", "", "12?"]
    rows = [job(JobID=k, ReqMem=text, **size) for k, text in enumerate(told)]
    rows.append(job(JobID=8, ReqMem="", ReqTRES="cpu=1,mem=5M"))
    rows.append(job(JobID=9, ReqMem="100Mn"))
    found = read(dump(*rows), tmp_path)
    sizes = found.of("requested_memory_bytes")
    assert [size and size // MIB for size in sizes] == [100, 200, 600, 600, None, None, None, None, 5, None]
    malformed = [name for name, flags in found.flags.items() if QualityFlag.MALFORMED_VALUE in flags]
    assert malformed == ["7"]


def test_used_memory_is_the_largest_of_tasks_times_their_peak(tmp_path: Path):
    rows = [
        job(JobID="1", MaxRSS="", NTasks=""),
        step("1.batch", MaxRSS="900K", NTasks="1"),
        step("1.0", MaxRSS="100K", NTasks="16"),
        step("1.1", MaxRSS="1000K", NTasks=""),
        job(JobID="2", MaxRSS="5M"),
        job(JobID="3"),
        step("3.0", MaxRSS="rubbish"),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("used_memory_bytes") == [1600 * 1024, 5 * MIB, None]


def test_counts_that_cannot_be(tmp_path: Path):
    rows = [
        job(JobID="1", ReqCPUS="0", NCPUS="4"),
        job(JobID="2", ReqCPUS="many", NCPUS="4"),
        job(JobID="3", ReqCPUS="-4", NCPUS="4"),
        job(JobID="4", ReqCPUS="99999999999", NCPUS="4"),
        job(JobID="5", ReqCPUS="2", AllocTRES="cpu=many,node=1"),
        job(JobID="6", ReqCPUS="2", AllocTRES="cpu"),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("procs") == [4, 4, 4, 4, 2, 2]
    assert [QualityFlag.MALFORMED_VALUE in flags for flags in found.flags.values()] == [False] + [True] * 5


def test_processors_from_every_column_that_tells_them(tmp_path: Path):
    rows = [
        job(JobID="1", ReqCPUS="2", NCPUS="4", AllocCPUS="4", ReqTRES="cpu=9", AllocTRES="cpu=9"),
        job(JobID="2", ReqTRES="cpu=2", AllocTRES="cpu=4"),
        job(JobID="3", AllocCPUS="4"),
        job(JobID="4"),
        job(JobID="5", State="PENDING", Start="Unknown", NCPUS="4"),
        job(JobID="6", State="PENDING", Start="Unknown", ReqTRES="cpu=2,gres/gpu=1"),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("requested_procs", "allocated_procs") == [
        (2, 4),
        (2, 4),
        (None, 4),
        (None, None),
        (4, None),
        (2, None),
    ]
    assert found.of("gpus") == [0, 0, None, None, None, 1]


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gres/gpu:a100=1", 1),
        ("gres:gpu=3", 3),
        ("cpu=1,gres/gpumem=4G,gres/gpuutil=5", None),
        ("gres/shard=4", None),
        ("gres/gpu=99999999999", None),
        ("gres/gpu:a=16000000,gres/gpu:b=16000000", None),
    ],
)
def test_which_tres_are_gpus(text: str, gpus: int | None):
    assert tres(text).gpus == gpus
