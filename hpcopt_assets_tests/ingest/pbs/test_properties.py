"""For all logs: what is written is read back, order does not matter, both paths agree, no line is lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.ingest.pbs import lines
from hpcopt_assets_tests.ingest.pbs.helpers import jobs_of, parsed

SAME_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50
)
EPOCH_S = 1_700_000_000


@dataclass(frozen=True)
class Run:
    """A start of a job: after how long a wait, how long it ran, what else happened meanwhile."""

    wait_s: int
    run_s: int
    failed_start_s: int | None
    suspended_s: int | None

    @property
    def is_suspended(self) -> bool:
        return self.suspended_s is not None


@dataclass(frozen=True)
class Job:
    """A job as one of the two servers logs it. All runs but the last are requeued."""

    number: int
    submit_s: int
    is_pro: bool
    nodes: int
    procs_per_node: int
    request_s: int | None
    exit_status: int | None
    user: str
    account: str
    is_announced: bool
    is_deleted: bool
    runs: tuple[Run, ...]

    @property
    def job_id(self) -> str:
        return f"{self.number}.srv"

    def _record(self, at_s: int, kind: str, attributes: str = "") -> str:
        clock = datetime.fromtimestamp(at_s, UTC).strftime("%m/%d/%Y %H:%M:%S")
        return f"{clock};{kind};{self.job_id};{attributes}"

    def _base(self, eligible_s: int) -> str:
        account = self.account.replace("\\", "\\\\").replace('"', '\\"')
        return (
            f'user={self.user} group=g1 account="{account}" jobname=run_of_{self.user} queue=workq '
            f"ctime={self.submit_s} qtime={self.submit_s} etime={eligible_s}"
        )

    def _asked(self) -> str:
        limit = "" if self.request_s is None else f" Resource_List.walltime={clock(self.request_s)}"
        if self.is_pro:
            return f"Resource_List.select={self.nodes}:ncpus={self.procs_per_node}{limit}"
        return f"Resource_List.nodes={self.nodes}:ppn={self.procs_per_node}{limit}"

    def _given(self) -> str:
        count = self.procs_per_node
        if self.is_pro:
            chunks = "+".join(f"(n{node}:ncpus={count})" for node in range(self.nodes))
            return (
                "exec_host="
                + "+".join(f"n{k}/0*{count}" for k in range(self.nodes))
                + f" exec_vnode={chunks}"
            )
        slots = (f"n{node}/{slot}" for node in range(self.nodes) for slot in range(count))
        return "exec_host=" + "+".join(slots)

    def starts(self) -> list[tuple[int, int, int]]:
        """(eligible, start, end) of each run."""
        found = []
        eligible_s = self.submit_s
        for run in self.runs:
            start_s = eligible_s + run.wait_s
            found.append((eligible_s, start_s, start_s + run.run_s))
            eligible_s = start_s + run.run_s
        return found

    def lines(self) -> list[str]:
        lines = []
        if self.is_announced or not self.runs:
            told = f"{self._base(self.submit_s)} {self._asked()}" if self.is_pro else "queue=workq"
            lines.append(self._record(self.submit_s, "Q", told))
        if not self.runs and self.is_deleted:
            lines.append(self._record(self.submit_s + 9, "D", "requestor=root@srv"))
        for place, (run, (eligible_s, start_s, end_s)) in enumerate(
            zip(self.runs, self.starts(), strict=True)
        ):
            told = f"{self._base(eligible_s)} start={start_s} {self._given()} {self._asked()}"
            if run.failed_start_s is not None:
                early_s = max(start_s - run.failed_start_s, eligible_s)
                lines.append(self._record(early_s, "S", told.replace(f"start={start_s}", f"start={early_s}")))
            lines.append(self._record(start_s, "S", told))
            if run.suspended_s is not None:
                lines.append(self._record(start_s, "z", "resources_used.walltime=00:00:00"))
                lines.append(self._record(start_s + run.suspended_s, "r"))
            used = (
                f"resources_used.walltime={clock(run.run_s - (run.suspended_s or 0))} resources_used.mem=5mb"
            )
            if place < len(self.runs) - 1:
                bare = "" if not self.is_pro else f"{told} end={end_s} Exit_status=-11 {used} run_count=1"
                lines.append(self._record(end_s, "R", bare))
            elif self.exit_status is not None:
                lines.append(
                    self._record(end_s, "E", f"{told} end={end_s} Exit_status={self.exit_status} {used}")
                )
        return lines

    def rows(self) -> list[dict[str, Any]]:
        """What it becomes in `trace_jobs`."""
        procs = self.nodes * self.procs_per_node
        is_told = self.is_pro or bool(self.runs)
        base = {
            "job_id": self.job_id,
            "submit_s": self.submit_s,
            "requested_runtime_s": self.request_s if is_told else None,
            "requested_procs": procs if is_told else None,
            "nodes": self.nodes if is_told else None,
            "user": self.user if is_told else None,
            "account": self.account if is_told else None,
            "name": f"run_of_{self.user}" if is_told else None,
            "attempt_count": max(len(self.runs), 1),
        }
        if not self.runs:
            waiting = {"eligible_s": self.submit_s if self.is_pro else None, "start_s": None, "end_s": None}
            state = "CANCELLED" if self.is_deleted else "PENDING"
            return [
                base
                | waiting
                | {"allocated_procs": None, "state": state, "attempt": 1, "is_suspended": False}
            ]
        rows = []
        for place, (run, (eligible_s, start_s, end_s)) in enumerate(
            zip(self.runs, self.starts(), strict=True)
        ):
            is_last = place == len(self.runs) - 1
            state = "REQUEUED"
            if is_last:
                state = (
                    "RUNNING" if self.exit_status is None else "FAILED" if self.exit_status else "COMPLETED"
                )
            rows.append(
                base
                | {
                    "eligible_s": eligible_s,
                    "start_s": start_s,
                    "end_s": None if is_last and self.exit_status is None else end_s,
                    "allocated_procs": procs,
                    "state": state,
                    "attempt": place + 1,
                    "is_suspended": run.is_suspended,
                }
            )
        return rows


def clock(seconds: int) -> str:
    """HH:MM:SS."""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


@st.composite
def runs(draw: st.DrawFn) -> Run:
    run_s = draw(st.integers(1, 200_000))
    return Run(
        wait_s=draw(st.integers(0, 10_000)),
        run_s=run_s,
        failed_start_s=draw(st.none() | st.integers(1, 500)),
        suspended_s=draw(st.none() | st.integers(1, run_s)),
    )


FREE_TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r", exclude_categories=["Cc", "Cs"]), max_size=8
)
JOBS = st.builds(
    Job,
    number=st.integers(1, 10**7),
    submit_s=st.integers(EPOCH_S, EPOCH_S + 10**7),
    is_pro=st.booleans(),
    nodes=st.integers(1, 4),
    procs_per_node=st.integers(1, 8),
    request_s=st.none() | st.integers(0, 400_000),
    exit_status=st.none() | st.integers(0, 100),
    user=st.text("abcxyz09", min_size=1, max_size=6),
    account=FREE_TEXT.filter(lambda text: text != ""),
    is_announced=st.booleans(),
    is_deleted=st.booleans(),
    runs=st.lists(runs(), max_size=4).map(tuple),
)
LOGS = st.lists(JOBS, min_size=1, max_size=8, unique_by=lambda job: job.number)


@SAME_FOLDER
@given(jobs=LOGS, rng=st.randoms(use_true_random=False))
def test_written_jobs_are_read_back(jobs: list[Job], rng: Any, tmp_path: Path) -> None:
    lines = [line for job in jobs for line in job.lines()]
    rng.shuffle(lines)
    found = jobs_of(parsed("\n".join(lines), tmp_path))
    found = found.with_columns(is_suspended=pl.col("quality_flags").list.contains("suspended"))
    wanted = [row for job in jobs for row in job.rows()]
    wanted.sort(key=lambda row: (row["job_id"], row["attempt"]))
    assert found.select(list(wanted[0])).to_dicts() == wanted


@st.composite
def jobs_of_one_number(draw: st.DrawFn) -> list[Job]:
    """Jobs that had a number one after the other: long after each other, or of users that are known."""
    jobs: list[Job] = []
    free_s = EPOCH_S
    for job in draw(st.lists(JOBS, min_size=1, max_size=4)):
        is_told_apart = bool(jobs) and bool(job.runs and jobs[-1].runs) and job.user != jobs[-1].user
        gap_s = draw(st.integers(200, 10**6)) if is_told_apart else draw(st.integers(90_000, 10**8))
        jobs.append(replace(job, number=7, submit_s=free_s + gap_s))
        ends = [end_s for _, _, end_s in jobs[-1].starts()]
        free_s = max(jobs[-1].submit_s + 9, *ends) if ends else jobs[-1].submit_s + 9
    return jobs


@SAME_FOLDER
@given(jobs=jobs_of_one_number(), rng=st.randoms(use_true_random=False))
def test_jobs_that_had_one_number_are_told_apart(jobs: list[Job], rng: Any, tmp_path: Path) -> None:
    lines = [line for job in jobs for line in job.lines()]
    rng.shuffle(lines)
    found = jobs_of(parsed("\n".join(lines), tmp_path))
    found = found.with_columns(is_suspended=pl.col("quality_flags").list.contains("suspended"))
    wanted = [row for job in jobs for row in job.rows()]
    for row in wanted:
        if row["submit_s"] != jobs[0].submit_s:
            since = datetime.fromtimestamp(row["submit_s"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            row["job_id"] += f"@{since}"
    assert found.sort("submit_s", "attempt").select(list(wanted[0])).to_dicts() == wanted


# --- logs of pieces: records that contradict each other, attributes that make no sense ----------------------

TIMES = st.integers(0, 40).map(lambda k: datetime.fromtimestamp(EPOCH_S + 100 * k, UTC))
NUMBERS = st.integers(-2, 40).map(lambda k: str(EPOCH_S + 100 * k)) | st.sampled_from(
    ["", "0", "-1", "9" * 30, "x"]
)
PIECES = st.one_of(
    *(st.tuples(st.just(name), NUMBERS) for name in ("ctime", "qtime", "etime", "start", "end")),
    st.tuples(
        st.sampled_from(list(lines.ATTRIBUTES.values())),
        st.sampled_from(
            [
                "",
                "4",
                "-11",
                "271",
                "00:10:00",
                "19:23:4",
                "2:ncpus=8+1:mem=2gb",
                "n1/0-3+n2/1*9",
                "(a:ncpus=1+b)",
                "1gb",
            ]
        )
        | st.text("0123456789:+=-*/(),kgbw", max_size=12),
    ),
)


@st.composite
def records(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from("QSERTCDAMzraucLBX"))
    pairs = draw(st.lists(PIECES, max_size=8))
    job_id = draw(st.sampled_from(["1.srv", "2.srv", "3[].srv", "3[1].srv", ""]))
    text = " ".join(f"{name}={value}" for name, value in pairs)
    return f"{draw(TIMES).strftime('%m/%d/%Y %H:%M:%S')};{kind};{job_id};{text}"


@pytest.mark.slow
@SAME_FOLDER
@given(lines=st.lists(records(), min_size=1, max_size=25), rng=st.randoms(use_true_random=False))
def test_order_and_repetition_of_lines_and_files_do_not_matter(
    lines: list[str], rng: Any, tmp_path: Path
) -> None:
    first = jobs_of(parsed("\n".join(lines), tmp_path))
    again = lines + [line for line in lines if rng.random() < 0.5]
    rng.shuffle(again)
    cut = rng.randrange(len(again) + 1)
    logs = {"a.log": "\n".join(again[:cut]) + "\n", "b.log": "\n".join(again[cut:]) + "\n"}
    second = jobs_of(parsed(logs, tmp_path))
    columns = [name for name in first.columns if name not in ("source_file", "source_line")]
    assert_frame_equal(first.select(columns), second.select(columns))


@SAME_FOLDER
@given(
    data=st.binary(min_size=1, max_size=400)
    | st.lists(records() | st.text(max_size=30)).map(lambda lines: "\n".join(lines).encode())
)
def test_no_bytes_break_the_reader(data: bytes, tmp_path: Path) -> None:
    try:
        found = parsed(data, tmp_path)
    except TraceError:
        return
    jobs_of(found)


WORDS = st.text(st.sampled_from("ab=\"'\\ \t.é;"), max_size=14)
VALUES = st.one_of(WORDS, WORDS.map(lambda text: f'"{text}"'), WORDS.map(lambda text: f"'{text}'"))


@settings(deadline=None)
@given(
    pairs=st.lists(
        st.tuples(st.sampled_from(["user", "account", "start", "other", "Resource_List.mem"]), VALUES),
        max_size=6,
    )
)
def test_both_ways_of_reading_attributes_agree(pairs: list[tuple[str, str]]) -> None:
    text = " ".join(f"{name}={value}" for name, value in pairs)
    found = lines.read_lines(f"03/10/2024 12:00:00;E;1;{text}\n".encode(), 1)
    columns = list(lines.ATTRIBUTES_SCHEMA)
    assert found.records.select(columns).rows() == [lines.attributes(text.strip())]


def test_the_plain_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> tuple[bool | str | None, ...]:
        raise AssertionError(text)

    monkeypatch.setattr(lines, "attributes", fail)
    found = lines.read_lines(b"03/10/2024 12:00:00;E;1;user=u account=\"a=b\" start=5 x='{}'\n", 1)
    assert found.records.select("user", "account", "start").row(0) == ("u", "a=b", "5")
