"""Troubles of other tools with sacct, seen in public reports: each gives the value stated for it here."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode, RequestKind
from hpcopt_assets.ingest.slurm.durations import durations
from hpcopt_assets.ingest.slurm.values import Tres, array_range, nodes_count, state, tres
from hpcopt_assets_tests.ingest.slurm.dumps import DAY, dump, job, read, read_files, step

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2-03:04:05", 183845),
        ("11-22:33:44", 1031624),
        ("365-00:00:01", 31536001),
        ("27:30:15", 99015),
        ("05:12.250", 312.25),
        ("00:00.007", 0.007),
        ("59:59.999", 3599.999),
        ("01:01:01", 3661),
        ("1-12", 129600),
        ("1-12:30", 131400),
        ("-0:00:09", -9),
        ("", None),
        ("INVALID", None),
        ("12:75:00", None),
        ("1-12.5", None),
        ("45", None),
        ("1:2:3:4", None),
        ("999999999-00:00:00", None),
    ],
)
def test_spellings_of_durations(text: str, seconds: float | None):
    found = durations(pl.Series([text or None], dtype=pl.String))[0]
    assert found == (None if seconds is None else pytest.approx(seconds))


def test_a_negative_elapsed_is_refused_not_turned_round(tmp_path: Path):
    rows = [job(JobID="1", Elapsed="01:01:01"), job(JobID="2", Elapsed="-0:00:09")]
    found = read(dump(*rows), tmp_path)
    assert found.rejects == {3: RejectCode.NEGATIVE_RUNTIME}
    assert found.reasons == ["Elapsed is '-0:00:09', at least 0 s needed"]
    assert found.of("job_id") == ["1"]


def test_limits_that_are_no_times(tmp_path: Path):
    told = [
        ("Partition_Limit", "Partition_Limit"),
        ("UNLIMITED", ""),
        ("", ""),
        ("2-12:00:00", "3600"),
        ("06:45:00", "405"),
        ("INVALID", ""),
        ("", "3600"),
        ("INVALID", "405"),
        ("", "UNLIMITED"),
        ("", "4294967295"),
        ("", "4294967294"),
        ("00:00:00", "0"),
        ("-01:00:00", ""),
    ]
    rows = [job(JobID=k, Timelimit=text, TimelimitRaw=raw) for k, (text, raw) in enumerate(told, start=10)]
    found = read(dump(*rows), tmp_path)
    assert found.of("requested_runtime_kind", "requested_runtime_s") == [
        (RequestKind.PARTITION_LIMIT, None),
        (RequestKind.UNLIMITED, None),
        (RequestKind.UNKNOWN, None),
        (RequestKind.LIMIT, 216000),
        (RequestKind.LIMIT, 24300),
        (RequestKind.UNKNOWN, None),
        (RequestKind.LIMIT, 216000),
        (RequestKind.LIMIT, 24300),
        (RequestKind.UNLIMITED, None),
        (RequestKind.UNLIMITED, None),
        (RequestKind.PARTITION_LIMIT, None),
        (RequestKind.LIMIT, 0),
        (RequestKind.UNKNOWN, None),
    ]
    invalid = [name for name, flags in found.flags.items() if QualityFlag.INVALID_LIMIT in flags]
    assert invalid == ["15", "22"]


def test_a_pipe_in_the_name_and_one_at_the_end(tmp_path: Path):
    times = f"{DAY}10:00:00|{DAY}10:00:00|Unknown"
    text = f"""JobID|JobName|Submit|Start|End|State|Elapsed|NCPUS
