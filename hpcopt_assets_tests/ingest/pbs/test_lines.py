"""Every line is a record of a job, a comment, blank or refused, and says what became of it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.ingest.parsed import Options, SourceFile
from hpcopt_assets.ingest.pbs.lines import read_lines
from hpcopt_assets.ingest.pbs.reader import read_pbs
from hpcopt_assets_tests.ingest.pbs.helpers import LIMITS, ended, only, parsed, read, refused

GOOD = ended("Exit_status=0")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("some text", "not_a_record"),
        ("03/10/2024 12:00:00;E", "not_a_record"),
        ("2024-03-10 12:00:00;E;1;user=u", "not_a_record"),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18", "not_a_record"),
        ("03/10/2024 12:00:00;X;1;user=u", "unknown_record_type"),
        ("03/10/2024 12:00:00;;1;user=u", "unknown_record_type"),
        ("03/10/2024 12:00:00;E;;user=u", "no_job_id"),
        ("13/41/2024 12:00:00;E;1;user=u", "not_a_time"),
        ("02/30/2024 12:00:00;E;1;user=u", "not_a_time"),
        ("03/10/2024 12:00:00;D;81.srv;requestor=o", "no_submit_time"),
        ("03/10/2024 12:00:00;a;81.srv;Priority=1", "no_submit_time"),
        ("03/10/2024 12:00:00;S;81.srv;user=u start=1710064800", "no_submit_time"),
        ("03/10/2024 12:00:00;Q;81[].srv;queue=long", "pending_array_range"),
        (ended("", "81.srv", run_s=-1).strip(), "negative_runtime"),
        (ended("", "81.srv").replace("start=1710068400", "start=1710064799").strip(), "negative_wait"),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, line: str, code: str) -> None:
    found = parsed(f"{GOOD}{line}\n", tmp_path)
    assert refused(found) == {2: code}
    assert found.refused[0].text == line
    assert found.counts.merged == 1


def test_an_id_of_no_utf8_is_refused_free_text_is_not(tmp_path: Path) -> None:
    bad_id, bad_account = (
        GOOD.encode().replace(b"1.srv", b"\xff.srv"),
        GOOD.encode().replace(b"group=g", b"group=\xff"),
    )
    found = parsed(bad_id + bad_account, tmp_path)
    assert refused(found) == {1: "undecodable"}
    assert found.records.collect()["group"].to_list() == ["\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("kind", "LBFKkUYy")
def test_licences_and_reservations_are_of_no_job(tmp_path: Path, kind: str) -> None:
    found = parsed(f"{GOOD}03/10/2024 12:00:00;{kind};R12.srv;owner=u start=1 end=2\n", tmp_path)
    assert (found.counts.comment, found.counts.merged, found.refused) == (1, 1, [])


@pytest.mark.parametrize("kind", "aucesPpMzrAD")
def test_other_records_of_a_job_become_part_of_it(tmp_path: Path, kind: str) -> None:
    found = parsed(f"03/10/2024 11:30:00;{kind};1.srv;user=other ctime=5\n{GOOD}", tmp_path)
    assert (found.counts.merged, found.refused) == (2, [])
    job = only(found.records.collect())
    assert (job["user"], job["submit_s"], job["source_line"]) == ("u1", 1710064800, 2)


def test_comments_blank_lines_and_odd_ends(tmp_path: Path) -> None:
    text = (
        "; UnixStartTime: 0\r\n;\r\n# note\r\n\r\n  \r\n"
        + GOOD.replace("\n", "\r\n")
        + "03/10/2024 12:00:01;D;1.srv"
    )
    found = parsed(text, tmp_path)
    assert (found.counts.comment, found.counts.blank, found.counts.merged) == (3, 2, 2)
    assert found.records.collect()["state"].to_list() == ["COMPLETED"]


def test_a_refused_attempt_takes_only_its_own_records_along(tmp_path: Path) -> None:
    bad = ended("", run_s=-1).replace("start=1710068400", "start=1710078400")
    found = parsed(GOOD + bad, tmp_path)
    assert refused(found) == {2: "negative_runtime"}
    assert found.records.collect()["attempt_count"].to_list() == [1]


def test_reasons_say_what_was_found_and_needed(tmp_path: Path) -> None:
    log = (
        "03/10/2024 12:00:00;Q;5[].srv;queue=q array_indices=1-10%2\n"
        + ended("", run_s=-60)
        + "03/10/2024 12:00:00;W;1;\n"
    )
    reasons = {line.source_line: line.reason for line in parsed(log, tmp_path).refused}
    assert reasons == {
        1: "array 5[].srv of 10 tasks, 2 at once: no record of any of them, one needed",
        2: "start 1710068400, end 1710068340, an end not before the start needed",
        3: "record type 'W', one of ABCDEFKLMPQRSTUYacekprsuyz needed",
    }


def test_an_array_is_its_tasks(tmp_path: Path) -> None:
    log = (
        "03/10/2024 10:00:00;Q;5[].srv;queue=q array_indices=1-10\n"
        + ended("Exit_status=0", "5[4].srv")
        + ended("Exit_status=0", "6-2.srv")
    )
    found = parsed(log, tmp_path)
    jobs = found.records.collect().sort("job_id")
    assert jobs.select("job_id", "array_job_id").rows() == [("5[4].srv", "5"), ("6-2.srv", "6")]
    assert (found.counts.merged, found.refused, found.facts["arrays"]) == (3, [], 1)


def test_one_number_on_two_servers_is_two_jobs(tmp_path: Path) -> None:
    found = read(ended("", "6.a") + ended("", "6.b") + ended("", "6"), tmp_path)
    assert found["job_id"].to_list() == ["6", "6.a", "6.b"]


def test_dumps_may_overlap(tmp_path: Path) -> None:
    started = (
        "03/10/2024 11:00:00;S;1.srv;user=u1 queue=workq ctime=1710064800 qtime=1710064800 etime=1710064800 "
        "start=1710068400\n"
    )
    logs = {"20240310": started, "20240311": started + GOOD}
    found = parsed(logs, tmp_path)
    job = only(found.records.collect())
    assert (job["state"], job["source_file"], job["source_line"]) == ("COMPLETED", "20240311", 2)
    assert found.counts.merged == 3


def test_the_order_of_files_does_not_matter(tmp_path: Path) -> None:
    logs = {"20240310": GOOD, "20240311": GOOD + ended("", "2.srv")}
    found = parsed(logs, tmp_path).records.collect()
    assert found["source_file"].to_list() == ["20240310", "20240311"]
    assert parsed(dict(reversed(logs.items())), tmp_path).records.collect().equals(found)


def test_packed_logs_are_read(tmp_path: Path) -> None:
    assert read(gzip.compress(GOOD.encode()), tmp_path).height == 1


def test_the_order_of_records_that_contradict_each_other_is_the_same_for_all_time() -> None:
    found = read_lines(b"03/10/2024 12:00:00;E;1;user=u\n", 1)
    assert found.records["text_hash"].to_list() == [16_268_303_101_297_436_889]


def test_a_file_that_cannot_be_read_raises(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="empty"):
        parsed("", tmp_path)


@pytest.mark.parametrize("text", ["\N{BYTE ORDER MARK}", "\n", "; nothing\n"])
def test_a_log_without_records_is_empty(tmp_path: Path, text: str) -> None:
    assert read(text, tmp_path).is_empty()


def test_more_records_than_the_limit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    path.write_text(GOOD * 3)
    options = Options(LIMITS.model_copy(update={"max_rows": 2}))
    with pytest.raises(TraceError, match="max_rows"):
        read_pbs((SourceFile(path, path.name),), options)
