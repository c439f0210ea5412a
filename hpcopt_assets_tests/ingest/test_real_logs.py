"""Logs of the Parallel Workloads Archive (Feitelson, Tsafrir and Krakov, JPDC 2014), as others describe them.

Run where HPCOPT_TEST_DATA names a folder with traces/swf; the facts were counted independently.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import INGEST_REPORT, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets.ingest.reader import Breakdown
from hpcopt_assets_tests.ingest.helpers import ingest_files

DATA = os.environ.get("HPCOPT_TEST_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="HPCOPT_TEST_DATA is not set: no real logs to read")


@dataclass(frozen=True)
class Read:
    """What became of a log, all of it in memory."""

    jobs: pl.DataFrame
    rejects: pl.DataFrame
    report: pl.DataFrame
    breakdown: Breakdown


def read(name: str, capacity_procs: int | None = None) -> Read:
    path = Path(DATA or "", "traces", "swf", name)
    with TemporaryDirectory() as folder:
        made = ingest_files([path], Path(folder), capacity_procs=capacity_procs)
        found = Read(made.jobs, made.rejects, made.report, made.breakdown)
    validate(TRACE_JOBS, found.jobs)
    validate(TRACE_REJECTS, found.rejects)
    validate(INGEST_REPORT, found.report)
    return found


FACTS: dict[str, dict[str, Any]] = {
    "CTC-SP2-1996-3.1-cln.swf.gz": {
        "jobs": 77222, "capacity": 338, "peak": 592, "hours_over": 93, "over_request": 7174,
        "nulls": {"requested_procs": 77222, "procs": 0, "name": 0, "requested_runtime_s": 6, "start_s": 0},
        "zero_runtime": 17, "timezone": "US/Eastern", "lines": (77251, 24, 5, 0),
    },
    "SDSC-SP2-1998-4.2-cln.swf.gz": {
        "jobs": 59715, "capacity": 128, "peak": 202, "hours_over": 238, "over_request": 4134,
        "nulls": {"name": 0, "runtime_s": 5671, "start_s": 5671, "requested_runtime_s": 66, "procs": 0},
        "zero_runtime": 10, "timezone": "US/Pacific", "lines": (59763, 26, 22, 0),
    },
    "HPC2N-2002-2.2-cln.swf.gz": {
        "jobs": 202871, "capacity": 240, "peak": 248, "hours_over": 4.6, "over_request": 14817,
        "nulls": {"name": 202871, "wait_s": 1, "start_s": 1, "runtime_s": 0, "requested_runtime_s": 0},
        "zero_runtime": 0, "timezone": "Europe/Stockholm", "lines": (202902, 23, 8, 0),
    },
    "KTH-SP2-1996-2.1-cln.swf.gz": {
        "jobs": 28476, "capacity": 100, "peak": 104, "hours_over": 5.7, "over_request": 475,
        "nulls": {"name": 28476, "procs": 1, "start_s": 0},
        "zero_runtime": 8, "timezone": "Europe/Stockholm", "lines": (28500, 18, 6, 0),
    },
    "SDSC-BLUE-2000-4.2-cln.swf.gz": {
        "jobs": 243306, "capacity": 1152, "peak": 2944, "hours_over": 281, "over_request": 23434,
        "nulls": {"name": 243306, "allocated_procs": 19516, "runtime_s": 10744, "start_s": 10742, "procs": 0},
        "zero_runtime": 26, "timezone": "US/Pacific", "lines": (243362, 48, 8, 0),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", FACTS)
def test_a_log_of_the_archive_is_what_it_is_said_to_be(name: str):
    facts, found = FACTS[name], read(name)
    report = found.report.row(0, named=True)
    assert found.jobs.height == facts["jobs"]
    assert found.rejects.is_empty()
    assert (report["capacity_procs"], report["capacity_source"]) == (facts["capacity"], "header")
    assert report["observed_peak_procs"] == facts["peak"]
    digits = 1 if isinstance(facts["hours_over"], float) else 0
    assert round(report["observed_over_capacity_s"] / 3600, digits) == pytest.approx(
        facts["hours_over"], abs=1
    )
    assert found.breakdown["flags_by_kind"]["runtime_over_request"] == facts["over_request"]
    nulls = {column: found.jobs[column].null_count() for column in facts["nulls"]}
    assert nulls == facts["nulls"]
    assert (found.jobs["runtime_s"] == 0).sum() == facts["zero_runtime"]
    lines = tuple(report[f"{part}lines_count"] for part in ("", "header_", "comment_", "blank_"))
    assert (report["timezone"], lines) == (facts["timezone"], facts["lines"])


def test_ctc_takes_its_processors_from_the_allocation():
    found = read("CTC-SP2-1996-3.1-cln.swf.gz")
    assert found.breakdown["flags_by_kind"]["procs_from_allocation"] == 77222
    assert found.breakdown["other_facts"] == {"header_max_procs": 338, "header_max_nodes": 338}
    assert "user=135 and (job>=47421" in found.report["notes"].item()[1]


def test_sdsc_sp2_tells_cancelled_before_from_cancelled_while_running():
    cancelled = read("SDSC-SP2-1998-4.2-cln.swf.gz").jobs.filter(state="CANCELLED")
    assert cancelled["start_s"].null_count() == 5671
    assert cancelled["start_s"].count() == 10927  # 16,598 in all


def test_hpc2n_has_its_quirks():
    found = read("HPC2N-2002-2.2-cln.swf.gz")
    jobs = found.jobs
    assert found.breakdown["jobs_by_state"] == {"COMPLETED": 201993, "UNKNOWN": 878}
    assert found.breakdown["flags_by_kind"] == {"runtime_over_request": 14817, "allocated_differs": 729}
    assert (jobs["submit_s"].diff() == 0).sum() == 29729
    assert jobs["submit_s"].min() == 1027839845 + 342072


def test_thunder_sets_aside_what_has_no_submit_time():
    found = read("LLNL-Thunder-2007-1.1-cln.swf.gz")
    assert found.breakdown["rejects_by_code"] == {"no_submit_time": 1190}
    assert found.jobs.height == 121039 - 1190
    assert found.jobs["wait_s"].null_count() == found.jobs.height
    assert found.report["observed_peak_procs"].item() is None


def test_a_log_without_its_header_needs_the_registry():
    name = "METACENTRUM-2009-2.swf.gz"
    found = read(name, capacity_procs=806)
    assert (found.jobs.height, found.report["header_lines_count"].item()) == (103656, 0)
    assert found.report.select("capacity_procs", "capacity_source").row(0) == (806, "config")
    assert read(name).report.select("capacity_procs", "capacity_source").row(0) == (604, "observed_peak")


def test_a_model_has_no_waits():
    found = read("lublin_256.swf", capacity_procs=256)
    assert (found.jobs.height, found.jobs["wait_s"].null_count()) == (10000, 10000)
    assert found.jobs.select(pl.col("procs").is_null().any()).item() is False
