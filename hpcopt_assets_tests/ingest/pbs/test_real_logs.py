"""Real logs: every line is accounted for, and every reject has a reason we know."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.ingest.parsed import Options, Parsed, SourceFile
from hpcopt_assets.ingest.pbs.reader import read_pbs
from hpcopt_assets_tests.ingest.pbs.helpers import LIMITS, jobs_of, only, refused


def _read(test_data: Path, name: str) -> Parsed:
    path = test_data / "traces" / "pbs" / name
    return read_pbs((SourceFile(path, name),), Options(LIMITS))


def test_openpbs_log(test_data: Path) -> None:
    found = _read(test_data, "openpbs-200jobs.log")
    jobs = jobs_of(found)
    assert (found.counts.lines, found.counts.comment, found.counts.merged) == (656, 56, 600)
    assert found.refused == []
    assert jobs.height == 200
    assert jobs["state"].unique().to_list() == ["COMPLETED"]
    assert jobs["procs"].equals(jobs["allocated_procs"].rename("procs"))
    assert jobs["runtime_s"].is_between(1_800, 1_810).all()
    assert jobs["quality_flags"].list.len().sum() == 0
    assert jobs["name"].to_list() == ["job01"] * 200


@pytest.fixture(scope="module")
def torque(test_data: Path) -> tuple[Parsed, pl.DataFrame]:
    found = _read(test_data, "torque-records.log")
    return found, jobs_of(found)


def test_torque_records(torque: tuple[Parsed, pl.DataFrame]) -> None:
    found, jobs = torque
    assert (found.counts.lines, found.counts.merged, jobs.height) == (21, 17, 17)
    assert refused(found) == {
        7: "pending_array_range",
        8: "no_submit_time",
        9: "no_submit_time",
        10: "no_submit_time",
    }


@pytest.mark.parametrize(
    ("job_id", "wanted"),
    [
        ("45.server.example", {"procs": 4, "nodes": 2, "runtime_s": 106, "name": "job01"}),
        ("161299[389].server.example", {"procs": 16, "array_job_id": "161299", "wait_s": 20_806}),
        ("621344.server.example", {"state": "CANCELLED", "runtime_s": 71}),
        ("268279.server.example", {"state": "TIMEOUT", "procs": 40, "runtime_s": 43_175}),
        ("6464684.server.example", {"requested_procs": 4, "allocated_procs": 4, "state": "FAILED"}),
        ("2994.server.example", {"procs": 65, "nodes": 5, "quality_flags": ["elapsed_differs"]}),
        ("10711", {"requested_procs": None, "allocated_procs": 28, "requested_runtime_kind": "unknown"}),
        ("7904", {"gpus": 1, "procs": 28, "quality_flags": ["eligible_unknown"]}),
        ("3073070.[hostname_1]", {"state": "TIMEOUT", "nodes": 1, "gpus": 4, "procs": 48}),
        ("63.server.example", {"state": "RUNNING", "end_s": None}),
        ("80.server.example", {"state": "PENDING", "user": None, "name": None}),
    ],
)
def test_jobs_of_the_torque_records(
    torque: tuple[Parsed, pl.DataFrame], job_id: str, wanted: dict[str, object]
) -> None:
    job = only(torque[1], job_id=job_id)
    assert {name: job[name] for name in wanted} == wanted
