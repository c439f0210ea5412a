"""Months that overlap: one row for each attempt, the finished record, in any order of files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.vocabulary import JobState
from hpcopt_assets.ingest.parquet import columns, dumps
from hpcopt_assets.ingest.parquet.fdata import read_fdata
from hpcopt_assets.ingest.parquet.pm100 import read_pm100
from hpcopt_assets_tests.ingest.parquet.helpers import (
    FDATA_SCHEMA,
    PM100_SCHEMA,
    T0,
    Row,
    fdata,
    jobs_of,
    parse,
    pm100,
    write,
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "PIECE_ROWS", 3)
    monkeypatch.setattr(dumps, "IDS_AT_ONCE", 2)


def months(folder: Path, *rows: list[Row]) -> list[Path]:
    return [write(folder / f"{k}.parquet", month, PM100_SCHEMA) for k, month in enumerate(rows)]


def test_a_job_that_ran_over_the_end_of_a_month_is_one_job(tmp_path: Path) -> None:
    january = [pm100(76), pm100(77, submit=50, wait=0, run=7200, run_time=3600, job_state="RUNNING")]
    february = [pm100(77, submit=50, wait=0, run=10_800, job_state="COMPLETED"), pm100(78)]
    for order in permutations(months(tmp_path, january, february)):
        for paths in (order, (*order, order[0])):
            parsed = parse(read_pm100, *paths)
            jobs = jobs_of(parsed)
            assert jobs["job_id"].to_list() == ["76", "77", "78"]
            job = jobs.row(1, named=True)
            assert (job["state"], job["runtime_s"], job["source_file"]) == (
                JobState.COMPLETED,
                10_800,
                "1.parquet",
            )
            assert (job["attempt"], job["attempt_count"]) == (1, 1)
            assert parsed.facts["superseded_lines"] == parsed.counts.lines - 3
            assert parsed.counts.merged == parsed.counts.lines


def test_a_job_that_waited_over_the_end_of_a_month_is_one_job(tmp_path: Path) -> None:
    january = [pm100(5, wait=900, job_state="PENDING")]
    february = [pm100(5, wait=700, job_state="RUNNING", run_time=10)]
    march = [pm100(5, wait=700, job_state="FAILED")]
    paths = months(tmp_path, january, february, march)
    for chosen, state in (
        (paths, JobState.FAILED),
        (paths[:2], JobState.RUNNING),
        (paths[:1], JobState.PENDING),
    ):
        (job,) = jobs_of(parse(read_pm100, *chosen)).rows(named=True)
        assert job["state"] == state
        assert job["start_s"] == (None if state is JobState.PENDING else T0 + 700)


def test_of_two_looks_at_a_running_job_the_later_counts(tmp_path: Path) -> None:
    looks = [[pm100(5, job_state="RUNNING", run_time=run)] for run in (500, 900, 100)]
    (job,) = jobs_of(parse(read_pm100, *months(tmp_path, *looks))).rows(named=True)
    assert (job["runtime_s"], job["source_file"]) == (900, "1.parquet")


def test_other_starts_and_submissions_of_an_id_are_attempts(tmp_path: Path) -> None:
    rows = [
        pm100(235, submit=7380, wait=1020, run=5400),
        pm100(235, submit=0, wait=300, run=3300, job_state="NODE_FAIL"),
        pm100(235, submit=3660, wait=660, run=3630, job_state="PREEMPTED"),
        pm100(236),
        pm100(235, submit=3660, wait=660, run=3630, job_state="PREEMPTED"),
    ]
    jobs = jobs_of(parse(read_pm100, write(tmp_path / "a.parquet", rows, PM100_SCHEMA)))
    assert jobs.select("job_id", "attempt", "attempt_count", "runtime_s").rows() == [
        ("235", 1, 3, 3300),
        ("235", 2, 3, 3630),
        ("235", 3, 3, 5400),
        ("236", 1, 1, 100),
    ]


def test_a_rerun_is_released_when_the_run_before_ended(tmp_path: Path) -> None:
    rows = [
        pm100(5, wait=60, run=3600, job_state="NODE_FAIL"),
        pm100(5, wait=4200, run=600),
        pm100(6, wait=60, run=3600, job_state="NODE_FAIL"),
        pm100(6, submit=5000, wait=10, run=600),
        pm100(7, wait=60, run=3600, job_state="NODE_FAIL"),
        pm100(7, wait=100, run=600),
    ]
    jobs = jobs_of(parse(read_pm100, write(tmp_path / "a.parquet", rows, PM100_SCHEMA)))
    waits = jobs.select("job_id", pl.col("release_s") - T0, "wait_s").rows()
    # The runs of job 7 overlap: no end of the one released the other.
    assert waits == [
        ("5", 0, 60),
        ("5", 3660, 540),
        ("6", 0, 60),
        ("6", 5000, 10),
        ("7", 0, 60),
        ("7", 0, 100),
    ]
    fugaku = [fdata(5, wait=60, run=3600, **{"exit state": "failed"}), fdata(5, wait=4200, run=600)]
    jobs = jobs_of(parse(read_fdata, write(tmp_path / "b.parquet", fugaku, FDATA_SCHEMA)))
    assert jobs["wait_s"].to_list() == [60, 540]


def test_a_look_at_a_run_that_a_later_attempt_overtook_does_not_stay(tmp_path: Path) -> None:
    looks = [
        [pm100(5, wait=60, run_time=60, job_state="RUNNING"), pm100(6, job_state="PENDING")],
        [pm100(5, wait=1800, run=600), pm100(6, submit=900, job_state="FAILED")],
        [pm100(5, submit=5000, wait=10, run_time=7, job_state="RUNNING")],
    ]
    for order in permutations(looks):
        parsed = parse(read_pm100, *months(tmp_path, *order))
        assert jobs_of(parsed).select("job_id", "state", "attempt", "attempt_count").rows() == [
            ("5", "COMPLETED", 1, 2),
            ("5", "RUNNING", 2, 2),
            ("6", "FAILED", 1, 1),
        ]
        assert parsed.facts == {"superseded_lines": 2}


YEAR_S = 365 * 86_400


def test_an_id_used_again_is_another_job(tmp_path: Path) -> None:
    rows = [
        pm100(5, submit=YEAR_S, job_state="NODE_FAIL"),
        pm100(5, submit=YEAR_S + 200),
        pm100(5),
        pm100(5, submit=1000, user_id=311),
        pm100(6),
    ]
    later, other = "5@2021-09-13T12:26:40Z", "5@2020-09-13T12:43:20Z"
    for order in permutations(months(tmp_path, rows[:2], rows[2:])):
        parsed = parse(read_pm100, *order)
        assert jobs_of(parsed).select("job_id", "attempt", "attempt_count").rows() == [
            ("5", 1, 1),
            (other, 1, 1),
            (later, 1, 2),
            (later, 2, 2),
            ("6", 1, 1),
        ]
        assert parsed.facts == {"jobs_with_a_reused_id": 2}
    fugaku = write(tmp_path / "f.parquet", [fdata(5), fdata(5, submit=YEAR_S)], FDATA_SCHEMA)
    assert jobs_of(parse(read_fdata, fugaku))["job_id"].to_list() == ["jid_5", "jid_5@2021-09-13T12:26:40Z"]


def test_of_records_that_know_as_much_content_decides_not_the_file(tmp_path: Path) -> None:
    rows = [[pm100(5, job_state="FAILED", partition=name)] for name in "bca"]
    for order in permutations(rows):
        (job,) = jobs_of(parse(read_pm100, *months(tmp_path, *order))).rows(named=True)
        assert job["partition"] == "a"


def test_a_refused_record_supersedes_nothing(tmp_path: Path) -> None:
    rows = [pm100(5), pm100(5, run_time=-1), pm100(6)]
    parsed = parse(read_pm100, write(tmp_path / "a.parquet", rows, PM100_SCHEMA))
    assert jobs_of(parsed)["job_id"].to_list() == ["5", "6"]
    assert parsed.facts == {}


def test_without_repeated_ids_files_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.parquet", [fdata(k) for k in range(20)], FDATA_SCHEMA)
    read: list[int] = []
    pieces = columns.Columns.pieces

    def counted(self: columns.Columns) -> Iterator[pl.DataFrame]:
        read.append(self.rows)
        return pieces(self)

    monkeypatch.setattr(columns.Columns, "pieces", counted)
    parsed = parse(read_fdata, path)
    assert read == [20]
    parsed.records.collect()
    assert read == [20, 20]


class Seen:
    """The rules again, one record at a time."""

    def __init__(self, place: int, line: int, row: Row) -> None:
        job = row["job_state"]
        self.place, self.line, self.job = place, line, row["job_id"]
        self.submit, self.run = row["submit_time"], row["run_time"]
        self.start = None if job == "PENDING" else row["start_time"]
        self.is_open = job in ("RUNNING", "PENDING")
        self.rank = (self.is_open, -self.run if self.start else 0, job, place, line)


def kept(records: list[Seen]) -> set[tuple[int, int]]:
    started = {(seen.job, seen.submit) for seen in records if seen.start is not None}
    groups: dict[Any, Seen] = {}
    for seen in records:
        if seen.start is None and (seen.job, seen.submit) in started:
            continue
        key = (seen.job, seen.submit, seen.start)
        if key not in groups or seen.rank < groups[key].rank:
            groups[key] = seen
    latest = {
        job: max((submit, start is None, start or submit) for other, submit, start in groups if other == job)
        for job, _, _ in groups
    }
    return {
        (seen.place, seen.line)
        for (job, submit, start), seen in groups.items()
        if not seen.is_open or (submit, start is None, start or submit) == latest[job]
    }


record = st.builds(
    lambda job, submit, wait, run, state: pm100(job, submit=submit, wait=wait, run=run, job_state=state),
    st.integers(1, 4),
    st.integers(0, 1),
    st.integers(0, 1),
    st.integers(1, 3),
    st.sampled_from(["COMPLETED", "FAILED", "RUNNING", "PENDING"]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(
    dumped=st.lists(st.lists(record, max_size=6), min_size=1, max_size=3),
    random=st.randoms(use_true_random=False),
)
def test_any_dumps_in_any_order_keep_the_records_that_count(
    tmp_path_factory: pytest.TempPathFactory, dumped: list[list[Row]], random: Any
) -> None:
    paths = months(tmp_path_factory.mktemp("dumps"), *dumped)
    records = [Seen(k, line, row) for k, rows in enumerate(dumped) for line, row in enumerate(rows, start=1)]
    random.shuffle(paths)
    jobs = jobs_of(parse(read_pm100, *paths))
    found = {
        (int(name.split(".")[0]), line)
        for name, line in jobs.select("source_file", "source_line").iter_rows()
    }
    assert found == kept(records)
    for part in jobs.partition_by("job_id"):
        assert part["attempt"].to_list() == list(range(1, part.height + 1))
        assert set(part["attempt_count"]) == {part.height}
        assert part.select("submit_s", "start_s").rows() == sorted(
            part.select("submit_s", "start_s").rows(), key=lambda row: (row[0], row[1] or -1)
        )


plain_job = st.builds(
    lambda submit, wait, run, cores, limit: fdata(
        submit=submit, wait=wait, run=run, cnumr=cores, cnumat=cores + 48, elpl=limit, usr=f"usr_{submit % 3}"
    ),
    st.integers(0, 10**6),
    st.integers(0, 10**5),
    st.integers(0, 10**5),
    st.integers(1, 10**6),
    st.sampled_from([600.0, 3600.0, 2.0**64]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=8)
@given(
    jobs=st.lists(plain_job, max_size=12), cut=st.integers(0, 12), random=st.randoms(use_true_random=False)
)
def test_shuffled_repeated_and_cut_files_give_the_same_jobs(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[Row], cut: int, random: Any
) -> None:
    folder = tmp_path_factory.mktemp("fdata")
    rows = [row | {"jid": f"jid_{k}"} for k, row in enumerate(jobs)]
    once = jobs_of(parse(read_fdata, write(folder / "once.parquet", rows, FDATA_SCHEMA)))
    assert once["submit_s"].to_list() == jobs_by_id(rows)
    random.shuffle(rows)
    paths = [
        write(folder / "a.parquet", rows[:cut], FDATA_SCHEMA),
        write(folder / "b.parquet", rows, FDATA_SCHEMA),
    ]
    random.shuffle(paths)
    again = jobs_of(parse(read_fdata, *paths))
    assert again.drop("source_file", "source_line").equals(once.drop("source_file", "source_line"))


def jobs_by_id(rows: list[Row]) -> list[int]:
    from datetime import datetime

    from hpcopt_assets_tests.ingest.parquet.helpers import JAPAN

    by_id = sorted(rows, key=lambda row: row["jid"])
    return [int(datetime.fromisoformat(row["adt"]).replace(tzinfo=JAPAN).timestamp()) for row in by_id]
