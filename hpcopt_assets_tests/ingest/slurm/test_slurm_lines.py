"""Headers, separators, free text, newlines, CSV, bytes: which lines make which record."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.vocabulary import QualityFlag, RejectCode
from hpcopt_assets.ingest.slurm import joins, reader
from hpcopt_assets_tests.ingest.slurm.dumps import DAY, PLAIN, dump, job, read, read_files, step

TIMES = f"{DAY}09:00:00|{DAY}10:00:00|{DAY}10:30:00"
FIELDS = ("JobID", "Submit", "Start", "End", "State", "JobName", "NCPUS")
WIDE = "|".join(FIELDS)


def csv_dump(*rows: dict[str, str]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("end", ["", "|"])
@pytest.mark.parametrize("change", [str, str.lower, str.upper])
def test_columns_in_any_order_and_case(end: str, change: type[str], tmp_path: Path):
    names = ["State", "End", "NCPUS", "QOS", "Start", "ReqCPUS", "Submit", "JobID"]
    row = job(NCPUS=8, ReqCPUS=4, QOS="q")
    text = dump(
        {change(name): value for name, value in row.items()}, columns=[change(n) for n in names], end=end
    )
    one = read(text, tmp_path).only()
    assert (one["job_id"], one["state"], one["runtime_s"]) == ("1", "COMPLETED", 1800)
    assert (one["requested_procs"], one["allocated_procs"]) == (4, 8)


@pytest.mark.parametrize(
    ("left_out", "named"),
    [
        ("JobID", "JobID (or JobIDRaw)"),
        ("Submit", "Submit"),
        ("Start", "Start"),
        ("End", "End (or Elapsed, ElapsedRaw)"),
        ("State", "State"),
    ],
)
def test_a_needed_column_that_is_missing_is_named(left_out: str, named: str, tmp_path: Path):
    columns = [name for name in (*PLAIN, "JobName") if name != left_out]
    text = dump(job(JobName="x"), columns=columns)
    if left_out == "JobID":
        with pytest.raises(TraceError, match="no header"):
            read(text, tmp_path)
        with pytest.raises(TraceError) as error:
            read(text, tmp_path, fields=tuple(columns))
    else:
        with pytest.raises(TraceError) as error:
            read(text, tmp_path)
    assert error.value.found == f"no column {named}; there are {', '.join(columns)}"


def test_elapsed_may_stand_for_the_end(tmp_path: Path):
    columns = ["JobIDRaw", "Submit", "Start", "State", "ElapsedRaw"]
    one = read(dump(job(JobIDRaw="7", ElapsedRaw="61"), columns=columns), tmp_path).only()
    assert (one["job_id"], one["runtime_s"], one["end_s"] - one["start_s"]) == ("7", 61, 61)


def test_a_dump_without_a_header_needs_its_fields(tmp_path: Path):
    text = f"1|{TIMES}|COMPLETED|a|4\n2|{TIMES}|FAILED|b|2\n"
    with pytest.raises(TraceError, match=r"no header: the first line is '1\|2024"):
        read(text, tmp_path)
    found = read(text, tmp_path, fields=("job_id", *FIELDS[1:]))
    assert found.of("job_id", "state", "procs") == [("1", "COMPLETED", 4), ("2", "FAILED", 2)]
    assert found.parsed.counts.header == 0
    headed = read("# of June\n\n" + "|".join(reversed(FIELDS)) + "\n", tmp_path, fields=("x",))
    assert (headed.jobs.height, headed.parsed.counts.header) == (0, 1)


def test_headers_may_come_again_and_change(tmp_path: Path):
    text = (
        dump(job(JobID="1")) + dump(job(JobID="2")) + dump(job(JobID="3", NCPUS=4), columns=["NCPUS", *PLAIN])
    )
    found = read(text, tmp_path)
    assert found.of("job_id", "procs") == [("1", None), ("2", None), ("3", 4)]
    assert (found.parsed.counts.header, found.parsed.counts.merged) == (3, 3)


def test_a_job_called_like_a_column_is_no_header(tmp_path: Path):
    found = read(dump(job(JobID="1", JobName="jobid"), job(JobID="2", JobName="JobID")), tmp_path)
    assert found.of("job_id") == ["1", "2"]


def test_blank_lines_comments_and_windows_line_ends(tmp_path: Path):
    text = (
        "\ufeff# sacct -a\r\n\r\n"
        + dump(job(JobID="1"), job(JobID="2")).replace("\n", "\r\n")
        + "  \r\n# end"
    )
    found = read(text, tmp_path)
    counts = found.parsed.counts
    assert (counts.lines, counts.comment, counts.blank, counts.header, counts.merged) == (7, 2, 2, 1, 2)
    assert found.of("state") == ["COMPLETED", "COMPLETED"]


def test_content_packed_with_gzip(tmp_path: Path):
    assert read(gzip.compress(dump(job(JobID="5")).encode()), tmp_path).of("job_id") == ["5"]


@pytest.mark.parametrize("end", ["", "|"])
def test_pipes_in_the_one_free_text_column(end: str, tmp_path: Path):
    names = ["a|b", "|", "||", "x|COMPLETED|4", "|4", "a|", "plain"]
    rows = [job(JobID=k, JobName=name, NCPUS=4) for k, name in enumerate(names)]
    found = read(dump(*rows, columns=list(FIELDS), end=end), tmp_path)
    assert found.of("job_id", "state", "procs") == [(str(k), "COMPLETED", 4) for k in range(7)]
    assert found.of("name") == names
    recovered = [QualityFlag.RECOVERED_FIELDS in flags for flags in found.flags.values()]
    assert recovered == [True] * 6 + [False]


def test_several_free_text_columns_are_told_apart_by_what_stands_between(tmp_path: Path):
    columns = ["Comment", *PLAIN, "JobName", "NCPUS", "WorkDir"]
    rows = [
        job(JobID="1", Comment="a|b", JobName="c|d|e", NCPUS="4", WorkDir="/x|y"),
        job(JobID="2", Comment="", JobName="c|", NCPUS="8", WorkDir="/x"),
        job(JobID="3", Comment="|", JobName="7", NCPUS="", WorkDir=""),
    ]
    found = read(dump(*rows, columns=columns), tmp_path)
    assert found.of("job_id", "procs", "name") == [("1", 4, "c|d|e"), ("3", None, "7")]
    assert found.rejects == {3: RejectCode.TOO_MANY_FIELDS}  # `8|/x` may be a folder, of a job without NCPUS


def test_what_stands_later_settles_what_could_stand_earlier(tmp_path: Path):
    columns = ["Comment", "NCPUS", "JobName", *PLAIN, "WorkDir"]
    row = job(Comment="", NCPUS="4", JobName="7", WorkDir="/x|y")  # by itself, 7 could be NCPUS as well
    found = read(dump(row, columns=columns), tmp_path)
    assert (found.of("procs"), found.rejects) == ([4], {})


def test_free_text_that_can_be_read_in_two_ways_is_refused(tmp_path: Path):
    columns = [*PLAIN, "JobName", "NCPUS", "Comment"]
    row = job(JobName="a|4", NCPUS="8", Comment="b")
    found = read(dump(row, columns=columns), tmp_path)
    assert found.rejects == {2: RejectCode.TOO_MANY_FIELDS}
    assert found.reasons == ["9 fields, 8 expected"]


@pytest.mark.parametrize("texts", [("JobName", "Comment"), ("Comment", "JobName")])
def test_a_name_whose_edges_are_in_doubt_is_unknown_and_costs_no_job(texts: tuple[str, str], tmp_path: Path):
    columns = [*PLAIN, *texts, "NCPUS"]
    rows = [
        job(JobID="1", JobName="a", Comment="b", NCPUS="4"),
        job(JobID="2", JobName="a|b", Comment="c", NCPUS="4"),
        job(JobID="3", JobName="a", Comment="b|c", NCPUS="4"),
    ]
    found = read(dump(*rows, columns=columns), tmp_path)
    assert found.of("job_id", "procs", "name") == [("1", 4, "a"), ("2", 4, None), ("3", 4, None)]


@pytest.mark.parametrize("place", range(1, 7))
def test_a_name_of_several_lines_is_its_first_wherever_it_stands(place: int, tmp_path: Path):
    columns = [name for name in FIELDS if name != "JobName"]
    columns.insert(place, "JobName")
    rows = [job(JobID=k, NCPUS=k, JobName=name) for k, name in ((1, "two\nlines"), (2, "\nb"), (3, "one"))]
    found = read(dump(*rows, columns=columns), tmp_path)
    assert found.of("procs", "name") == [(1, "two"), (2, None), (3, "one")]


def test_values_never_shift_into_columns_that_are_not_theirs(tmp_path: Path):
    text = WIDE + f"\n1|{TIMES}|COMPLETED|4\n2|{TIMES}|COMPLETED|a|4|x\n3|{TIMES}|COMPLETED|a|4\n"
    found = read(text, tmp_path)
    assert found.rejects == {2: RejectCode.TOO_FEW_FIELDS, 3: RejectCode.TOO_MANY_FIELDS}
    assert found.of("job_id", "state", "procs") == [("3", "COMPLETED", 4)]


SCRIPT = "srun bash -c\n  if true\n\n  then\n    # a | b\n  fi"


@pytest.mark.parametrize("end", ["", "|"])
@pytest.mark.parametrize("place", range(1, 8))
def test_newlines_in_free_text(end: str, place: int, tmp_path: Path):
    columns = list(FIELDS)
    columns.insert(place, "SubmitLine")
    rows = [job(JobID=k, NCPUS=k, JobName="x", SubmitLine=SCRIPT if k < 3 else "srun x") for k in (1, 2, 3)]
    found = read(dump(*rows, columns=columns, end=end), tmp_path)
    assert found.of("job_id", "procs") == [("1", 1), ("2", 2), ("3", 3)]
    assert found.rejects == {}
    counts = found.parsed.counts
    assert (counts.lines, counts.merged + counts.blank) == (14, 13)
    in_the_middle = place < 7
    assert counts.blank == (0 if in_the_middle else 2)


def test_the_rest_of_a_record_may_hold_as_many_pipes_as_a_record(tmp_path: Path):
    columns = ["JobID", "JobIDRaw", "JobName", *list(PLAIN)[1:], "NCPUS"]
    rows = [job(JobID=k, JobIDRaw=k, JobName="x\n||y", NCPUS=4) for k in (1, 2)]
    found = read(dump(*rows, columns=columns), tmp_path)
    assert (found.of("job_id", "procs"), found.rejects) == ([("1", 4), ("2", 4)], {})


def test_a_record_that_is_cut_off_does_not_swallow_the_next(tmp_path: Path):
    text = WIDE + f"\n1|{TIMES}|COMP\n2|{TIMES}|COMPLETED|a|4\n||\n3|{TIMES}|COMPLETED|a|4\n4|2024"
    found = read(text, tmp_path)
    assert found.of("job_id") == ["2", "3"]
    assert found.rejects == dict.fromkeys((2, 4, 6), RejectCode.TOO_FEW_FIELDS)


def test_a_cut_record_after_free_text_at_the_end_is_not_taken_for_a_part_of_it(tmp_path: Path):
    columns = [*PLAIN, "SubmitLine"]
    rows = [job(JobID="1", SubmitLine="srun\n  x\n  y | z")]
    found = read(dump(*rows, columns=columns) + "2|2024-01-01T00:00:00\n||||\nfi\n", tmp_path)
    assert found.of("job_id") == ["1"]
    assert found.rejects == dict.fromkeys((5, 6, 7), RejectCode.TOO_FEW_FIELDS)
    assert found.parsed.counts.merged == 3


@pytest.mark.parametrize("block_bytes", [50, 16 * 2**20])
def test_foreign_lines_are_not_taken_for_free_text_without_end(
    block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reader, "BLOCK_BYTES", block_bytes)
    columns = [*PLAIN, "Comment"]
    text = dump(job(JobID="1"), job(JobID="2"), columns=columns) + "x y z\n" * 3000
    found = read(text + dump(job(JobID="3"), columns=columns), tmp_path)
    assert found.of("job_id") == ["1", "2", "3"]
    assert [QualityFlag.RECOVERED_FIELDS in flags for flags in found.flags.values()] == [False, True, False]
    assert found.parsed.facts == {"lines_after_the_last_column": joins.CONTINUED_MAX}
    assert len(found.rejects) == 3000 - joins.CONTINUED_MAX
    assert found.parsed.counts.merged == 3 + joins.CONTINUED_MAX
    assert set(found.reasons) == {"1 field, 6 expected"}


def test_a_header_ends_the_free_text_of_the_record_before(tmp_path: Path):
    columns = [*PLAIN, "Comment"]
    text = dump(job(JobID="1"), columns=columns) + dump(columns=columns) + "x y z\n"
    assert read(text, tmp_path).rejects == {4: RejectCode.TOO_FEW_FIELDS}


def test_lines_after_a_record_that_is_lost_are_lost_with_it(tmp_path: Path):
    columns = [*PLAIN, "Comment"]
    rows = [
        job(JobID="1", Comment="a"),
        job(JobID="2", Comment="b\nb", Start=f"{DAY}08:00:00"),
        step("3.0", Comment="c\n\nc"),
        job(JobID="4_[1-2]", Comment="d\nd"),
    ]
    found = read(dump(*rows, columns=columns), tmp_path)
    negative, of_none, waits = (
        RejectCode.NEGATIVE_WAIT,
        RejectCode.NO_JOB_OF_STEP,
        RejectCode.PENDING_ARRAY_RANGE,
    )
    assert found.rejects == {3: negative, 4: negative, 5: of_none, 7: of_none, 8: waits, 9: waits}
    assert all(
        reason.endswith(f"(goes on from line {line})")
        for reason, line in zip([found.reasons[k] for k in (1, 3, 5)], (3, 5, 8), strict=True)
    )
    assert (found.of("job_id"), found.flags["1"], found.parsed.facts) == (["1"], set(), {})


def test_every_line_of_a_refused_record_is_refused(tmp_path: Path):
    columns = ["JobID", "JobName", "Submit", "Start", "End", "State"]
    found = read(dump(job(JobName="a\nb", Start=f"{DAY}08:00:00"), columns=columns), tmp_path)
    assert found.rejects == {2: RejectCode.NEGATIVE_WAIT, 3: RejectCode.NEGATIVE_WAIT}
    assert found.reasons[1].endswith("(goes on from line 2)")


def test_csv_with_quotes_commas_and_newlines(tmp_path: Path):
    rows = [
        job(JobID="1", JobName='say "hi", twice', AllocTRES="cpu=4,node=2", NodeList="n[1,2]"),
        job(JobID="2", JobName="two\nlines", AllocTRES="cpu=8,node=1"),
        job(JobID="3", JobName="", AllocTRES=""),
        step("2.batch", JobName="", MaxRSS="1K"),
    ]
    for row in rows:
        row.setdefault("MaxRSS", "")
        row.setdefault("NodeList", "")
    found = read(csv_dump(*rows), tmp_path)
    assert found.of("job_id", "procs", "nodes") == [("1", 4, 2), ("2", 8, 1), ("3", None, None)]
    assert found.of("name") == ['say "hi", twice', "two", None]
    assert found.parsed.counts.merged == 5
    assert found.parsed.counts.header == 1


def test_csv_that_is_broken(tmp_path: Path):
    times = TIMES.replace("|", ",")
    ends = ('"open,4', "a,b,4", "", 'x,"1', "x,2")
    lines = [f"{k},{times},COMPLETED,{end}" if end else f"{k},{times}" for k, end in enumerate(ends, start=1)]
    text = "\n".join([",".join(FIELDS), *lines])
    found = read(text, tmp_path)
    assert found.of("job_id", "procs") == [("2", 4), ("4", 1), ("5", 2)]
    assert set(found.rejects) == {2, 4}
    assert found.flags["2"] == {QualityFlag.RECOVERED_FIELDS, QualityFlag.PROCS_FROM_ALLOCATION}


def test_invalid_bytes_matter_only_where_they_are_needed(tmp_path: Path):
    good = f"1|{TIMES}|COMPLETED|caf\xe9|4\n2|{TIMES}|COMPLETED|caf\u00e9|4\n".encode("latin-1")
    bad = f"3|{TIMES}|COMPLETED|x|4\n".replace("09:00", "09:\xe900").encode("latin-1")
    id_bad = f"4\xff|{TIMES}|COMPLETED|x|4\n".encode("latin-1")
    found = read(WIDE.encode() + b"\n" + good + bad + id_bad, tmp_path)
    assert found.of("job_id") == ["1", "2"]
    assert found.rejects == {4: RejectCode.UNDECODABLE, 5: RejectCode.UNDECODABLE}
    assert all("\ufffd" in refused.text for refused in found.parsed.refused)


@pytest.mark.parametrize("block_bytes", [1, 7, 64, 200, 1000])
def test_the_size_of_the_blocks_does_not_matter(
    block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    columns = ["SubmitLine", *FIELDS]
    rows = [
        job(JobID=k, NCPUS=1, JobName="x|y", SubmitLine=f"a\nb {k}\nc" if k % 2 else "s") for k in range(6)
    ]
    text = dump(*rows, columns=columns) + "rubbish\n" + dump(job(JobID="9")) + "\nmore|rubbish"
    whole = read(text, tmp_path)
    monkeypatch.setattr(reader, "BLOCK_BYTES", block_bytes)
    parts = read(text, tmp_path)
    assert parts.jobs.equals(whole.jobs)
    assert (parts.rejects, parts.parsed.counts) == (whole.rejects, whole.parsed.counts)
    assert len(whole.rejects) == 2


def test_rubbish_is_not_joined_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tried = 0
    understood = joins._understood

    def counted(text: str, layout: joins.Layout) -> tuple[bool, list[str]] | None:
        nonlocal tried
        tried += 1
        return understood(text, layout)

    monkeypatch.setattr(joins, "_understood", counted)
    found = read(WIDE + "\n" + "a|b|c\n" * 20000, tmp_path)
    assert len(found.rejects) == 20000
    assert tried < 10 * joins.PATIENCE * joins.EXTRA_MAX


def test_files_of_one_trace_may_differ_in_columns(tmp_path: Path):
    found = read_files(
        {
            "b.log": dump(job(JobID="2", NCPUS=4, User="u")),
            "a.csv": csv_dump(job(JobID="1", ReqCPUS=2)),
        },
        tmp_path,
    )
    assert found.of("job_id", "procs", "user", "source_file") == [
        ("1", 2, None, "a.csv"),
        ("2", 4, "u", "b.log"),
    ]


def test_a_line_that_lacks_fields_does_not_swallow_the_next(tmp_path: Path):
    """One name too many in the list of fields: every line is a field short; none goes on in the next."""
    rows = [
        f"{k}|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T01:00:00|COMPLETED|name" for k in range(4)
    ]
    fields = ("jobid", "submit", "start", "end", "state", "jobname", "comment")
    found = read("\n".join(rows).encode() + b"\n", tmp_path, fields=fields)
    assert found.rejects == dict.fromkeys(range(1, 5), RejectCode.TOO_FEW_FIELDS)
    assert found.jobs.is_empty()
