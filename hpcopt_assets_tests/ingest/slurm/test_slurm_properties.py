"""For all dumps: what is written is read back, order does not matter, no line is lost, nothing crashes."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.ingest.slurm.joins import Loss
from hpcopt_assets.ingest.slurm.lines import LineReader
from hpcopt_assets_tests.ingest.slurm.dumps import read, read_files

SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
FIRST_S = 1_700_000_000
MIB = 2**20


def time(second: int | None) -> str:
    return "Unknown" if second is None else datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


@dataclass(frozen=True)
class SacctJob:
    """One job as Slurm would tell of it; `wait_s` None: it never started, `runtime_s` None: it still runs."""

    number: int
    task: int | None
    submit_s: int
    hold_s: int
    wait_s: int | None
    runtime_s: int | None
    state: str
    limit_s: int | None
    asked: int
    given: int
    nodes: int
    memory_mib: int
    gpus: int | None
    user: str
    partition: str
    name: str
    step_kib: tuple[int, ...]

    @property
    def job_id(self) -> str:
        return str(self.number) if self.task is None else f"{self.number}_{self.task}"

    @property
    def start_s(self) -> int | None:
        return None if self.wait_s is None else self.submit_s + self.hold_s + self.wait_s

    @property
    def told_state(self) -> str:
        if self.wait_s is None:
            return "CANCELLED" if self.runtime_s is None else "PENDING"
        return self.state if self.runtime_s is not None else "RUNNING"

    def rows(self) -> list[dict[str, str]]:
        """The job's line and those of its steps."""
        start_s = self.start_s
        end_s = None if start_s is None or self.runtime_s is None else start_s + self.runtime_s
        elapsed = 0 if start_s is None else 5 if self.runtime_s is None else self.runtime_s
        tres = f"cpu={self.asked},mem={self.memory_mib}M,node={self.nodes}"
        rider = " by 1000" if self.told_state == "CANCELLED" else ""
        mine = {
            "JobID": self.job_id,
            "JobIDRaw": str(self.number + (self.task or 0)),
            "JobName": self.name,
            "Submit": time(self.submit_s),
            "Eligible": time(self.submit_s + self.hold_s),
            "Start": time(start_s),
            "End": time(end_s),
            "Elapsed": duration(elapsed),
            "ElapsedRaw": str(elapsed),
            "State": self.told_state + rider,
            "Timelimit": "UNLIMITED" if self.limit_s is None else duration(self.limit_s),
            "ReqCPUS": str(self.asked),
            "NCPUS": str(self.given),
            "NNodes": str(self.nodes),
            "NodeList": "None assigned" if start_s is None else f"n[1-{self.nodes}]",
            "ReqMem": f"{self.memory_mib}M",
            "ReqTRES": tres if self.gpus is None else f"{tres},gres/gpu={self.gpus}",
            "User": self.user,
            "Partition": self.partition,
            "MaxRSS": "",
            "NTasks": "",
        }
        if start_s is None:
            return [mine]
        own = {"JobName": "step", "User": "", "Partition": "", "Timelimit": "", "ReqMem": "", "ReqCPUS": ""}
        steps = [
            mine | own | {"JobID": f"{self.job_id}.{k}", "MaxRSS": f"{kib}K", "NTasks": "2"}
            for k, kib in enumerate(self.step_kib)
        ]
        return [mine, *steps]

    def expected(self, *, tracks_gpus: bool) -> dict[str, Any]:
        """What it becomes in `trace_jobs`."""
        start_s = self.start_s
        runtime_s = None if start_s is None else 5 if self.runtime_s is None else self.runtime_s
        is_over = start_s is not None and self.runtime_s is not None
        flags = {
            "recovered_fields": "|" in self.name,
            "runtime_over_request": None not in (runtime_s, self.limit_s) and runtime_s > self.limit_s,
            "zero_request": self.limit_s == 0,
            "allocated_differs": start_s is not None and self.asked != self.given,
            "unfinished": self.told_state in ("RUNNING", "PENDING"),
        }
        return {
            "job_id": self.job_id,
            "array_job_id": None if self.task is None else str(self.number),
            "submit_s": self.submit_s,
            "release_s": self.submit_s + self.hold_s,
            "start_s": start_s,
            "wait_s": self.wait_s,
            "end_s": start_s + runtime_s if is_over else None,
            "runtime_s": runtime_s,
            "state": self.told_state,
            "requested_runtime_s": self.limit_s,
            "requested_runtime_kind": "unlimited" if self.limit_s is None else "limit",
            "requested_procs": self.asked,
            "allocated_procs": None if start_s is None else self.given,
            "nodes": self.nodes,
            "gpus": self.gpus if self.gpus is not None else 0 if tracks_gpus else None,
            "requested_memory_bytes": self.memory_mib * MIB or None,
            "used_memory_bytes": 2048 * max(self.step_kib) if self.step_kib and start_s is not None else None,
            "user": self.user,
            "partition": self.partition,
            "name": self.name.split("\n")[0] or None,
            "attempt": 1,
            "attempt_count": 1,
            "quality_flags": {name for name, is_set in flags.items() if is_set},
        }


