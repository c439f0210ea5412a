"""For all texts: what is written is read back, order does not matter, both paths agree, no line is lost."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.swf import SWF_FIELDS
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import TraceFormat
from hpcopt_assets.ingest.source import blocks
from hpcopt_assets.ingest.swf import lines
from hpcopt_assets.ingest.swf.lines import SCHEMA, read_lines, read_record
from hpcopt_assets.ingest.swf.repeats import PARTS
from hpcopt_assets_tests.ingest.helpers import LIMITS, ingest_files, read_text, tables_of

SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@dataclass(frozen=True)
class SwfJob:
    """The 18 fields of a job, -1 where unknown; the times and the CPU time may be fractional."""

    job: int
    submit: float
    wait: float
    run: float
    allocated: int
    cpu: float
    used_memory: float
    requested: int
    requested_time: float
    requested_memory: float
    status: int
    user: int
    group: int
    executable: int
    queue: int
    partition: int
    preceding: int
    think_time: float

    def line(self, gap: str) -> str:
        return gap.join(f"{getattr(self, name):.15g}" for name in SWF_FIELDS)

    def row(self, unix_start_s: int, ids: set[int]) -> dict[str, Any]:
        """What it becomes in `trace_jobs`, by the rules of the format and of DESIGN, one job at a time."""

        def known(value: float) -> Any:
            return None if value == -1 else value

        def second(value: float) -> Any:
            return None if value == -1 else math.floor(value + 0.5)

        submit_s = second(self.submit) + unix_start_s
        runtime_s, request_s = second(self.run), second(self.requested_time)
        wait_s = None if self.status == 5 and runtime_s is None else second(self.wait)
        start_s = None if wait_s is None else submit_s + wait_s
        asked, given = (value if value > 0 else None for value in (self.requested, self.allocated))
        used_by, asked_for = given or asked, asked or given
        flags = {
            "fractional_time": any(
                value % 1
                for value in (self.submit, self.wait, self.run, self.requested_time, self.think_time)
            ),
            "runtime_over_request": None not in (runtime_s, request_s) and runtime_s > request_s,
            "zero_request": request_s == 0,
            "allocated_differs": None not in (asked, given) and asked != given,
            "dangling_predecessor": self.preceding != -1 and self.preceding not in ids,
            "procs_from_allocation": asked is None and given is not None,
            "unknown_status": self.status not in (0, 1, 3, 4, 5, -1),
        }

        def text(value: int) -> str | None:
            return None if value == -1 else str(value)

        def job_bytes(memory: float, procs: int | None) -> int | None:
            return None if memory == -1 or procs is None else round(memory * 1024 * procs)

        return {
            "job_id": str(self.job),
            "submit_s": submit_s,
            "start_s": start_s,
            "end_s": None if start_s is None or runtime_s is None else start_s + runtime_s,
            "wait_s": wait_s,
            "runtime_s": runtime_s,
            "release_s": submit_s,
            "requested_runtime_s": request_s,
            "requested_runtime_kind": "unknown" if request_s is None else "limit",
            "procs": asked_for,
            "requested_procs": asked,
            "allocated_procs": given,
            "requested_memory_bytes": job_bytes(self.requested_memory, asked_for),
            "used_memory_bytes": job_bytes(self.used_memory, used_by),
            "cpu_used_s": None if self.cpu == -1 or used_by is None else self.cpu * used_by,
            "state": {
                0: "FAILED",
                1: "COMPLETED",
                3: "COMPLETED",
                4: "FAILED",
                5: "CANCELLED",
            }.get(self.status, "UNKNOWN"),
            "user": text(self.user),
            "group": text(self.group),
            "queue": text(self.queue),
            "partition": text(self.partition),
            "name": text(self.executable),
            "preceding_job_id": text(self.preceding) if self.preceding in ids else None,
            "think_time_s": second(self.think_time),
            "quality_flags": {name for name, is_set in flags.items() if is_set},
        }


UNKNOWN = st.just(-1)
WHOLE = st.integers(0, 2000)
TIMES = WHOLE | st.integers(0, 8000).map(lambda quarter: quarter / 4)
JOBS = st.lists(
    st.builds(
        SwfJob,
        job=st.integers(0, 10**6),
        submit=TIMES,
        wait=UNKNOWN | TIMES,
        run=UNKNOWN | TIMES,
        allocated=UNKNOWN | st.integers(0, 64),
        cpu=UNKNOWN | TIMES,
        used_memory=UNKNOWN | TIMES,
        requested=UNKNOWN | st.integers(0, 64),
        requested_time=UNKNOWN | TIMES,
        requested_memory=UNKNOWN | TIMES,
        status=st.integers(-1, 7),
        user=st.integers(-1, 3),
        group=st.integers(-1, 3),
        executable=st.integers(-1, 3),
        queue=st.integers(-1, 3),
        partition=st.integers(-1, 3),
        preceding=UNKNOWN | st.integers(0, 5),
        think_time=UNKNOWN | TIMES,
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda job: job.job,
)


@SAME_FOLDER
@given(
    jobs=JOBS,
    unix_start_s=WHOLE,
    gap=st.sampled_from([" ", "\t", "   "]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_jobs_that_are_written_are_read_back(
    jobs: list[SwfJob], unix_start_s: int, gap: str, end: str, tmp_path: Path
):
    text = end.join([f"; UnixStartTime: {unix_start_s}", *(job.line(gap) for job in jobs)])
    found = tables_of(text, tmp_path)
    ids = {job.job for job in jobs}
    latest, expected = -1.0, []
    for job in jobs:
        row = job.row(unix_start_s, ids)
        if job.submit < latest:
            row["quality_flags"].add("out_of_order")
        latest = max(latest, job.submit)
        expected.append(row)
    expected.sort(key=lambda row: (row["release_s"], int(row["job_id"])))
    rows = [row | {"quality_flags": set(row["quality_flags"])} for row in found.jobs.iter_rows(named=True)]
    assert [
        {name: row[name] for name in wanted} for row, wanted in zip(rows, expected, strict=True)
    ] == expected
    assert found.rejects.is_empty()


@SAME_FOLDER
@given(jobs=JOBS, data=st.data())
def test_the_order_of_lines_does_not_matter(jobs: list[SwfJob], data: st.DataObject, tmp_path: Path):
    def table(order: list[SwfJob]) -> pl.DataFrame:
        frame = tables_of("\n".join(job.line(" ") for job in order), tmp_path).jobs
        no_order = pl.col("quality_flags").list.filter(pl.element() != "out_of_order")
        return frame.drop("source_line").with_columns(no_order)

    assert table(data.draw(st.permutations(jobs))).equals(table(jobs))


@dataclass(frozen=True)
class Piece:
    """A file of a trace: the epoch that its header states, the jobs it tells, in which order."""

    epoch_s: int | None
    jobs: list[SwfJob]

    def text(self, silent_epoch_s: int) -> str:
        """Its lines; jobs count from `silent_epoch_s` where no header states an epoch."""
        epoch_s = silent_epoch_s if self.epoch_s is None else self.epoch_s
        header = [] if self.epoch_s is None else [f"; UnixStartTime: {self.epoch_s}"]
        lines = [replace(job, submit=job.submit + LATEST_EPOCH_S - epoch_s).line(" ") for job in self.jobs]
        return "\n".join([*header, "; MaxNodes: 4", *lines])


LATEST_EPOCH_S = 3000


@SAME_FOLDER
@given(jobs=JOBS, data=st.data())
def test_overlapping_shuffled_and_repeated_files_give_the_table_of_one(
    jobs: list[SwfJob], data: st.DataObject, tmp_path: Path
):
    def table(pieces: list[Piece]) -> pl.DataFrame:
        epoch_s = next((piece.epoch_s for piece in pieces if piece.epoch_s is not None), 0)
        paths = [tmp_path / f"{place}.swf" for place in range(len(pieces))]
        for path, piece in zip(paths, pieces, strict=True):
            path.write_text(piece.text(epoch_s))
        found = ingest_files(data.draw(st.permutations(paths)), tmp_path, format="swf")
        no_order = pl.col("quality_flags").list.filter(pl.element() != "out_of_order")
        assert found.rejects.is_empty()
        return found.jobs.drop("source_file", "source_line").with_columns(no_order)

    whole = [job for job in jobs if job.status not in PARTS]
    again = data.draw(st.lists(st.sampled_from(whole), max_size=5)) if whole else []
    # Not of bursts: one that stands twice in a file is two bursts.
    lines = data.draw(st.permutations([*jobs, *again]))
    cut = data.draw(st.integers(0, len(lines)))
    told = [lines[:cut], lines[cut:], data.draw(st.permutations(jobs))]
    epochs_s = st.none() | st.integers(0, LATEST_EPOCH_S)
    pieces = [Piece(data.draw(epochs_s), jobs_of_one) for jobs_of_one in data.draw(st.permutations(told))]
    assert table(pieces).equals(table([Piece(0, jobs)]))


TOKENS = (
    st.sampled_from(
        ["-1", "0", "1", "7", "1.5", "-2", "1e3", ".5", "5.", "+3", "nan", "-inf", "1e999", "x", "1-2"]
    )
    | st.text(alphabet="0123456789.+-eE", min_size=1, max_size=8)
    | st.text(alphabet="09.-e;é\0\x1c\x85#", min_size=1, max_size=4)
)
GAPS = st.sampled_from([" ", "  ", "\t", " \r ", "\x0b", "\x0c"])


@st.composite
def data_lines(draw: st.DrawFn) -> str:
    wanted = draw(st.sampled_from([0, 1, 17, 18, 18, 18, 18, 19, 20, 25]))
    is_plain = draw(st.booleans())
    token = st.integers(-1, 9999).map(str) if is_plain else TOKENS
    parts = [draw(token) for _ in range(wanted)]
    return (
        draw(st.sampled_from(["", " ", "\t "]))
        + draw(GAPS).join(parts)
        + draw(st.sampled_from(["", " ", "\r"]))
    )


LINES = st.one_of(
    data_lines().map(str.encode),
    st.sampled_from([b"", b"  ", b"; MaxProcs: 8", b";", b" ; x", b"\xff", b"1 \xfe 3", b"0"]),
    st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b"")),
)


@settings(max_examples=300, deadline=None)
@given(lines=st.lists(LINES, min_size=1, max_size=12), first=st.integers(1, 10**6))
def test_the_fast_path_reads_what_the_careful_one_reads(lines: list[bytes], first: int):
    found = read_lines(b"\n".join(lines) + b"\n", first)
    fields, refused, comments, blank = [], [], [], 0
    for number, raw in enumerate(lines, start=first):
        if not raw.strip():
            blank += 1
        elif raw.strip().startswith(b";"):
            comments.append((number, raw.strip()))
        elif isinstance(record := read_record(raw.strip()), list):
            fields.append((number, len(raw.split()), *record))
        else:
            refused.append((number, *record))
    expected = pl.DataFrame(fields, schema=SCHEMA, orient="row")
    assert found.fields.sort("source_line").equals(expected)
    assert (found.lost, found.comments, found.blank_count) == (refused, comments, blank)
    assert found.count == len(lines)


def test_plain_lines_do_take_the_fast_path(monkeypatch: pytest.MonkeyPatch):

    def careful(line: bytes) -> list[float]:
        raise AssertionError(f"read the careful way: {line!r}")

    monkeypatch.setattr(lines, "read_record", careful)
    plain = b"1 2 3.5 4 5 6 7 8 9 1e1 11 12 13 14 15 16 17 -1"
    found = read_lines(
        plain + b"\n  " + plain + b" 19 20 \r\n\n; comment\n" + plain.replace(b" ", b"\t") + b"\n", 1
    )
    assert found.fields["source_line"].to_list() == [1, 2, 5]
    assert found.fields["fields_count"].to_list() == [18, 20, 18]
    assert found.fields.select(SWF_FIELDS).unique().height == 1


ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])
MAGIC = st.sampled_from([b"\x1f\x8b\x08", b"PAR1", b"\xef\xbb\xbf"])
TEXTS = st.builds(lambda lines, end: end.join(lines), st.lists(LINES, max_size=12), ENDS)


@SAME_FOLDER
@given(
    raw=TEXTS | st.binary(max_size=200) | st.builds(bytes.__add__, MAGIC, st.binary(max_size=50)),
    about=st.sampled_from([{}, {"format": TraceFormat.SWF}]),
)
def test_any_bytes_give_tables_or_one_clear_error(raw: bytes, about: dict[str, Any], tmp_path: Path):
    try:
        found = read_text(raw, tmp_path, **about)
    except TraceError:
        return
    report = found.report.row(0, named=True)
    accounted = [report[f"{part}_lines_count"] for part in ("header", "comment", "blank", "job")]
    lines = re.split(rb"\r\n|\r|\n", raw.removeprefix(b"\xef\xbb\xbf"))
    assert sum(accounted) + found.rejects.height == len(lines) - (lines[-1] == b"")
    assert found.jobs.height > 0
    numbers = [*found.jobs["source_line"], *found.rejects["source_line"]]
    assert len(set(numbers)) == len(numbers)


@SAME_FOLDER
@given(raw=TEXTS.filter(lambda raw: raw and b"\0" not in raw), block_bytes=st.integers(1, 60))
def test_the_size_of_the_blocks_does_not_matter(raw: bytes, block_bytes: int, tmp_path: Path):
    path = tmp_path / "made.swf"
    path.write_bytes(raw)
    try:
        whole = list(blocks(path, LIMITS))
    except TraceError:
        return
    small = list(blocks(path, LIMITS, block_bytes))
    assert b"".join(small) == b"".join(whole)
    number, frames = 1, []
    for block in small:
        lines = read_lines(block, number)
        frames.append(lines.fields)
        number += lines.count
    if whole:
        at_once = read_lines(b"".join(whole), 1)
        assert pl.concat(frames).sort("source_line").equals(at_once.fields.sort("source_line"))


def test_an_all_null_column_keeps_its_type(tmp_path: Path):
    jobs = read_text("1 0 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1", tmp_path).jobs
    validate(TRACE_JOBS, jobs)
    assert jobs.schema == TRACE_JOBS.polars_schema()
    assert jobs["gpus"].null_count() == 1