10|plain|{times}|COMPLETED|00:01:00|4
11|mc|run 2|{times}|FAILED|00:02:00|8
12|tail|{times}|COMPLETED|00:03:00|2|
"""
    found = read(text, tmp_path)
    assert found.of("job_id", "state", "runtime_s", "allocated_procs") == [
        ("10", "COMPLETED", 60, 4),
        ("11", "FAILED", 120, 8),
        ("12", "COMPLETED", 180, 2),
    ]
    assert found.of("name") == ["plain", "mc|run 2", "tail"]
    assert found.flags["11"] - found.flags["10"] == {QualityFlag.RECOVERED_FIELDS}
    assert found.parsed.counts.merged == 3


def test_a_pipe_where_no_free_text_is_refused(tmp_path: Path):
    text = dump(job(JobID="1"), job(JobID="2", State="COMPLETED|x"))
    found = read(text, tmp_path)
    assert found.rejects == {3: RejectCode.TOO_MANY_FIELDS}
    assert found.reasons == ["6 fields, 5 expected"]


def test_pending_ranges_of_arrays_are_no_jobs(tmp_path: Path):
    waits = {"State": "PENDING", "Start": "Unknown", "End": "Unknown", "Elapsed": "00:00:00"}
    found = read(
        dump(
            job(JobID="900_1", JobIDRaw="901", End=f"{DAY}10:05:00", Elapsed="00:05:00"),
            job(JobID="900_3", JobIDRaw="903", State="TIMEOUT", End=f"{DAY}11:00:00", Elapsed="01:00:00"),
            job(JobID="900_[4-10%2]", JobIDRaw="900", **waits),
        ),
        tmp_path,
    )
    assert found.of("job_id", "array_job_id", "runtime_s") == [("900_1", "900", 300), ("900_3", "900", 3600)]
    assert found.rejects == {4: RejectCode.PENDING_ARRAY_RANGE}
    assert found.reasons[0].startswith("7 tasks of array 900, at most 2 at once, state PENDING")
    assert found.parsed.facts == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4-10%2", (7, 2)),
        ("1,3,5-7", (5, None)),
        ("0-20:5", (5, None)),
        ("9-11,20", (4, None)),
        ("0-999999999999", (10**12, None)),
        ("1-5,7,...", (None, None)),
        ("5-1", (None, None)),
        ("1-5:0", (None, None)),
        ("", (None, None)),
    ],
)
def test_how_many_tasks_a_range_holds(text: str, expected: tuple[int | None, int | None]):
    found = array_range(text)
    assert (found.tasks, found.throttle) == expected


def test_a_range_whose_tasks_have_rows_of_their_own_is_merged(tmp_path: Path):
    waits = {"State": "PENDING", "Start": "Unknown", "End": "Unknown"}
    old = {"Submit": "2017-01-01T09:00:00", "Start": "2017-01-01T10:00:00", "End": "2017-01-01T10:30:00"}
    ranges = [f"900_[{text}]" for text in ("1-2%1", "1-4", "0-8:2", "3", "1-2,...")]
    january = dump(*(job(JobID=text, User="u") | waits for text in ranges))
    february = dump(*(job(JobID=f"900_{k}") for k in (1, 2, 4)), job(JobID="900_3") | old)
    found = read_files({"feb": february, "jan": january}, tmp_path)
    assert found.jobs.height == 4
    assert {refused.source_line for refused in found.parsed.refused} == {3, 4, 5, 6}
    assert [reason.partition(", state")[0] for reason in found.reasons] == [
        "1 of 4 tasks of array 900",
        "3 of 5 tasks of array 900",
        "1 task of array 900",
        "some tasks of array 900",
    ]
    assert (found.parsed.counts.merged, found.parsed.facts["records_superseded"]) == (5, 1)


def test_a_range_takes_no_number_away(tmp_path: Path):
    waits = {"State": "PENDING", "Start": "Unknown", "End": "Unknown", "Submit": "2017-01-01T09:00:00"}
    found = read(dump(job(JobID="900_[1-2]") | waits, job(JobID="900")), tmp_path)
    assert (found.of("job_id"), found.rejects) == (["900"], {2: RejectCode.PENDING_ARRAY_RANGE})


def test_cancelled_ranges_are_counted_once(tmp_path: Path):
    never = {"State": "CANCELLED by 7", "Start": "None"}
    text = dump(job(JobID="1"), job(JobID="900_[4-10%2]", **never))
    found = read_files({"a": text, "b": text}, tmp_path)
    assert found.parsed.facts["cancelled_array_tasks"] == 7
    found = read_files({"a": text, "b": text, "c": dump(job(JobID="900_5"))}, tmp_path)
    assert found.parsed.facts["cancelled_array_tasks"] == 6


def test_components_of_heterogeneous_jobs(tmp_path: Path):
    ten, one = f"{DAY}10:10:00", f"{DAY}10:01:00"
    found = read(
        dump(
            job(JobID="500+0", JobIDRaw="500", NCPUS="4", End=ten),
            step("500+0.batch", NCPUS="4", End=ten, MaxRSS="5K"),
            job(JobID="500+1", JobIDRaw="501", NCPUS="16", End=ten),
            step("500+1.0", NCPUS="16", End=ten, MaxRSS="7K"),
            job(JobID="502", JobIDRaw="502", NCPUS="1", End=one),
        ),
        tmp_path,
    )
    assert found.of("job_id", "het_group_id", "procs", "runtime_s", "used_memory_bytes") == [
        ("500+0", "500", 4, 600, 5 * 1024),
        ("500+1", "500", 16, 600, 7 * 1024),
        ("502", None, 1, 60, None),
    ]
    group = found.jobs.filter(het_group_id="500")
    assert (group["procs"].sum(), group["start_s"].n_unique()) == (20, 1)


def test_steps_are_folded_into_their_job(tmp_path: Path):
    long = {"End": f"{DAY}10:01:40", "Elapsed": "00:01:40"}
    rows = [
        job(JobID="640", NCPUS="4", ReqMem="8000M", TotalCPU="06:20.500", **long),
        step("640.batch", NCPUS="4", NTasks="1", MaxRSS="18000K", TotalCPU="00:00.040", **long),
        step("640.extern", NCPUS="4", NTasks="1", MaxRSS="900K", TotalCPU="00:00.001", **long),
        step("640.0", NCPUS="4", NTasks="4", MaxRSS="1500000K", TotalCPU="06:20.459", **long),
    ]
    found = read(dump(*rows), tmp_path)
    one = found.only()
    assert (one["runtime_s"], one["procs"], one["cpu_used_s"]) == (100, 4, 380.5)
    assert one["cpu_used_s"] / (one["procs"] * one["runtime_s"]) == pytest.approx(0.95125)
    assert one["used_memory_bytes"] == 6_000_000 * 1024
    assert one["used_memory_bytes"] / GIB == pytest.approx(5.72, abs=0.005)
    assert one["requested_memory_bytes"] / GIB == pytest.approx(7.81, abs=0.005)
    assert one["used_memory_bytes"] / one["requested_memory_bytes"] == pytest.approx(0.732, abs=0.0005)
    assert (found.parsed.counts.merged, found.parsed.facts) == (4, {"steps_folded": 3})


def test_a_step_never_names_its_job(tmp_path: Path):
    rows = [
        job(JobID="1", JobName="mine"),
        step("1.batch", JobName="batch"),
        job(JobID="2", JobName=""),
        step("2.0", JobName="a.out"),
    ]
    assert read(dump(*rows), tmp_path).of("job_id", "name") == [("1", "mine"), ("2", None)]


def test_cpu_time_is_that_of_the_steps_only_where_the_job_tells_none(tmp_path: Path):
    rows = [
        job(JobID="1"),
        step("1.0", TotalCPU="01:00.000"),
        step("1.1", TotalCPU="00:30.500"),
        job(JobID="2"),
    ]
    assert read(dump(*rows), tmp_path).of("job_id", "cpu_used_s") == [("1", 90.5), ("2", None)]


def test_a_step_of_no_job_is_refused(tmp_path: Path):
    found = read(dump(job(JobID="1"), step("1.0"), step("2.batch")), tmp_path)
    assert found.rejects == {4: RejectCode.NO_JOB_OF_STEP}
    assert found.reasons == ["step batch of job 2, of which no line tells, one needed"]


REQUEUED = (
    ("235", "ua", "2024-02-01T08:00:00", "2024-02-01T08:05:00", "2024-02-01T09:00:00", "REQUEUED"),
    ("235", "ua", "2024-02-01T09:01:00", "2024-02-01T09:12:00", "2024-02-01T10:12:30", "REQUEUED"),
    ("235", "ua", "2024-02-01T10:13:00", "2024-02-01T10:30:00", "2024-02-01T12:00:00", "COMPLETED"),
    ("235", "ub", "2017-05-04T11:00:00", "2017-05-04T11:20:00", "2017-05-04T11:30:00", "COMPLETED"),
)


def test_requeues_are_attempts_and_an_id_used_again_is_another_job(tmp_path: Path):
    names = ("JobIDRaw", "User", "Submit", "Start", "End", "State")
    rows = [dict(zip(names, row, strict=True)) for row in REQUEUED]
    found = read(dump(*rows), tmp_path)
    later = "235@2024-02-01T08:00:00Z"
    assert found.of("job_id", "user", "attempt", "attempt_count", "runtime_s", "state", "wait_s") == [
        ("235", "ub", 1, 1, 600, "COMPLETED", 1200),
        (later, "ua", 1, 3, 3300, "REQUEUED", 300),
        (later, "ua", 2, 3, 3630, "REQUEUED", 660),
        (later, "ua", 3, 3, 5400, "COMPLETED", 1020),
    ]
    assert found.jobs.filter(user="ua")["runtime_s"].sum() == 12330
    assert found.parsed.facts == {"jobs_with_a_reused_id": 1}


def test_states_with_riders_unfinished_and_unknown_ones(tmp_path: Path):
    ten = {"End": f"{DAY}10:10:00", "Elapsed": "00:10:00"}
    never = {"Start": "None", "End": f"{DAY}09:41:07", "Elapsed": "00:00:00", "NodeList": "None assigned"}
    others = ("OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "DEADLINE", "BOOT_FAIL", "FROBBED")
    rows = [
        job(JobID="10", State="CANCELLED by 1234", UID=1234, **never),
        job(JobID="11", State="CANCELLED by 1234", UID=5, Elapsed="00:30:00", NodeList="n1"),
        job(JobID="12", State="RUNNING", End="Unknown", Elapsed="00:45:00", NodeList="n2"),
        *(job(JobID=k, State=word, NodeList="n3", **ten) for k, word in enumerate(others, start=13)),
    ]
    found = read(dump(*rows), tmp_path)
    ran = 1717323000
    assert found.of("job_id", "state", "start_s", "runtime_s", "nodes", "wait_s") == [
        ("10", JobState.CANCELLED, None, None, None, None),
        ("11", JobState.CANCELLED, ran - 600, 1800, 1, 3600),
        ("12", JobState.RUNNING, ran - 600, 2700, 1, 3600),
        ("13", JobState.OUT_OF_MEMORY, ran - 600, 600, 1, 3600),
        ("14", JobState.NODE_FAIL, ran - 600, 600, 1, 3600),
        ("15", JobState.PREEMPTED, ran - 600, 600, 1, 3600),
        ("16", JobState.CANCELLED, ran - 600, 600, 1, 3600),
        ("17", JobState.NODE_FAIL, ran - 600, 600, 1, 3600),
        ("18", JobState.UNKNOWN, ran - 600, 600, 1, 3600),
    ]
    assert found.of("end_s")[:4] == [None, ran + 1200, None, ran]
    assert found.flags["12"] == {QualityFlag.UNFINISHED}
    assert found.flags["18"] == {QualityFlag.UNKNOWN_STATUS}
    assert (state("CANCELLED by 1234").canceller, found.parsed.facts) == (
        1234,
        {"cancelled_by_another_user": 1},
    )
    lowest = found.jobs.select(pl.min_horizontal(pl.col("submit_s", "start_s", "end_s").min())).item()
    assert lowest > 1_700_000_000


def test_gpus_in_tres_strings(tmp_path: Path):
    big = "cpu=48,mem=180000M,node=3,billing=96,gres/gpu=6,gres/gpu:h100=6"
    told = [
        big,
        "cpu=4,mem=8G,node=1,gres/gpu:a100=2",
        "cpu=4,mem=8G,node=1,gres/gpu:a100=1,gres/gpu:v100=2",
        "cpu=8,mem=20G,node=1,billing=8",
        "",
        "cpu=4,gres/gpu=6,gres/gpu:h100=2,gres/gpumem=40G",
    ]
    rows = [job(JobID=k, AllocTRES=text, Cluster="a") for k, text in enumerate(told, start=10)]
    rows.append(job(JobID=16, AllocTRES="cpu=8,mem=20G,node=1,billing=8", Cluster="b"))
    found = read(dump(*rows), tmp_path)
    assert found.of("gpus") == [6, 2, 3, 0, None, 6, None]
    assert [name for name, flags in found.flags.items() if QualityFlag.TYPED_GPUS_DIFFER in flags] == ["15"]
    first = found.jobs.row(0, named=True)
    assert (first["procs"], first["nodes"], first["requested_memory_bytes"]) == (48, 3, 188743680000)
    assert tres(big) == Tres(48, 3, 188743680000, 6, is_sum_off=False, is_malformed=False)


def test_without_any_gpu_in_the_log_their_number_is_unknown(tmp_path: Path):
    found = read(dump(job(AllocTRES="cpu=8,mem=20G,node=1,billing=8")), tmp_path)
    assert found.only()["gpus"] is None


def test_the_wait_counts_from_eligible(tmp_path: Path):
    late = {"Submit": f"{DAY}10:00:00", "Start": f"{DAY}12:05:00", "End": f"{DAY}13:05:00"}
    rows = [
        job(JobID="1", Eligible=f"{DAY}12:00:00", **late),
        job(JobID="2", Eligible="Unknown", **late),
        job(JobID="3", Eligible=f"{DAY}09:00:00", **late),
        job(JobID="4", Eligible=f"{DAY}12:30:00", **late),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("job_id", "hold_s", "wait_s") == [
        ("1", 7200, 300),
        ("2", 0, 7500),
        ("3", 0, 7500),
        ("4", 0, 7500),
    ]
    assert found.jobs.select(pl.col("start_s") - pl.col("submit_s")).to_series().to_list() == [7500] * 4
    assert found.of("eligible_s")[:2] == [1717329600, None]
    assert found.flags == {
        "1": set(),
        "2": {QualityFlag.ELIGIBLE_UNKNOWN},
        "3": {QualityFlag.ELIGIBLE_NOT_CREDIBLE},
        "4": {QualityFlag.ELIGIBLE_NOT_CREDIBLE},
    }


def test_monthly_dumps_overlap_in_any_order(tmp_path: Path):
    begun = {"JobID": "77", "Submit": "2024-01-31T22:00:00", "Start": "2024-01-31T23:00:00"}
    january = dump(begun | {"State": "RUNNING", "End": "Unknown", "Elapsed": "00:59:00"})
    february = dump(begun | {"State": "COMPLETED", "End": "2024-02-01T02:00:00", "Elapsed": "03:00:00"})
    orders = [(january, february), (february, january), (february, february), (january, february, january)]
    for order in orders:
        found = read_files({f"{k}.log": text for k, text in enumerate(order)}, tmp_path)
        one = found.only()
        assert (one["job_id"], one["state"], one["runtime_s"], one["attempt_count"]) == (
            "77",
            "COMPLETED",
            10800,
            1,
        )
        assert found.parsed.counts.merged == len(order)
        assert found.parsed.facts == {"records_superseded": len(order) - 1}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("gpu1,cpu[004,007],login2", 4),
        ("r07-[08-11]", 4),
        ("n[1-3,7],m[01-02]-ib", 6),
        ("n1", 1),
        ("r[1-2]n[1-4]", 8),
        ("[1-2]", 2),
        ("n[1-3", None),
        ("n1-3]", None),
        ("n[]", None),
        ("n[3-1]", None),
        ("a,,b", None),
        ("", None),
        ("n[1-99999999999]", None),
        ("n[[1-2]]", None),
    ],
)
def test_how_many_nodes_a_list_names(text: str, count: int | None):
    assert nodes_count(text) == count


def test_nodes_are_counted_where_no_column_tells_their_number(tmp_path: Path):
    rows = [
        job(JobID="1", NodeList="n[1-3]", NNodes="5"),
        job(JobID="2", NodeList="n[1-3]", NNodes=""),
        job(JobID="3", NodeList="n[1-3", NNodes=""),
        job(JobID="4", NodeList="n[1-3", NNodes="2"),
    ]
    found = read(dump(*rows), tmp_path)
    assert found.of("nodes") == [5, 3, None, 2]
    assert [bool(flags) for flags in found.flags.values()] == [False, False, True, False]
