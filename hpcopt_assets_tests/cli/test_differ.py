"""`hpcopt differ`: policies, the record and files; for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hpcopt_assets.cli.reading import known_of
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets_tests.cli.command import Hpcopt, mistake

pytestmark = pytest.mark.usefixtures("project")
POLICIES = ("fifo_strict", "easy_backfill")


def asked(hpcopt: Hpcopt, *arguments: str | Path) -> dict[str, Any]:
    done = hpcopt("differ", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_where_two_policies_part_and_whom_the_second_helps(hpcopt: Hpcopt, log: Path) -> None:
    found = asked(hpcopt, log, *POLICIES)
    assert (found["first"], found["second"]) == POLICIES
    assert (found["capacity"], found["capacity_source"]) == ({"procs": 8, "steps": []}, "header")
    assert (found["jobs_count"], found["only_first"], found["tau_s"]) == (60, {}, 10)
    parting = found["parting"]
    assert parting["first"]["free_procs"] == 8 - parting["first"]["running_procs"]
    begun = [row["job_id"] for row in parting["started"] if row["second_start_s"] == parting["at_s"]]
    done = hpcopt("differ", log, *POLICIES)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert f"({parting['at_s']}), after {parting['same_before_count']} job" in said
    assert f"Under {POLICIES[0]} alone no job starts." in said
    assert f"  {begun[0]}: place " in said
    assert f"needs {parting['first']['head']['procs']} and has its shadow time" in said
    assert "Jobs most helped by easy_backfill" in said
    assert "None" not in said


def test_the_machine_and_the_constants_can_be_given(hpcopt: Hpcopt, log: Path) -> None:
    found = asked(hpcopt, log, *POLICIES, "--capacity", "16", "--tau", "60")
    assert (found["capacity"]["procs"], found["tau_s"]) == (16, 60)
    steps = asked(hpcopt, log, *POLICIES, "--capacity", "8", "--capacity-step", "1700002000=4")
    assert steps["capacity"]["steps"] == [[1700002000, 4]]
    assert steps["neither_count"] > 0
    said = hpcopt("differ", log, *POLICIES, "--capacity", "8", "--capacity-step", "1700002000=4").stdout
    assert f"{steps['neither_count']} jobs ran under neither." in said
    assert f"jobs ran only under {POLICIES[1]}; the other says:" in said


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_schedule_in_a_file_is_the_policy_that_wrote_it(hpcopt: Hpcopt, log: Path, ending: str) -> None:
    out = log.with_name(f"schedule.{ending}")
    assert hpcopt("replay", log, "--policy", POLICIES[0], "--out", out).returncode == 0
    assert asked(hpcopt, log, POLICIES[0], out)["parting"] is None
    with_file, without = asked(hpcopt, log, out, POLICIES[1]), asked(hpcopt, log, *POLICIES)
    assert with_file["helped"] == without["helped"]
    assert with_file["parting"]["at_s"] == without["parting"]["at_s"]
    done = hpcopt("differ", log, POLICIES[0], out)
    assert "the two schedules are the same" in done.stdout
    assert "schedule." in done.stdout.splitlines()[0]


def test_a_table_of_the_store_is_taken_whole(hpcopt: Hpcopt, log: Path, project: Project) -> None:
    configs = load_configs(project.configs)
    jobs = known_of(log, configs, TraceEntry()).jobs
    out = log.with_name("part.parquet")
    replay(jobs, configs.policy(POLICIES[1]), 8).schedule.write_parquet(out)
    found = asked(hpcopt, log, out, POLICIES[0])
    assert found["parting"]["started"][0]["first_estimate_s"] is not None


def test_the_record_is_a_schedule_too(hpcopt: Hpcopt, log: Path) -> None:
    found = asked(hpcopt, log, "observed", POLICIES[1])
    assert found["jobs_count"] == 60
    assert found["parting"] is not None
    assert all((int(row["job_id"]) - 1) * 53 % 700 == row["first_wait_s"] for row in found["helped"])
    assert found["helped"]


def test_what_makes_no_sense_is_one_sentence(hpcopt: Hpcopt, log: Path) -> None:
    assert "schedule 'none_such'; needed: one of fifo_strict" in mistake(
        hpcopt("differ", log, *POLICIES[:1], "none_such")
    )
    said = mistake(hpcopt("differ", log, POLICIES[0], log.with_name("nowhere.csv")))
    assert "nowhere.csv: No such file" in said
    bad = log.with_name("bad.csv")
    bad.write_text("job_id,begin\n1,2\n")
    assert "no column start_s, end_s" in mistake(hpcopt("differ", log, POLICIES[0], bad))
    bad.write_text("job_id,start_s,end_s\n1,soon,later\n")
    assert "whole numbers" in mistake(hpcopt("differ", log, POLICIES[0], bad))
    bad.write_text("job_id,start_s,end_s\n77,1800000000,1800000001\n")
    assert "job 77 that the trace does not have" in mistake(hpcopt("differ", log, POLICIES[0], bad))
    pl.DataFrame({"job_id": ["1"]}).write_parquet(bad.with_suffix(".parquet"))
    assert "no column" in mistake(hpcopt("differ", log, POLICIES[0], bad.with_suffix(".parquet")))
    bad.with_suffix(".parquet").write_bytes(b"PAR1 and no more")
    assert "bad.parquet" in mistake(hpcopt("differ", log, POLICIES[0], bad.with_suffix(".parquet")))
