"""Troubles seen in public logs, as small texts of our own: unknown values, impossible times, states, gaps."""

from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.contracts.vocabulary import CapacitySource, JobState, RejectCode, RequestKind
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.usage import usage
from hpcopt_assets_tests.ingest.helpers import flags, line, read_text, rejected


def test_minus_one_is_unknown_and_never_a_number(tmp_path: Path):
    text = """; MaxProcs: 16
1 0   5 100 8 -1 -1 -1 -1 -1 1 1 1 -1 1 -1 -1 -1
2 10 -1  50 4 -1 -1  4 60 -1 1 2 1 -1 1 -1 -1 -1
3 20 15  40 4 -1 -1  4 60 -1 1 2 1 -1 1 -1 -1 -1
"""
    found = read_text(text, tmp_path)
    first, second, _ = found.jobs.iter_rows(named=True)
    assert (first["requested_procs"], first["procs"]) == (None, 8)
    assert (first["requested_runtime_s"], first["requested_runtime_kind"]) == (None, RequestKind.UNKNOWN)
    assert (second["wait_s"], second["start_s"], second["end_s"], second["runtime_s"]) == (
        None,
        None,
        None,
        50,
    )
    assert (found.jobs["wait_s"].mean(), found.jobs["wait_s"].count()) == (10.0, 2)
    for column in ("cpu_used_s", "used_memory_bytes", "requested_memory_bytes", "partition", "name"):
        assert found.jobs[column].null_count() == 3
    assert not any(found.jobs.select((pl.col(pl.Int64) == -1).any()).row(0))


def test_negative_wait_and_runtime_are_set_aside_with_their_names(tmp_path: Path):
    waits = (5, -12, -1, 15, 0)
    runs = (100, 60, 50, 40, -30)
    text = "; MaxProcs: 16\n" + "\n".join(
        line(job=k + 1, submit=100 * k, wait=waits[k], run=runs[k], allocated=4) for k in range(5)
    )
    found = read_text(text, tmp_path)
    assert rejected(found) == {3: RejectCode.NEGATIVE_WAIT, 6: RejectCode.NEGATIVE_RUNTIME}
    assert (
        found.rejects["reason"][0]
        == "wait time -12, a number from 0 to 274877906944 needed (-1 where unknown)"
    )
    assert found.jobs["job_id"].to_list() == ["1", "3", "4"]
    assert found.jobs["wait_s"].to_list() == [5, None, 15]
    assert found.breakdown["rejects_by_code"] == {"negative_runtime": 1, "negative_wait": 1}


def test_status_five_is_never_started_only_without_a_runtime(tmp_path: Path):
    text = """5 300 400 -1 -1 -1 -1 4 3600 -1 5 1 1 -1 1 -1 -1 -1
6 310  10 25  4 -1 -1 4 3600 -1 5 1 1 -1 1 -1 -1 -1
7 320  10  0  4 -1 -1 4 3600 -1 0 1 1 -1 1 -1 -1 -1
8 330  10 90  4 -1 -1 4 3600 -1 -1 1 1 -1 1 -1 -1 -1
9 340  10 -1  4 -1 -1 4 3600 -1 0 1 1 -1 1 -1 -1 -1
"""
    found = read_text(text, tmp_path)
    columns = ["state", "wait_s", "start_s", "runtime_s", "end_s"]
    assert found.jobs.select(columns).rows() == [
        (JobState.CANCELLED, None, None, None, None),
        (JobState.CANCELLED, 10, 320, 25, 345),
        (JobState.FAILED, 10, 330, 0, 330),
        (JobState.UNKNOWN, 10, 340, 90, 430),
        (JobState.FAILED, 10, 350, None, None),
    ]
    assert not any(flags(found).values())
    assert usage(Schedule.of(found.jobs)).peak() == 8  # jobs 6 and 8; job 5 holds nothing
    assert found.report["started_jobs_count"].item() == 4


def test_gaps_in_ids_and_a_predecessor_that_was_cleaned_away(tmp_path: Path):
    plain = [line(job=k, submit=k, run=10, requested=1) for k in (1, 2, 5)]
    flurry = [line(job=100 + k, submit=200 + 3 * k, run=5, requested=1, user=21) for k in range(200)]
    text = "\n".join(
        [
            *plain,
            line(job=9, submit=90, run=10, requested=1, preceding=3, think_time=30),
            line(job=10, submit=95, run=10, requested=1, preceding=5, think_time=7),
            *flurry,
        ]
    )
    found = read_text(text, tmp_path)
    assert found.jobs["job_id"].to_list()[:5] == ["1", "2", "5", "9", "10"]
    nine, ten = found.jobs.rows(named=True)[3:5]
    assert (nine["preceding_job_id"], nine["think_time_s"]) == (None, 30)
    assert nine["quality_flags"] == ["dangling_predecessor"]
    assert (nine["submit_s"], nine["release_s"], nine["hold_s"]) == (90, 90, 0)
    assert (ten["preceding_job_id"], ten["quality_flags"]) == ("5", [])
    assert found.jobs.filter(user="21").height == 200  # a flurry is data: nothing is deleted


def test_more_than_the_machine_in_use_is_recorded_as_it_was(tmp_path: Path):
    text = "; MaxProcs: 12\n" + "\n".join(
        line(job=job, submit=submit, wait=0, run=run, requested=procs, allocated=procs, requested_time=run)
        for job, submit, run, procs in ((1, 0, 100, 8), (2, 10, 100, 8), (3, 20, 10, 16))
    )
    found = read_text(text, tmp_path)
    report = found.report.row(0, named=True)
    assert (report["capacity_procs"], report["capacity_source"]) == (12, CapacitySource.HEADER)
    assert report["observed_peak_procs"] == 32
    assert report["observed_over_capacity_s"] == 90
    legal = usage(Schedule.of(found.jobs.filter(pl.col("procs") <= 12)))
    assert legal.peak() / 12 == pytest.approx(4 / 3)
    assert legal.seconds_above(12) == 90


def test_observed_usage_counts_what_was_allocated(tmp_path: Path):
    text = (
        line(job=1, wait=0, run=10, requested=4, allocated=6)
        + "\n"
        + line(job=2, wait=0, run=10, requested=3)
    )
    found = read_text(text, tmp_path)
    assert found.jobs["procs"].to_list() == [4, 3]
    assert found.report["observed_peak_procs"].item() == 9
