"""Fugaku's jobs: times as text or timestamps in Japan's time, limits in seconds, memory for each node."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode, RequestKind
from hpcopt_assets.ingest.parquet.columns import find_columns
from hpcopt_assets.ingest.parquet.fdata import FIELDS, read_fdata
from hpcopt_assets.ingest.parsed import SourceFile
from hpcopt_assets_tests.ingest.parquet.helpers import (
    FDATA_SCHEMA,
    JAPAN,
    T0,
    codes,
    fdata,
    japan,
    jobs_of,
    one,
    parse,
    write,
)


def job(folder: Path, types: dict[str, Any] | None = None, /, **columns: Any) -> dict[str, Any]:
    """How a row with these columns is read."""
    return one(read_fdata, write(folder / "a.parquet", [fdata(**columns)], FDATA_SCHEMA, **(types or {})))


def test_a_plain_job(tmp_path: Path) -> None:
    row = job(tmp_path, jnam="jnam_8", mmszu=5e9, usctmut=1_500_000.0)
    assert {name: value for name, value in row.items() if value is not None} == {
        "trace_id": "made", "job_id": "jid_1", "source_file": "a.parquet", "source_line": 1,
        "submit_s": T0, "release_s": T0, "hold_s": 0, "start_s": T0 + 5, "end_s": T0 + 105,
        "wait_s": 5, "runtime_s": 100, "requested_runtime_s": 3600, "requested_runtime_kind": "limit",
        "procs": 96, "requested_procs": 96, "allocated_procs": 96, "nodes": 2,
        "used_memory_bytes": 5_000_000_000, "cpu_used_s": 1500.0, "state": "COMPLETED",
        "attempt": 1, "attempt_count": 1, "user": "usr_3", "name": "jnam_8", "quality_flags": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "2020-09-13 21:26:40",
        "2020-09-13T21:26:40",
        "2020-09-13 21:26:40.75",
        "2020-09-13 21:26:40+09",
        "2020-09-13 21:26:40+0900",
        "2020-09-13 21:26:40+09:00",
        "2020-09-13 12:26:40+00:00",
        "2020-09-13T12:26:40Z",
        "2020-09-13 12:26:40.123456 +00:00",
        " 2020-09-13 02:56:40-09:30 ",
    ],
)
def test_times_of_all_spellings_are_one_instant(tmp_path: Path, text: str) -> None:
    assert job(tmp_path, adt=text)["submit_s"] == T0


def test_times_without_an_offset_follow_the_registrys_zone(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet", [fdata(adt="2020-09-13 12:26:40", sdt="2020-09-13 21:26:45+09")], FDATA_SCHEMA
    )
    assert one(read_fdata, path, timezone="UTC")["submit_s"] == T0


@pytest.mark.parametrize(
    "dtype", [pl.Datetime("us", "Asia/Tokyo"), pl.Datetime("ns"), pl.Datetime("ms", "UTC")]
)
def test_times_may_be_timestamps(tmp_path: Path, dtype: pl.Datetime) -> None:
    times = {"adt": T0, "sdt": T0 + 5, "edt": T0 + 105, "deldt": None}

    def stamp(seconds: int | None) -> datetime | None:
        if seconds is None:
            return None
        at = datetime.fromtimestamp(seconds, JAPAN)
        return at if dtype.time_zone else at.replace(tzinfo=None)

    row = job(tmp_path, dict.fromkeys(times, dtype), **{name: stamp(at) for name, at in times.items()})
    assert (row["submit_s"], row["start_s"], row["end_s"], row["state"]) == (
        T0,
        T0 + 5,
        T0 + 105,
        "COMPLETED",
    )


def test_times_may_be_seconds(tmp_path: Path) -> None:
    row = job(tmp_path, {"adt": pl.Int64, "sdt": pl.Float64}, adt=T0, sdt=T0 + 5.0)
    assert (row["submit_s"], row["wait_s"]) == (T0, 5)


def test_an_hour_that_comes_twice_is_flagged(tmp_path: Path) -> None:
    rows = [
        fdata(
            adt="2020-10-25 02:30:00", sdt="2020-10-25 04:00:00", edt="2020-10-25 05:00:00", duration=3600.0
        ),
        fdata(
            2,
            adt="2020-10-25 01:30:00",
            sdt="2020-10-25 04:00:00",
            edt="2020-10-25 05:00:00",
            duration=3600.0,
        ),
        fdata(
            3,
            adt="2020-10-25 02:30:00+01",
            sdt="2020-10-25 04:00:00",
            edt="2020-10-25 05:00:00",
            duration=3600.0,
        ),
    ]
    found = jobs_of(
        parse(read_fdata, write(tmp_path / "a.parquet", rows, FDATA_SCHEMA), timezone="Europe/Rome")
    )
    assert found["quality_flags"].to_list() == [["ambiguous_local_time"], [], []]
    assert found["wait_s"].to_list() == [9000, 3600 * 3 + 1800, 5400]


@pytest.mark.parametrize(
    ("limit", "seconds", "kind", "is_flagged"),
    [
        (3600.0, 3600, RequestKind.LIMIT, False),
        (0.0, 0, RequestKind.LIMIT, False),
        (float("nan"), None, RequestKind.UNKNOWN, False),
        (None, None, RequestKind.UNKNOWN, False),
        (float(2**64 - 1), None, RequestKind.UNLIMITED, False),
        (float(2**32 - 1), None, RequestKind.UNLIMITED, False),
        (float(2**31 - 1), None, RequestKind.UNLIMITED, False),
        (-5.0, None, RequestKind.UNKNOWN, True),
        (1e13, None, RequestKind.UNKNOWN, True),
    ],
)
def test_the_limit_is_in_seconds(
    tmp_path: Path, limit: float | None, seconds: int | None, kind: RequestKind, *, is_flagged: bool
) -> None:
    row = job(tmp_path, elpl=limit)
    assert (row["requested_runtime_s"], row["requested_runtime_kind"]) == (seconds, kind)
    assert (QualityFlag.INVALID_LIMIT in row["quality_flags"]) == is_flagged


def test_fractions_are_rounded_and_flagged(tmp_path: Path) -> None:
    row = job(tmp_path, elpl=1800.5, duration=100.0)
    assert row["requested_runtime_s"] == 1801
    assert row["quality_flags"] == [QualityFlag.FRACTIONAL_TIME]


@pytest.mark.parametrize(
    ("columns", "state"),
    [
        ({"exit state": "completed", "ec": 0}, JobState.COMPLETED),
        ({"exit state": "Failed", "ec": 1}, JobState.FAILED),
        ({"exit state": None, "ec": 0}, JobState.COMPLETED),
        ({"exit state": None, "ec": 137}, JobState.FAILED),
        ({"exit state": "failed", "ec": 137, "deldt": japan(T0 + 100)}, JobState.CANCELLED),
        ({"exit state": "failed", "ec": 137, "deldt": ""}, JobState.FAILED),
        ({"exit state": "failed", "ec": 137, "deldt": "1970-01-01 09:00:00"}, JobState.FAILED),
        ({"exit state": "failed", "ec": 137, "deldt": "never"}, JobState.FAILED),
        ({"exit state": "completed", "ec": 0, "deldt": japan(T0 + 100)}, JobState.COMPLETED),
        ({"exit state": "frobbed", "ec": 0}, JobState.UNKNOWN),
        ({"exit state": None, "ec": None}, JobState.UNKNOWN),
    ],
    ids=str,
)
def test_states(tmp_path: Path, columns: dict[str, Any], state: JobState) -> None:
    row = job(tmp_path, **columns)
    assert row["state"] == state
    assert (QualityFlag.UNKNOWN_STATUS in row["quality_flags"]) == (state is JobState.UNKNOWN)


def test_the_exit_state_may_be_spelled_without_a_space_or_be_absent(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [fdata(**{"exit state": "failed", "ec": 1})], FDATA_SCHEMA)
    frame = pl.read_parquet(path)
    frame.rename({"exit state": "exit_state"}).write_parquet(path)
    assert one(read_fdata, path)["state"] == JobState.FAILED
    frame.drop("exit state").write_parquet(path)
    assert one(read_fdata, path)["state"] == JobState.FAILED


def test_unfinished_and_never_started_jobs(tmp_path: Path) -> None:
    silent = {"exit state": None, "ec": None, "edt": None}
    rows = [
        fdata(1, **silent, duration=40.0),
        fdata(2, **silent, sdt="", duration=None),
        fdata(3, **silent, sdt=None, deldt=japan(T0 + 9), duration=0.0),
        fdata(
            4,
            sdt="1970-01-01 09:00:00",
            edt="1970-01-01 09:00:00",
            duration=0.0,
            ec=1,
            **{"exit state": "failed"},
        ),
    ]
    found = jobs_of(parse(read_fdata, write(tmp_path / "a.parquet", rows, FDATA_SCHEMA)))
    assert found.select("state", "start_s", "end_s", "runtime_s").rows() == [
        (JobState.RUNNING, T0 + 5, None, 40),
        (JobState.PENDING, None, None, None),
        (JobState.CANCELLED, None, None, None),
        (JobState.FAILED, None, None, None),
    ]


def test_processors_were_held_from_start_to_end(tmp_path: Path) -> None:
    """The published durations differ from that by seconds, sometimes by minutes."""
    for duration, is_flagged in ((100.0, False), (99.0, False), (130.0, True), (40.0, True)):
        row = job(tmp_path, run=100, duration=duration)
        assert (row["runtime_s"], row["end_s"]) == (100, T0 + 105)
        assert (QualityFlag.ELAPSED_DIFFERS in row["quality_flags"]) == is_flagged
    assert job(tmp_path, edt=None, duration=77.0)["runtime_s"] == 77
    assert job(tmp_path, {"duration": None})["runtime_s"] == 100


def test_memory_limits_count_for_each_node_and_the_largest_number_is_none(tmp_path: Path) -> None:
    gib = 2**30
    assert job(tmp_path, mszl=28.0 * gib, nnumr=2)["requested_memory_bytes"] == 56 * gib
    assert job(tmp_path, mszl=28.0 * gib, nnumr=0, nnuma=3)["requested_memory_bytes"] == 84 * gib
    for no_limit in (float(2**64 - 1), float(2**63 - 1), 1e15, None):
        assert job(tmp_path, mszl=no_limit)["requested_memory_bytes"] is None
    assert job(tmp_path, {"mszl": pl.UInt64}, mszl=2**64 - 1)["requested_memory_bytes"] is None


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"adt": None}, RejectCode.NO_SUBMIT_TIME),
        ({"adt": ""}, RejectCode.NO_SUBMIT_TIME),
        ({"adt": "1970-01-01 09:00:00"}, RejectCode.NO_SUBMIT_TIME),
        ({"adt": "yesterday"}, RejectCode.NOT_A_TIME),
        ({"adt": "2020-13-41 00:00:00"}, RejectCode.NOT_A_TIME),
        ({"adt": "2020-09-13 21:26:40 soon"}, RejectCode.NOT_A_TIME),
        ({"adt": "2020-09-13 21:26:40+9"}, RejectCode.NOT_A_TIME),
        ({"sdt": "2020-09-13"}, RejectCode.NOT_A_TIME),
        ({"jid": None}, RejectCode.NO_JOB_ID),
        ({"jid": "  "}, RejectCode.NO_JOB_ID),
        ({"duration": -1.0}, RejectCode.NEGATIVE_RUNTIME),
        ({"duration": float("inf")}, RejectCode.OUT_OF_RANGE),
        ({"wait": -3}, RejectCode.NEGATIVE_WAIT),
        ({"edt": japan(T0)}, RejectCode.NEGATIVE_RUNTIME),
        ({"cnumr": -1}, RejectCode.NEGATIVE_VALUE),
        ({"mmszu": -1.0}, RejectCode.NEGATIVE_VALUE),
    ],
    ids=str,
)
def test_a_bad_value_costs_its_own_row(tmp_path: Path, columns: dict[str, Any], code: RejectCode) -> None:
    rows = [fdata(1), fdata(2, **columns), fdata(3)]
    parsed = parse(read_fdata, write(tmp_path / "a.parquet", rows, FDATA_SCHEMA))
    assert codes(parsed.refused) == {2: code}
    assert jobs_of(parsed)["job_id"].to_list() == ["jid_1", "jid_3"]


def test_numbers_may_be_texts(tmp_path: Path) -> None:
    rows = [fdata(1, cnumr="96", nnumr=""), fdata(2, cnumr="many"), fdata(3, cnumr="nan")]
    path = write(tmp_path / "a.parquet", rows, FDATA_SCHEMA, cnumr=pl.String, nnumr=pl.String)
    pl.read_parquet(path).with_columns(nnumr=pl.col("nnumr").fill_null("2")).write_parquet(path)
    parsed = parse(read_fdata, path)
    assert codes(parsed.refused) == {2: RejectCode.NOT_A_NUMBER}
    assert "cnumr is many" in parsed.refused[0].reason
    assert jobs_of(parsed)["requested_procs"].to_list() == [96, None]


@pytest.mark.parametrize("column", ["jid", "adt", "sdt", "edt", "elpl", "cnumr", "cnumat"])
def test_a_missing_column_is_named(tmp_path: Path, column: str) -> None:
    path = write(tmp_path / "a.parquet", [fdata()], FDATA_SCHEMA, **{column: None})
    with pytest.raises(TraceError, match=f"no column {column} among"):
        parse(read_fdata, path)


def test_the_published_columns(test_data: Path) -> None:
    path = test_data / "traces" / "parquet" / "FDATA_schema_0rows.parquet"
    assert find_columns(SourceFile(path, path.name), FIELDS).spelled["name"] == "jnam"
    parsed = parse(read_fdata, path)
    assert (parsed.counts.lines, parsed.refused) == (0, [])
    assert jobs_of(parsed).is_empty()
    assert (parsed.machine.computer, parsed.machine.timezone) == ("Fugaku", "Asia/Tokyo")
