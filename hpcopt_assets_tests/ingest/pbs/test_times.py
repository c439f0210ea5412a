"""Which time counts: epochs, else the machine's clock, and what is known of its timezone."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcopt_assets_tests.ingest.pbs.helpers import only, parsed, read

WAITED = "{0};Q;9;queue=q\n{0};D;9;requestor=r\n"


@pytest.mark.parametrize(
    ("local", "timezone", "submit_s"),
    [
        ("03/10/2024 10:00:00", None, 1710064800),
        ("03/10/2024 10:00:00", "Europe/Berlin", 1710061200),
        ("07/10/2024 10:00:00", "Europe/Berlin", 1720598400),
        ("10/27/2024 02:30:00", "Europe/Berlin", 1729989000),
        ("03/31/2024 02:30:00", "Europe/Berlin", 1711845000),
    ],
)
def test_a_job_without_epochs_is_timed_by_the_clock(
    tmp_path: Path, local: str, timezone: str | None, submit_s: int
) -> None:
    assert only(read(WAITED.format(local), tmp_path, timezone))["submit_s"] == submit_s


def test_an_hour_that_comes_twice_is_marked(tmp_path: Path) -> None:
    twice = only(read(WAITED.format("10/27/2024 02:30:00"), tmp_path, "Europe/Berlin"))
    once = only(read(WAITED.format("10/27/2024 03:30:00"), tmp_path, "Europe/Berlin"))
    assert twice["quality_flags"] == ["ambiguous_local_time"]
    assert once["quality_flags"] == []


def test_an_hour_that_never_was_is_marked(tmp_path: Path) -> None:
    skipped = only(read(WAITED.format("03/31/2024 02:30:00"), tmp_path, "Europe/Berlin"))
    after = only(read(WAITED.format("03/31/2024 03:30:00"), tmp_path, "Europe/Berlin"))
    assert skipped["quality_flags"] == ["ambiguous_local_time"]
    assert after["quality_flags"] == []


TORQUE = """\
03/10/2024 05:00:00;Q;3;queue=q
03/10/2024 05:00:00;S;3;user=u queue=q ctime=1710064800 qtime=1710064800 etime=1710064800 start=1710064800
03/10/2024 05:10:00;R;3;
03/10/2024 05:20:00;S;3;user=u queue=q ctime=1710064800 qtime=1710064800 etime=1710064800 start=1710066000
03/10/2024 06:20:00;E;3;user=u queue=q ctime=1710064800 qtime=1710064800 etime=1710064800 start=1710066000 end=1710069600 Exit_status=0
"""  # noqa: E501 -- a record is one line


def test_a_jobs_own_epochs_tell_its_clock_where_no_timezone_is_given(tmp_path: Path) -> None:
    # The clock is five hours behind UTC; taken for UTC, the rerun would precede both starts.
    found = parsed(TORQUE, tmp_path)
    jobs = found.records.collect().sort("attempt")
    assert jobs["start_s"].to_list() == [1710064800, 1710066000]
    assert jobs["end_s"].to_list() == [1710065400, 1710069600]
    assert found.facts["attempts_on_another_clock"] == 2


def test_the_right_timezone_changes_nothing_and_is_no_other_clock(tmp_path: Path) -> None:
    found = parsed(TORQUE, tmp_path, "Etc/GMT+5")
    assert found.records.collect().equals(parsed(TORQUE, tmp_path).records.collect())
    assert "attempts_on_another_clock" not in found.facts


def test_a_record_written_late_tells_nothing_of_the_clock(tmp_path: Path) -> None:
    # The start took ten minutes; that is no timezone.
    found = parsed(
        TORQUE.replace("05:00:00;S", "05:10:00;S").replace("05:10:00;R", "05:15:00;R"), tmp_path, "Etc/GMT+5"
    )
    assert found.records.collect().sort("attempt")["end_s"].to_list() == [1710065700, 1710069600]


def test_a_job_that_begins_and_ends_in_one_second_ran(tmp_path: Path) -> None:
    log = (
        "03/10/2024 10:00:00;S;4;user=u queue=q ctime=1710064800 qtime=1710064800 start=1710064800\n"
        "03/10/2024 10:00:00;E;4;user=u queue=q ctime=1710064800 qtime=1710064800 start=1710064800 "
        "end=1710064800 Exit_status=0\n"
    )
    found = read(log, tmp_path)
    assert found["runtime_s"].to_list() == [0]
    assert found["quality_flags"].to_list() == [["eligible_unknown"]]


def test_unknown_epochs_are_written_as_zero(tmp_path: Path) -> None:
    log = "03/10/2024 10:00:00;Q;5;user=u queue=q ctime=1710064800 qtime=1710064800 etime=0\n"
    assert only(read(log, tmp_path))["eligible_s"] is None


def test_the_nearest_job_of_an_id_tells_its_clock(tmp_path: Path) -> None:
    # The clock of the machine is UTC+1 in winter and UTC+2 in summer.
    log = (
        "01/10/2024 11:00:00;E;6;user=u queue=q ctime=1704880800 start=1704880800 end=1704880800\n"
        "07/10/2024 11:59:55;D;6;requestor=u@h\n"
        "07/10/2024 12:00:00;E;6;user=u queue=q ctime=1720602000 start=1720602000 end=1720605600 "
        "Exit_status=1\n"
    )
    assert read(log, tmp_path)["state"].to_list() == ["UNKNOWN", "CANCELLED"]
