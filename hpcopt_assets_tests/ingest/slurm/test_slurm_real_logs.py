"""Real sacct dumps of public test suites, where they are at hand: every line is accounted for."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode, RequestKind
from hpcopt_assets_tests.bench_data import XDMOD_FIELDS
from hpcopt_assets_tests.ingest.slurm.dumps import Found, read, read_files


def log(test_data: Path, name: str, folder: Path) -> Found:
    raw = (test_data / "traces" / "sacct" / name).read_bytes()
    fields = XDMOD_FIELDS if name.startswith("xdmod") else None
    return read(raw, folder, fields=fields, timezone="America/New_York")


def test_pozidriv(test_data: Path, tmp_path: Path):
    found = log(test_data, "xdmod-pozidriv.log.gz", tmp_path)
    jobs = found.jobs
    assert (found.parsed.counts.lines, found.parsed.counts.merged, jobs.height) == (11704, 11704, 11704)
    assert found.rejects == {}
    assert Counter(jobs["state"]) == {
        JobState.COMPLETED: 10134,
        JobState.FAILED: 1007,
        JobState.CANCELLED: 468,
        JobState.PREEMPTED: 86,
        JobState.TIMEOUT: 9,
    }
    assert jobs["start_s"].null_count() == 419  # `None assigned`: cancelled in the queue
    kinds = Counter(jobs["requested_runtime_kind"])
    assert kinds == {RequestKind.LIMIT: 11646, RequestKind.PARTITION_LIMIT: 58}
    first = jobs.filter(job_id="977669").row(0, named=True)
    assert first["runtime_s"] == 7 * 86400 + 20 * 3600 + 39 * 60 + 39
    assert first["requested_memory_bytes"] == 48000 * 2**20
    assert jobs["requested_memory_bytes"].max() < 2**40  # no leaked flag is left
    assert jobs["gpus"].null_count() == 11704
    assert (jobs["name"].null_count(), jobs["name"].n_unique()) == (0, 10377)
    assert first["name"] == "3594a1a3e1db227a60491d4376b97f97dca9926394a365413a23c9709235eaa9"
    assert Counter(jobs["quality_flags"].explode().drop_nulls()) == {QualityFlag.RUNTIME_OVER_REQUEST: 9}


def test_array_tasks(test_data: Path, tmp_path: Path):
    found = log(test_data, "xdmod-unit-accounting-logs-with-job-arrays.log", tmp_path)
    assert found.of("job_id", "array_job_id", "nodes") == [("4103947_100", "4103947", 32)]
    assert found.rejects == dict.fromkeys(range(2, 7), RejectCode.PENDING_ARRAY_RANGE)
    tasks = ["3 tasks", "2 tasks", "4 tasks", "3 of 4 tasks", "9 tasks"]
    assert [reason.partition(" of array")[0] for reason in found.reasons] == tasks


def test_unfinished_and_unknown_states(test_data: Path, tmp_path: Path):
    found = log(test_data, "xdmod-unit-non-ended-job-state.log", tmp_path)
    assert found.of("state", "end_s", "runtime_s") == [("RUNNING", None, 81142), ("PENDING", None, None)]
    found = log(test_data, "xdmod-unit-unknown-job-state.log", tmp_path)
    assert found.of("state") == [JobState.UNKNOWN] * 2
    assert all(QualityFlag.UNKNOWN_STATUS in flags for flags in found.flags.values())


def test_utf8(test_data: Path, tmp_path: Path):
    found = log(test_data, "xdmod-unit-utf8-multibyte-chars.log", tmp_path)
    assert found.of("job_id", "procs", "name") == [("4103947", 8, "aàb")]


def test_all_107_fields_with_pipes_in_free_text(test_data: Path, tmp_path: Path):
    found = log(test_data, "slurmsim-sacct_dump2101.log", tmp_path)
    assert found.rejects == {16: RejectCode.TOO_FEW_FIELDS}  # the tail of a record
    assert found.reasons == ["74 fields, 107 expected"]
    recovered = found.jobs.filter(pl.col("quality_flags").list.contains(QualityFlag.RECOVERED_FIELDS))
    assert recovered.select("job_id", "runtime_s", "procs", "account").rows() == [
        (f"483097{k}", 259222, 40, "account005") for k in (4, 5, 6, 7)
    ]
    assert found.jobs.filter(job_id="4822203")["used_memory_bytes"].item() == 141309400 * 1024
    assert found.jobs["start_s"].null_count() == 6


def test_newlines_in_the_submit_line(test_data: Path, tmp_path: Path):
    found = log(test_data, "slurmsim-sacct_submitline_multiline.log", tmp_path)
    assert found.rejects == {}
    counts = found.parsed.counts
    assert (counts.lines, counts.header, counts.blank, counts.merged) == (19, 1, 1, 17)
    assert found.of("job_id", "state", "runtime_s", "requested_procs", "allocated_procs") == [
        ("7957382", "CANCELLED", 56, 1, 2),
        ("9067954", "COMPLETED", 9600, 16, 576),
    ]
    assert found.parsed.facts["steps_folded"] == 7
    assert found.jobs["used_memory_bytes"].to_list()[1] == 20012 * 1024


@pytest.mark.parametrize("names", [("a.log.gz", "b.log.gz"), ("b.log.gz", "a.log.gz")])
def test_the_same_dump_twice_is_the_same_trace(test_data: Path, names: tuple[str, str], tmp_path: Path):
    source = test_data / "traces" / "sacct" / "xdmod-pozidriv.log.gz"
    shutil.copy(source, tmp_path / "whole")
    raw = (tmp_path / "whole").read_bytes()
    once = read(raw, tmp_path, fields=XDMOD_FIELDS)
    twice = read_files(dict.fromkeys(names, raw), tmp_path, fields=XDMOD_FIELDS)
    places = ("source_file", "source_line")
    assert twice.jobs.drop(places).equals(once.jobs.drop(places))
    assert twice.parsed.counts.merged == 2 * 11704