LAST = ("State", "NCPUS", "NNodes")
# A name with as many separators before a newline as columns follow it would look like the end of its record.
NAMES = st.text(alphabet='ab |\n,"é#', max_size=6).filter(lambda name: name.count("|") < len(LAST))
JOBS = st.lists(
    st.builds(
        SacctJob,
        number=st.integers(1, 10**6).map(lambda number: number * 100),
        task=st.none() | st.integers(0, 99),
        submit_s=st.integers(FIRST_S, FIRST_S + 10**7),
        hold_s=st.just(0) | st.integers(0, 10**5),
        wait_s=st.none() | st.integers(0, 10**6),
        runtime_s=st.none() | st.integers(0, 10**6),
        state=st.sampled_from(["COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED"]),
        limit_s=st.none() | st.integers(0, 10**6),
        asked=st.integers(1, 512),
        given=st.integers(1, 512),
        nodes=st.integers(1, 64),
        memory_mib=st.integers(0, 10**6),
        gpus=st.none() | st.integers(0, 8),
        user=st.sampled_from(["ua", "ub"]),
        partition=st.sampled_from(["long", "short"]),
        name=NAMES,
        step_kib=st.lists(st.integers(0, 10**6), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda job: job.number,
)


def as_pipes(rows: list[dict[str, str]], columns: list[str], end: str) -> str:
    lines = ["|".join(columns), *("|".join(row[name] for name in columns) for row in rows)]
    return "".join(f"{line}{end}\n" for line in lines)


def as_csv(rows: list[dict[str, str]], columns: list[str], end: str) -> str:  # noqa: ARG001 -- CSV has no such end
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


@settings(SAME_FOLDER, max_examples=60)
@given(jobs=JOBS, data=st.data(), end=st.sampled_from(["", "|"]), write=st.sampled_from([as_pipes, as_csv]))
def test_jobs_that_are_written_are_read_back(
    jobs: list[SacctJob], data: st.DataObject, end: str, write: Any, tmp_path: Path
):
    rows = [row for job in jobs for row in job.rows()]
    inner = data.draw(st.permutations([name for name in rows[0] if name not in ("JobID", *LAST)]))
    text = write(rows, ["JobID", *inner, *LAST], end)
    found = read(text, tmp_path)
    tracks_gpus = any(job.gpus is not None for job in jobs)
    expected = sorted((job.expected(tracks_gpus=tracks_gpus) for job in jobs), key=lambda row: row["job_id"])
    if write is as_csv:
        for row in expected:
            row["quality_flags"].discard("recovered_fields")
    got = [row | {"quality_flags": set(row["quality_flags"])} for row in found.jobs.iter_rows(named=True)]
    assert [
        {name: row[name] for name in wanted} for row, wanted in zip(got, expected, strict=True)
    ] == expected
    assert found.rejects == {}


WHOSE = ("JobIDRaw", "Cluster", "User", "UID")
ATTEMPTS = st.lists(
    st.fixed_dictionaries(
        {
            "JobID": st.sampled_from(["1", "1.0", "1.batch", "2", "3_1", "3_2", "4+0", "3_[1-2]", ""]),
            "JobIDRaw": st.sampled_from(["", "1", "3", "3.0", "5"]),
            "Cluster": st.sampled_from(["", "a", "b"]),
            "User": st.sampled_from(["", "ua", "ub", "8"]),
            "UID": st.sampled_from(["", "8", "9"]),
            "Submit": st.sampled_from([FIRST_S, FIRST_S + 100, FIRST_S + 10**6]).map(time),
            "Start": st.sampled_from([None, FIRST_S + 200, FIRST_S + 900, FIRST_S + 10**6 + 5]).map(time),
            "End": st.sampled_from([None, FIRST_S + 300, FIRST_S + 1000, FIRST_S + 2 * 10**6]).map(time),
            "Elapsed": st.sampled_from(["00:00:00", "00:01:40", "00:00:50"]),
            "State": st.sampled_from(
                ["PENDING", "RUNNING", "COMPLETED", "REQUEUED", "CANCELLED by 1", "NODE_FAIL", "FROBBED"]
            ),
            "NCPUS": st.sampled_from(["", "1", "2"]),
            "MaxRSS": st.sampled_from(["", "1K", "2K"]),
            "TotalCPU": st.sampled_from(["", "00:01.000", "00:02.000"]),
        }
    ),
    min_size=1,
    max_size=8,
)


def without_places(jobs: pl.DataFrame) -> pl.DataFrame:
    return jobs.drop("source_file", "source_line")


@settings(SAME_FOLDER, max_examples=40)
@given(rows=ATTEMPTS, data=st.data())
def test_order_repetition_and_files_do_not_matter(
    rows: list[dict[str, str]], data: st.DataObject, tmp_path: Path
):
    columns = [name for name in rows[0] if name not in data.draw(st.sets(st.sampled_from(WHOSE)))]
    once = read(as_pipes(rows, columns, ""), tmp_path)
    shuffled = data.draw(st.permutations(rows))
    repeated = shuffled + data.draw(st.lists(st.sampled_from(rows), max_size=4))
    again = read(as_pipes(repeated, data.draw(st.permutations(columns)), ""), tmp_path, is_validated=False)
    assert without_places(again.jobs).equals(without_places(once.jobs))
    cut = data.draw(st.integers(0, len(shuffled)))
    parts = {"a": shuffled[:cut], "b": shuffled[cut:]}
    split = read_files(
        {name: as_pipes(part, columns, "|") for name, part in parts.items()}, tmp_path, is_validated=False
    )
    assert without_places(split.jobs).equals(without_places(once.jobs))
    assert again.parsed.facts.get("cancelled_array_tasks") == once.parsed.facts.get("cancelled_array_tasks")
    assert once.jobs.select("job_id", "attempt").is_unique().all()
    of_steps = {row["JobID"] for row in rows if "." in row["JobID"]}
    assert of_steps or once.jobs.height or once.rejects


HEADS = st.sampled_from(
    [
        b"JobID|Submit|Start|End|State|JobName|NCPUS\n",
        b"JobID|JobName|Submit|Start|End|State|SubmitLine|\n",
        b"jobid,submit,start,end,state,jobname\n",
        b"Account|Comment|JobIDRaw|State|Submit|Start|Elapsed|Comment\n",
        b"",
    ]
)
PIECES = st.sampled_from(
    [
        *(b"|", b"||", b",", b'"', b"\n", b"\r\n", b"\n\n", b"1", b"1.0", b"2_[1-3]", b"#", b"\xff", b"\0"),
        *(b"2024-06-02T10:00:00", b"Unknown", b"JobID", b"COMPLETED", b"-0:00:09", b"00:01"),
        b"|2024-06-02T10:00:00|2024-06-02T10:00:00|Unknown|",
        b"1|2024-06-02T10:00:00|2024-06-02T10:00:00|2024-06-02T10:00:00|COMPLETED|x|1\n",
    ]
) | st.binary(max_size=6)


@settings(SAME_FOLDER, max_examples=150)
@given(head=HEADS, pieces=st.lists(PIECES, max_size=40), has_fields=st.booleans())
def test_any_bytes_give_tables_or_one_clear_error(
    head: bytes, pieces: list[bytes], has_fields: object, tmp_path: Path
):
    fields = ("JobID", "Submit", "Start", "End", "State", "JobName", "NCPUS") if has_fields else None
    raw = head + b"".join(pieces)
    try:
        found = read(raw, tmp_path, fields=fields)  # holds the account of lines and the contract
    except TraceError:
        return
    text = raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = text.split(b"\n")
    assert found.parsed.counts.lines == len(lines) - (lines[-1] == b"")


FIELDS = st.sampled_from(
    ["1", "2.0", "", '""', '"a,b"', '"a""b"', '""""', 'a"b', '"a"b', '"', "x", " ", "4", "COMPLETED"]
)
LINES = st.lists(FIELDS, min_size=6, max_size=6) | st.lists(FIELDS, min_size=4, max_size=9)


@settings(SAME_FOLDER, max_examples=300)
@given(fields=LINES, separator=st.sampled_from("|,"), end=st.sampled_from(["", "|"]))
def test_the_fast_path_reads_what_the_careful_one_reads(fields: list[str], separator: str, end: str):
    names = ("JobID", "Submit", "Start", "End", "State", "NCPUS", "User")
    header = separator.join(names) + (end if separator == "|" else "")
    block = f"{header}\n{separator.join(['1', *fields])}\n".encode()

    def rows(reader: LineReader) -> tuple[list[tuple[object, ...]], list[Loss]]:
        frames = [*reader.feed(block), *reader.finish()]
        return [row for frame in frames for row in frame.rows()], reader.lost

    fast, careful = LineReader("here", None), LineReader("here", None)
    with pytest.MonkeyPatch.context() as patch:
        found = rows(fast)
        patch.setattr(LineReader, "_plain", lambda _, __, starts, ___: np.zeros(starts.size, dtype=np.bool_))
        assert found == rows(careful)


TEXTS = st.text(alphabet="0123456789-:.KMGTPEnc,[]=/gpu%TZ+ \ufffd", max_size=16)


COLUMNS = (
    *("Eligible", "Elapsed", "ElapsedRaw", "Suspended", "TotalCPU", "Timelimit", "TimelimitRaw", "State"),
    *("ReqCPUS", "NCPUS", "AllocCPUS", "NTasks", "NNodes", "AllocNodes", "NodeList", "ReqMem", "MaxRSS"),
    *("ReqTRES", "AllocTRES", "UID"),
)


@settings(SAME_FOLDER, max_examples=60)
@given(values=st.fixed_dictionaries(dict.fromkeys(COLUMNS, TEXTS)))
def test_any_values_give_a_row_that_keeps_the_contract(values: dict[str, str], tmp_path: Path):
    row = {"JobID": "1", "Submit": time(FIRST_S), "Start": time(FIRST_S), "End": "Unknown"} | values
    step = row | {"JobID": "1.0"}
    found = read(as_pipes([row, step], list(row), ""), tmp_path, timezone="America/New_York")
    assert found.jobs.height + (len(found.rejects) > 0) == 1
