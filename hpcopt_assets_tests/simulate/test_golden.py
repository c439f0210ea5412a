"""Schedules computed by programs that share no code with ours: every job, every policy we have."""

import csv
import os
from functools import cache
from pathlib import Path

import pytest

from hpcopt_assets.simulate import engine, reference
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.builders import read_swf
from hpcopt_assets_tests.simulate.strategies import policy

GOLDEN = Path(__file__).parents[1] / "golden"
TRACES = ["plain64", "plain200", "ties32", "overrun48", "grid40"]
POLICIES = {
    "fcfs": policy(backfill="none"),
    "easy": policy(),
    "easy_sjbf": policy(backfill_order="shortest"),
    "easy_pp": policy(backfill_order="shortest", estimate="user_history", hold="user_history"),
    "conservative": policy(backfill="conservative"),
    "sjf": policy(order="shortest"),
    "ljf": policy(order="longest"),
}


@cache
def golden(trace: str) -> tuple:
    frame, capacity_procs = read_swf(GOLDEN / f"{trace}.swf")
    with (GOLDEN / f"{trace}.starts.csv").open() as file:
        starts = {row["job_id"]: row for row in csv.DictReader(file)}
    assert set(frame["job_id"]) == set(starts)
    return frame, capacity_procs, starts


@pytest.mark.parametrize("column", POLICIES)
@pytest.mark.parametrize("trace", TRACES)
def test_kernel_starts_every_job_when_the_judges_do(trace: str, column: str):
    frame, capacity_procs, starts = golden(trace)
    schedule = engine.replay(frame, POLICIES[column], capacity_procs, is_strict=True).schedule
    found = dict(zip(schedule["job_id"], schedule["start_s"], strict=True))
    assert found == {job_id: int(row[column]) for job_id, row in starts.items()}


@pytest.mark.parametrize("column", POLICIES)
@pytest.mark.parametrize("trace", TRACES)
def test_reference_starts_every_job_when_the_judges_do(trace: str, column: str):
    frame, capacity_procs, starts = golden(trace)
    workload = select_workload(frame, capacity_procs)
    found = dict(zip(workload.job_id, reference.replay_starts(workload, POLICIES[column]), strict=True))
    assert found == {job_id: int(row[column]) for job_id, row in starts.items()}


def test_fcfs_equals_a_run_of_batsim():
    if "HPCOPT_TEST_DATA" not in os.environ:
        pytest.skip("HPCOPT_TEST_DATA is not set: no Batsim output to compare with")
    path = Path(os.environ["HPCOPT_TEST_DATA"]) / "batsim" / "ties32.fcfs.jobs.csv"
    with path.open() as file:
        batsim = {row["job_id"]: float(row["starting_time"]) for row in csv.DictReader(file)}
    frame, capacity_procs, _ = golden("ties32")
    schedule = engine.replay(frame, POLICIES["fcfs"], capacity_procs).schedule
    assert dict(zip(schedule["job_id"], schedule["start_s"], strict=True)) == batsim
    assert len(batsim) == 300
