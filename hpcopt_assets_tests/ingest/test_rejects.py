"""Lines that become no job: one row each, with a code and what was found and needed."""

from pathlib import Path

import pytest

from hpcopt_assets.contracts.errors import ConservationError
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode
from hpcopt_assets.ingest.swf import log
from hpcopt_assets.ingest.swf.lines import Lines, read_lines
from hpcopt_assets_tests.ingest.helpers import line, read_text, rejected

OF_OTHER_FORMATS = {
    RejectCode.TOO_MANY_FIELDS,
    RejectCode.NO_JOB_OF_STEP,
    RejectCode.PENDING_ARRAY_RANGE,
    RejectCode.NOT_A_TIME,
    RejectCode.NOT_A_RECORD,
    RejectCode.UNKNOWN_RECORD_TYPE,
}
GOOD = line(job=77, submit=0, wait=0, run=10, requested=4)
BAD: list[tuple[str | bytes, RejectCode, str]] = [
    ("1 2 3", RejectCode.TOO_FEW_FIELDS, "3 fields, 18 needed"),
    (" ".join(["1"] * 17), RejectCode.TOO_FEW_FIELDS, "17 fields, 18 needed"),
    (line(run="ten"), RejectCode.NOT_A_NUMBER, "field 4 (run) is 'ten', a number needed"),
    (line(run="1-2"), RejectCode.NOT_A_NUMBER, "field 4 (run) is '1-2', a number needed"),
    (line(run="0x10"), RejectCode.NOT_A_NUMBER, "field 4 (run) is '0x10', a number needed"),
    (line(run="1_000"), RejectCode.NOT_A_NUMBER, "field 4 (run) is '1_000', a number needed"),
    (line(run="nan"), RejectCode.OUT_OF_RANGE, "run time nan"),
    (line(run="inf"), RejectCode.OUT_OF_RANGE, "run time inf"),
    (line(wait="-inf"), RejectCode.OUT_OF_RANGE, "wait time -inf"),
    (line(run="1e400"), RejectCode.OUT_OF_RANGE, "run time inf"),
    (line(run="9" * 400), RejectCode.OUT_OF_RANGE, "run time inf"),
    (line(run=2**38 + 1), RejectCode.OUT_OF_RANGE, "run time 274877906945"),
    (line(requested=2**24 + 1), RejectCode.OUT_OF_RANGE, "requested processors 16777217"),
    (line(requested="4.5"), RejectCode.OUT_OF_RANGE, "requested processors 4.5, a whole number"),
    (line(requested=2**20, requested_memory=2**50), RejectCode.OUT_OF_RANGE, "memory of 1.2089"),
    (line(allocated=2, used_memory=2**52), RejectCode.OUT_OF_RANGE, "memory of 9.2233"),
    (line(job=2**60), RejectCode.OUT_OF_RANGE, "job number 1.15292150460685e+18"),
    (line(job=-1), RejectCode.NO_JOB_ID, "job number -1 (unknown)"),
    (line(job=-4), RejectCode.NEGATIVE_VALUE, "job number -4"),
    (line(submit=-1), RejectCode.NO_SUBMIT_TIME, "submit time -1 (unknown)"),
    (line(submit="-1.0"), RejectCode.NO_SUBMIT_TIME, "submit time -1 (unknown)"),
    (line(submit=-2), RejectCode.NEGATIVE_VALUE, "submit time -2"),
    (line(wait=-12), RejectCode.NEGATIVE_WAIT, "wait time -12"),
    (line(wait="-0.4"), RejectCode.NEGATIVE_WAIT, "wait time -0.4"),
    (line(run=-30), RejectCode.NEGATIVE_RUNTIME, "run time -30"),
    (line(think_time=-5), RejectCode.NEGATIVE_VALUE, "think time -5"),
    (line(user=-7), RejectCode.NEGATIVE_VALUE, "user number -7"),
    (
        line(job=77, run=11),
        RejectCode.DUPLICATE_JOB_ID,
        "job 77, which line 1 of made.swf tells otherwise, one line for each job needed",
    ),
    (line(run="\xff").encode("latin-1"), RejectCode.UNDECODABLE, "byte 0xff at 8, UTF-8 needed"),
    (line().encode() + b" \xff", RejectCode.UNDECODABLE, "UTF-8 needed"),
]


