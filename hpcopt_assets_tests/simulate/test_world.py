"""A world's schedules are those of `replay`, and are checked by the judge that trusts none."""

from concurrent.futures import ThreadPoolExecutor

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import INVARIANT_REPORT, REPLAY_SCHEDULE
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets.simulate.world import World, worlds
from hpcopt_assets_tests.simulate.strategies import ANY_POLICY, CAPACITY, capacity_steps, forecasts, jobs


@given(jobs(), st.lists(ANY_POLICY, min_size=1, max_size=3), st.one_of(st.just(()), capacity_steps()))
@settings(deadline=None, max_examples=60)
def test_it_is_the_replay_of_each_policy(frame, policies, steps):
    machine, estimates = Capacity(CAPACITY, steps), forecasts(frame)
    world = World(frame, machine, estimates)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(world.checked, policies))
    for policy, (schedule, report) in zip(policies, found, strict=True):
        plain = replay(frame, policy, CAPACITY, Scenario(capacity_steps=steps), estimates=estimates).schedule
        assert schedule.equals(plain)
        assert world.schedule(policy).equals(plain)
        assert report.equals(check_schedule(frame, plain, policy, machine, estimates))
    validate(REPLAY_SCHEDULE, schedule)
    validate(INVARIANT_REPORT, report)


@given(jobs(), ANY_POLICY, st.integers(1, CAPACITY))
@settings(deadline=None, max_examples=30)
def test_worlds_hold_the_jobs_that_are_narrow_enough(frame, policy, widest):
    estimates = forecasts(frame)
    made = worlds(frame, estimates)
    for most, fitting in ((None, frame), (widest, frame.filter(pl.col("procs").fill_null(0) <= widest))):
        plain = World(fitting, Capacity(CAPACITY), estimates).schedule(policy)
        assert made(Capacity(CAPACITY), most)(policy).equals(plain)
