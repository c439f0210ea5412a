"""Every scenario moves its statistic by the factor asked and leaves the others; all that follows, follows."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.stress_config import StressConfig
from hpcopt_assets.contracts.stress_words import MOVED_BY, StressScenario, WorkloadStatistic
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import QualityFlag
from hpcopt_assets.ingest.canonical import trace_jobs_of
from hpcopt_assets.ingest.parsed import Options, SourceFile
from hpcopt_assets.ingest.swf.reader import read_swf
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets.stress.cases import cases, stress
from hpcopt_assets.stress.columns import forecasts_for
from hpcopt_assets.stress.statistics import Obstacle, counts, statistics_of
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import shipped
from hpcopt_assets_tests.stress.traces import MACHINE, PROCS, estimates_of, modelled, odd_jobs

CONFIG = shipped(StressConfig).scenarios
SCENARIOS = st.sampled_from(list(StressScenario))
DATA = os.environ.get("HPCOPT_TEST_DATA")


def as_stated(jobs: pl.DataFrame, capacity: Capacity) -> None:
    """Every scenario at every severity: measured here anew, from the stressed trace alone."""
    before = statistics_of(jobs, capacity, CONFIG.peak_windows)
    made = list(cases(jobs, capacity, None, CONFIG))
    assert [(case.columns["scenario"], case.columns["severity"]) for case in made] == [
        (scenario.value, severity) for scenario in StressScenario for severity in (1, 2, 3)
    ]
    for case in made:
        assert case.obstacle is None, case.columns
        validate(TRACE_JOBS, case.stressed.jobs)
        after = statistics_of(case.stressed.jobs, case.stressed.capacity, CONFIG.peak_windows)
        moved = MOVED_BY[StressScenario(case.columns["scenario"])]
        for name in WorkloadStatistic:
            wanted = case.columns["asked_factor"] if name is moved else 1.0
            assert after[name] / before[name] == pytest.approx(wanted, rel=0.05), (case.columns, name)
        assert case.stressed.jobs.height == jobs.height


def test_the_statistic_moves_and_the_others_stay_on_the_synthetic_model():
    as_stated(modelled(), MACHINE)


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="HPCOPT_TEST_DATA is not set: no real logs to read")
@pytest.mark.parametrize(
    "name", ["KTH-SP2-1996-2.1", "CTC-SP2-1996-3.1", "SDSC-SP2-1998-4.2", "HPC2N-2002-2.2"]
)
def test_the_statistic_moves_and_the_others_stay_on_real_logs(name: str):
    path = Path(DATA or "", "traces", "swf", f"{name}-cln.swf.gz")
    log = read_swf((SourceFile(path, path.name),), Options(shipped(IngestConfig)))
    as_stated(trace_jobs_of(log.records, name, {}).collect(), Capacity(log.machine.max_procs))


@given(odd_jobs(), SCENARIOS)
@settings(deadline=None)
def test_a_factor_of_one_changes_nothing(jobs, scenario):
    try:
        same, machine = stress(jobs, scenario, 1.0, Capacity(PROCS), CONFIG)
    except Obstacle:
        return
    assert machine == Capacity(PROCS)
    kept = ["think_time_s"] if scenario in (StressScenario.LOW_CONGESTION, StressScenario.BURST_SHOCK) else []
    assert same.drop(kept).equals(jobs.drop(kept))


@given(odd_jobs(), SCENARIOS, st.integers(0, 2))
@settings(deadline=None, max_examples=300)
def test_what_follows_follows(jobs, scenario, severity):
    """The contract, and what it does not say: nothing else changes, no request becomes too short."""
    factor = CONFIG.factors.of(scenario)[severity]
    try:
        after, machine = stress(jobs, scenario, factor, Capacity(PROCS, ((50, 4), (90, PROCS))), CONFIG)
    except Obstacle:
        return
    validate(TRACE_JOBS, after)
    assert (
        after.select("job_id", "attempt")
        .sort("job_id")
        .equals(jobs.select("job_id", "attempt").sort("job_id"))
    )
    order = pl.struct("release_s", "submit_s", pl.col("job_id").cast(pl.Int64))
    assert after.select(order).to_series().is_sorted()
    both = jobs.join(after, on="job_id", suffix="_after")
    may_change = {
        StressScenario.HEAVY_TAIL: {
            "runtime_s", "requested_runtime_s", "partition_limit_s", "end_s", "cpu_used_s", "quality_flags",
        },
        StressScenario.USER_SKEW: {"user", "group", "account"},
        StressScenario.ESTIMATE_NOISE: {"requested_runtime_s", "quality_flags"},
    }.get(scenario, {"release_s", "submit_s", "eligible_s", "start_s", "end_s", "think_time_s"})  # fmt: skip
    for name in set(jobs.columns) - may_change - {"job_id"}:
        assert both[name].equals(both[f"{name}_after"], check_names=False), name
    for name in ("requested_runtime_s", "runtime_s", "start_s", "end_s", "cpu_used_s", "partition_limit_s"):
        assert both[name].is_null().equals(both[f"{name}_after"].is_null(), check_names=False), name
    was_long_enough = both.filter(pl.col("requested_runtime_s") >= pl.col("runtime_s"))
    assert (was_long_enough["requested_runtime_s_after"] >= was_long_enough["runtime_s_after"]).all()
    fitted = both.filter(pl.col("partition_limit_s") >= pl.col("runtime_s"))
    assert (fitted["partition_limit_s_after"] >= fitted["runtime_s_after"]).all()
    is_over = (after["runtime_s"] > after["requested_runtime_s"]).fill_null(False)
    is_flagged = after["quality_flags"].list.contains(QualityFlag.RUNTIME_OVER_REQUEST.value)
    assert is_over.equals(is_flagged, check_names=False)
    used = both.filter(pl.col("runtime_s") > 0, pl.col("cpu_used_s") > 0).select(
        before=pl.col("cpu_used_s") / pl.col("runtime_s"),
        after=pl.col("cpu_used_s_after") / pl.col("runtime_s_after"),
    )
    assert used["before"].to_list() == pytest.approx(used["after"].to_list(), rel=1e-9)
    assert both["wait_s"].equals(both["wait_s_after"], check_names=False)
    assert len(machine.steps) == 2


@given(odd_jobs())
@settings(deadline=None)
def test_the_jobs_that_count_are_those_that_are_replayed(jobs):
    workload = select_workload(jobs, PROCS)
    counted = jobs.select(counts(Capacity(PROCS))).to_series()
    assert counted.to_list() == workload.is_replayed.to_list()


def test_forecasts_go_with_requests_and_not_with_runtimes():
    jobs = trace([job(1, 0, 1, 10, 100), job(2, 5, 1, 20, None), job(3, 9, 1, 0, 50)])
    after = jobs.with_columns(
        requested_runtime_s=pl.Series([300, None, 50], dtype=pl.Int64),
        runtime_s=pl.Series([10, 40, 7]),
        submit_s=pl.col("submit_s") + 7,
    )
    before = estimates_of(jobs)
    found = forecasts_for(before, jobs, after)
    assert found.columns == before.columns
    assert found["submit_s"].to_list() == [7, 12, 16]
    assert (found["p50_s"] / before["p50_s"]).to_list() == [3.0, 1.0, 1.0]
    assert (found["p90_s"] / before["p90_s"]).to_list() == [3.0, 1.0, 1.0]


def test_no_scenario_tells_a_forecast_what_a_job_runs_for():
    """Jobs of which the same was forecast, and that ask alike, are forecast alike however long they run."""
    jobs = modelled().with_columns(requested_runtime_s=pl.col("runtime_s").max())
    estimates = estimates_of(jobs)
    made = [case for case in cases(jobs, MACHINE, estimates, CONFIG) if case.stressed is not None]
    assert {case.columns["scenario"] for case in made} >= {"heavy_tail", "low_congestion", "burst_shock"}
    for case in made:
        told = case.stressed.estimates
        assert told.select("p10_s", "p50_s", "p90_s").n_unique() == 1
        changed = case.columns["scenario"] == "heavy_tail"
        assert case.stressed.jobs["requested_runtime_s"].n_unique() == 1 + changed
        assert (told["p50_s"][0] != estimates["p50_s"][0]) == changed


def test_every_severity_draws_the_same_numbers_and_another_seed_others():
    jobs = modelled()
    mild, severe = (
        stress(jobs, StressScenario.USER_SKEW, factor, MACHINE, CONFIG)[0]["user"] for factor in (1.25, 2.0)
    )
    largest = jobs["user"].mode().min()
    assert ((mild == largest) <= (severe == largest)).all()
    other = CONFIG.model_copy(update={"seed": CONFIG.seed + 1})
    drawn = stress(jobs, StressScenario.USER_SKEW, 1.25, MACHINE, other)[0]["user"]
    assert not mild.equals(drawn)
    noisy, noisy_otherwise = (
        stress(jobs, StressScenario.ESTIMATE_NOISE, 2.0, MACHINE, config)[0]["requested_runtime_s"]
        for config in (CONFIG, other)
    )
    assert not noisy.equals(noisy_otherwise)


class TestObstacles:
    def told(self, jobs: pl.DataFrame, scenario: StressScenario, min_jobs: int = 1) -> list[str | None]:
        config = CONFIG.model_copy(update={"min_jobs": min_jobs})
        found = list(cases(jobs, Capacity(8), None, config))
        mine = [case for case in found if case.columns["scenario"] == scenario.value]
        assert len(found) == 15
        assert all((case.stressed is None) == (case.obstacle is not None) for case in found)
        return [case.obstacle for case in mine]

    def test_too_few_jobs(self):
        few = trace([job(i, 60 * i, 1, 60 + i, 100, user="uv"[i % 2]) for i in range(50)])
        no_replay_takes = trace([job(100 + i, 9000, 9, 60) for i in range(3)] + [job(200, 9000, 1, None)])
        told = self.told(pl.concat([few, no_replay_takes]), StressScenario.HEAVY_TAIL, min_jobs=51)
        assert told == ["50 jobs of known runtime and size, 51 needed"] * 3

    def test_runtimes_without_a_tail(self):
        alike = trace([job(i, 60 * i, 1, 60, 100) for i in range(50)])
        assert self.told(alike, StressScenario.HEAVY_TAIL) == ["p99 of the runtimes is their median"] * 3
        none = trace([job(i, 60 * i, 1, 0, 100) for i in range(50)])
        assert self.told(none, StressScenario.HEAVY_TAIL) == ["half of the runtimes are 0"] * 3

    def test_runtimes_of_a_few_seconds_cannot_be_stretched_in_whole_ones(self):
        short = trace([job(i, 60 * i, 1, 1 + (i % 10 == 0), 100) for i in range(50)])
        mild, *_ = self.told(short, StressScenario.HEAVY_TAIL)
        assert mild == "another statistic would move by 9.091 %"

    def test_shares_of_a_few_jobs_cannot_be_hit(self):
        few = trace([job(i, 60 * i, 1, 60, 100, user="uvwxyz"[i % 6] if i > 1 else "u") for i in range(12)])
        mild, *_ = self.told(few, StressScenario.USER_SKEW)
        assert mild == "largest_user_share becomes 1.333 times what it is, 1.25 asked"

    def test_times_that_would_leave_the_tables(self):
        """Jobs over four fifths of all the time there is: a third more of it is too much."""
        jobs = trace([job(i, i * 2**40 // 60, 1, 60 + i, 100) for i in range(50)])
        told = self.told(jobs, StressScenario.LOW_CONGESTION)
        assert told == [None, *["times would reach 1099511627776 s, the last of the tables"] * 2]

    def test_no_users_and_one_user(self):
        nobody = trace([job(i, 60 * i, 1, 60, 100) for i in range(50)])
        assert self.told(nobody, StressScenario.USER_SKEW) == ["no job has a known user"] * 3
        one = trace([job(i, 60 * i, 1, 60, 100, user="u") for i in range(50)])
        assert (
            self.told(one, StressScenario.USER_SKEW)[0] == "1.25 times 50 jobs of one user: all users have 50"
        )

    def test_no_requests_and_requests_that_cannot_grow(self):
        silent = trace([job(i, 60 * i, 1, 60, None) for i in range(50)])
        told = self.told(silent, StressScenario.ESTIMATE_NOISE)
        assert told == ["no job that counts has a requested runtime"] * 3
        full = trace([job(i, 60 * i, 1, 60, 120) for i in range(50)])
        told = self.told(full, StressScenario.ESTIMATE_NOISE)
        assert (
            told[0]
            == "a median request of 3 times the runtime: were all as large as the largest, it would be 2"
        )

    def test_a_shock_of_more_jobs_than_there_are(self):
        burst = trace([job(i, 0 if i < 30 else 1000 * i, 1, 60, 100) for i in range(50)])
        assert self.told(burst, StressScenario.BURST_SHOCK)[-1].startswith("240 jobs in one window")

    def test_all_jobs_at_once_have_no_load(self):
        at_once = trace([job(i, 5, 1, 60, 100) for i in range(50)])
        assert self.told(at_once, StressScenario.LOW_CONGESTION) == ["the trace has no offered_load"] * 3


def test_a_machine_that_loses_its_half_midway_loses_it_midway_however_slow_jobs_come():
    jobs = modelled()
    halves = Capacity(128, ((int(jobs["release_s"].median()), 64),))
    calm = [
        case
        for case in cases(jobs, halves, None, CONFIG)
        if case.columns["scenario"] == StressScenario.LOW_CONGESTION.value
    ]
    assert [case.obstacle for case in calm] == [None] * 3
    reached = [case.columns["reached_factor"] for case in calm]
    assert reached == pytest.approx([0.9, 0.75, 0.5], rel=1e-3)


def test_jobs_that_do_not_count_move_along():
    """A job of unknown runtime in the middle of a shock keeps its place in the order."""
    rows = [job(i, 100 * i, 1, 60, 100) for i in range(40)]
    rows += [job(100 + i, 2000 + i, 1, 60, 100) for i in range(10)] + [job(200, 1950, 1, None, 100)]
    jobs = trace(rows)
    tenths = CONFIG.model_copy(update={"peak_windows": 10})
    after, _ = stress(jobs, StressScenario.BURST_SHOCK, 2.0, Capacity(8), tenths)
    assert after["job_id"].to_list() == jobs["job_id"].to_list()
    lull = np.diff(np.unique(after["release_s"].to_numpy()))
    assert lull.max() > 300
    assert after["release_s"].min() == 0
    assert after["release_s"].max() == 3900