@pytest.mark.parametrize(("bad", "code", "reason"), BAD, ids=lambda value: str(value)[:30])
def test_a_bad_line_is_a_reject_with_its_code_and_reason(bad, code, reason, tmp_path: Path):
    raw = bad if isinstance(bad, bytes) else bad.encode()
    found = read_text(GOOD.encode() + b"\n" + raw + b"\n" + line(job=78).encode(), tmp_path)
    assert found.jobs["job_id"].to_list() == ["77", "78"]
    (row,) = found.rejects.iter_rows(named=True)
    assert (row["source_line"], row["code"]) == (2, code)
    assert row["reason"].startswith(reason) or row["reason"].endswith(reason)
    assert row["text"] == raw.decode("utf-8", "replace")[:200]


def test_every_reject_code_is_reached():
    assert {code for _, code, _ in BAD} == set(RejectCode) - OF_OTHER_FORMATS


def test_a_line_is_refused_for_its_first_bad_field_alone(tmp_path: Path):
    found = read_text("\n".join([GOOD, line(submit=-1, wait=-5, run=-9)]), tmp_path)
    assert rejected(found) == {2: RejectCode.NO_SUBMIT_TIME}


def test_the_text_of_a_reject_is_cut_and_keeps_its_spacing(tmp_path: Path):
    bad = "  1\t2 é" + "x" * 300
    found = read_text(GOOD + "\n" + bad + "\r\n", tmp_path)
    assert found.rejects["text"].item() == bad[:200]


def test_of_lines_that_contradict_each_other_the_earliest_submission_is_kept(tmp_path: Path):
    lines = [line(job=1, submit=50, run=1), line(job=1, submit=10, run=2), line(job="1.0", submit=10, run=3)]
    found = read_text("\n".join(lines), tmp_path)
    assert found.jobs["runtime_s"].to_list() == [2]
    assert rejected(found) == {1: RejectCode.DUPLICATE_JOB_ID, 3: RejectCode.DUPLICATE_JOB_ID}


def test_a_line_that_says_the_same_again_is_merged(tmp_path: Path):
    lines = [line(job=1, run=3), line(job=2), line(job="1.0", run="3.0") + " 7"]
    found = read_text("\n".join(lines), tmp_path)
    assert found.jobs.select("job_id", "runtime_s", "source_line").rows() == [("1", 3, 1), ("2", None, 2)]
    assert found.rejects.is_empty()
    assert found.report.select("lines_count", "job_lines_count", "jobs_count").row(0) == (3, 3, 2)
    assert found.breakdown["other_facts"] == {"superseded_lines": 1}


def test_a_line_that_only_knows_less_is_merged_and_one_that_knows_else_is_not(tmp_path: Path):
    whole = line(job=1, wait=2, run=3, requested=4)
    for other, is_merged in (
        (line(job=1, wait=2, status=-1), True),
        (line(job=1, run=3), True),
        (line(job=1, wait=1, status=-1), False),
        (line(job=1, wait=2, status=-1, user=7), False),
        (line(job=1, wait=2, status=5), False),
    ):
        for lines in ([whole, other], [other, whole]):
            found = read_text("\n".join(lines), tmp_path)
            assert found.jobs["runtime_s"].to_list() == [3]
            lost = {} if is_merged else {lines.index(other) + 1: RejectCode.DUPLICATE_JOB_ID}
            assert rejected(found) == lost


PARTS = [
    line(job=1, submit=100, wait=7, run=10, cpu=4, requested=2, status=2),
    line(job=1, wait=5, run=20, cpu=6, requested=2, submit=-1, status=2),
    line(job=1, wait=6, run="30.5", cpu=8, requested=2, submit=-1, status=3),
]


@pytest.mark.parametrize("status", [0, 1])
def test_a_summary_line_wins_over_the_parts_of_a_job_that_was_swapped_out(status: int, tmp_path: Path):
    summary = line(job=1, submit=100, wait=7, run=60, cpu=5, requested=2, status=status)
    alone = read_text(summary, tmp_path).jobs
    for lines in ([summary, *PARTS], [*PARTS, summary], [PARTS[0], summary, *PARTS[1:]]):
        found = read_text("\n".join(lines), tmp_path)
        assert found.jobs.drop("source_line").equals(alone.drop("source_line"))
        assert found.jobs["source_line"].to_list() == [lines.index(summary) + 1]
        assert found.rejects.is_empty()
        assert found.report["job_lines_count"].item() == 4


