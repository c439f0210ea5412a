"""Shaken replays: the same jobs, a little different, replayed as any trace is."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.summary import measure
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets.simulate.shaken import ShakenReplayer, shaken
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.strategies import CAPACITY, FORECASTING, POLICIES, forecasts, jobs, policy

MEASURES = load_configs(CHECKOUT / "configs").objective.measures
SOME = st.sampled_from([*POLICIES, *FORECASTING])


def still(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.ones(count), np.zeros(count, dtype=np.int64)


@given(jobs(min_size=2), SOME)
@settings(deadline=None, max_examples=100)
def test_not_shaken_it_is_the_replay(frame, rules):
    replayer = ShakenReplayer(frame, [rules], Capacity(CAPACITY), MEASURES, forecasts(frame))
    found = replayer.schedule(rules.id, *still(len(replayer.release_s)))
    plain = Schedule.of(replay(frame, rules, CAPACITY, estimates=forecasts(frame)).schedule)
    assert found.start_s.tolist() == plain.start_s.tolist()
    mine = replayer(rules.id, *still(len(replayer.release_s)))
    assert tuple(mine) == (Window.STEADY, Window.SELECTION, Window.CONFIRMATION)
    for window, values in mine.items():
        told = measure(plain, capacity=Capacity(CAPACITY), config=MEASURES, window=window)
        assert {k: v for k, v in values.items() if k != "left_out_count"} == pytest.approx(
            {k: v for k, v in told.items() if k != "left_out_count"}
        )


@given(jobs(min_size=2), SOME, st.integers(0, 2**20))
@settings(deadline=None, max_examples=100)
def test_shaken_it_is_the_replay_of_the_shaken_trace(frame, rules, seed):
    """Written out as a trace of its own, by job, with nothing but columns."""
    random = np.random.default_rng(seed)
    replayer = ShakenReplayer(frame, [rules], Capacity(CAPACITY), MEASURES, forecasts(frame))
    count = len(replayer.release_s)
    factor, shift = random.uniform(0.5, 1.5, count), random.integers(-3, 4, count)
    found = replayer.schedule(rules.id, factor, shift)

    workload = select_workload(frame, CAPACITY, estimates=forecasts(frame))
    # A made-up limit kills nobody; written out, it would.
    assume(rules.overrun == "extend" or not workload.is_fallback.any())
    rows = []
    for i in range(count):
        runtime, limit = (int(each[i]) for each in (workload.runtime_s, workload.limit_s))
        runtime = max(round(runtime * factor[i]), 1) if runtime else 0
        rows.append(
            job(
                i,
                int(workload.release_s[i] + shift[i]),
                int(workload.procs[i]),
                runtime,
                max(round(limit * factor[i]), 1),
                user=None if workload.user[i] < 0 else f"u{workload.user[i]}",
            )
        )
    again = trace(rows)
    scale = pl.DataFrame({"job_id": [str(i) for i in range(count)], "factor": factor})
    # Forecasts belong to jobs of the trace, which the replayed ones are numbered by.
    ids = workload.job_id.to_list()
    told = forecasts(frame).with_columns(
        pl.col("job_id").replace_strict({name: str(i) for i, name in enumerate(ids)}, default=None)
    )
    told = (
        told.drop_nulls("job_id")
        .drop("submit_s")
        .join(again.select("job_id", "submit_s"), on="job_id")
        .join(scale, on="job_id")
        .with_columns(pl.col("p10_s", "p50_s", "p90_s") * pl.col("factor"), trace_id=pl.lit("made"))
    )
    plain = replay(again, rules, CAPACITY, estimates=told.drop("factor")).schedule
    assert found.start_s.tolist() == plain["start_s"].to_list()


def test_times_are_rounded_and_never_vanish():
    workload = select_workload(
        trace([job("1", 0, 1, 10, 100), job("2", 5, 1, 0, 1), job("3", 9, 1, 1, 1)]), 4
    )
    moved = shaken(workload, np.array([1.26, 1.2, 0.1]), np.array([7, 0, 0]))
    assert moved.release_s.tolist() == [5, 7, 9]
    assert moved.runtime_s.tolist() == [0, 13, 1]
    assert moved.limit_s.tolist() == [1, 126, 1]


def test_threads_do_not_disturb_each_other():
    from concurrent.futures import ThreadPoolExecutor

    random = np.random.default_rng(1)
    frame = trace(
        [
            job(
                i, int(i * 7), int(random.integers(1, 8)), int(random.integers(1, 90)), 100, user="uvw"[i % 3]
            )
            for i in range(400)
        ]
    )
    rules = [policy(), policy(estimate="user_history", hold="user_history"), policy(order="fairshare")]
    replayer = ShakenReplayer(frame, rules, Capacity(CAPACITY), MEASURES)
    shakes = [(random.uniform(0.9, 1.1, 400), random.integers(-5, 6, 400)) for _ in range(12)]
    asked = [(each.id, *shake) for shake in shakes for each in rules]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda one: replayer(*one), asked))
    assert together == [replayer(*one) for one in asked]


def test_a_fault_names_the_job_it_is_about():
    """The first job moves behind the others: its id goes with it."""
    workload = select_workload(trace([job("a", 0, 1, 10), job("b", 5, 2, 10), job("c", 9, 3, 10)]), 4)
    moved = shaken(workload, np.ones(3), np.array([100, 0, 0]))
    assert list(zip(moved.job_id, moved.procs.tolist(), strict=True)) == [("b", 2), ("c", 3), ("a", 1)]


def test_a_machine_of_changing_size_is_the_same_in_every_replica():
    frame = trace([job(i, i * 10, 2, 100) for i in range(40)])
    steps = ((200, 2), (900, 4))
    replayer = ShakenReplayer(frame, [policy()], Capacity(4, steps), MEASURES)
    found = replayer.schedule(policy().id, *still(40))
    plain = replay(frame, policy(), 4, Scenario(capacity_steps=steps)).schedule
    assert found.start_s.tolist() == plain["start_s"].to_list()
    assert found.start_s.tolist() != replay(frame, policy(), 4).schedule["start_s"].to_list()