@pytest.mark.parametrize(
    ("last", "state"), [(2, JobState.UNKNOWN), (3, JobState.COMPLETED), (4, JobState.FAILED)]
)
def test_parts_without_a_summary_are_summed_into_one_job(last: int, state: JobState, tmp_path: Path):
    lines = [*PARTS[:2], PARTS[2].replace(" 3 ", f" {last} ")]
    found = read_text("\n".join([GOOD, *lines]), tmp_path)
    (job,) = found.jobs.filter(job_id="1").iter_rows(named=True)
    assert (job["submit_s"], job["start_s"], job["runtime_s"], job["end_s"]) == (100, 107, 61, 168)
    assert (job["state"], job["cpu_used_s"], job["source_line"]) == (state, None, 2)
    assert QualityFlag.PARTS_SUMMED in job["quality_flags"]
    assert found.rejects.is_empty()
    assert found.report["job_lines_count"].item() == 4


def test_equal_bursts_of_one_file_are_several(tmp_path: Path):
    bursts = [line(job=4, submit=10, wait=5, run=100, status=2)]
    bursts += [line(job=4, submit=-1, wait=50, run=100, status=status) for status in (2, 2, 3)]
    found = read_text("\n".join(bursts), tmp_path)
    assert found.jobs["runtime_s"].to_list() == [400]
    assert found.breakdown["other_facts"] == {}


def test_parts_prevail_over_a_line_that_saw_the_job_wait(tmp_path: Path):
    waiting = line(job=1, submit=100, wait=7, requested=2, status=-1)
    found = read_text("\n".join([waiting, *PARTS]), tmp_path)
    assert found.jobs.select("runtime_s", "state").rows() == [(61, JobState.COMPLETED)]
    assert found.rejects.is_empty()


def test_one_part_alone_is_a_job_as_it_stands(tmp_path: Path):
    alone = [line(job=k, run=10, cpu=4, requested=2, status=2 + k) for k in (1, 2)]
    for more in ([], [line(job=9), line(job=9)]):  # whether or not other jobs have several lines
        jobs = read_text("\n".join([*alone, *more]), tmp_path).jobs.head(2)
        assert jobs.select("state", "runtime_s", "cpu_used_s").rows() == [
            (JobState.COMPLETED, 10, 8.0),
            (JobState.FAILED, 10, 8.0),
        ]
        assert jobs["quality_flags"].to_list() == [[], []]


@pytest.mark.parametrize("run", [-1, 2**38])
def test_a_sum_of_parts_that_is_unknown_or_too_large_is_no_number(run: int, tmp_path: Path):
    lines = [line(job=1, wait=0, run=10, status=2), line(job=1, submit=-1, wait=1, run=run, status=3)]
    job = read_text("\n".join(lines), tmp_path).jobs.row(0, named=True)
    assert (job["start_s"], job["runtime_s"], job["end_s"]) == (0, None, None)


def test_a_part_of_a_job_whose_submission_no_line_states_is_refused(tmp_path: Path):
    found = read_text("\n".join([GOOD, line(job=1, submit=-1, run=20, status=4)]), tmp_path)
    assert rejected(found) == {2: RejectCode.NO_SUBMIT_TIME}
    assert found.rejects["reason"].item().startswith("submit time -1 (unknown)")


@pytest.mark.parametrize("lost", ["fields", "lost", "comments", "blank_count"])
def test_a_line_that_goes_missing_is_an_error(lost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = "\n".join(["; Note: n", "; plain", "", "", GOOD, line(job=78), "1 2 3", "4 5"]) + "\n"

    def forgetful(block: bytes, first_line: int) -> Lines:
        lines = read_lines(block, first_line)
        parts = {name: getattr(lines, name) for name in lines.__dataclass_fields__}
        return Lines(**parts | {lost: parts[lost] - 1 if lost == "blank_count" else parts[lost][1:]})

    read_text(text, tmp_path)
    monkeypatch.setattr(log, "read_lines", forgetful)
    with pytest.raises(ConservationError, match="8 lines read, 7 accounted for"):
        read_text(text, tmp_path)
