"""Laws of the reference under every policy there is, on any trace."""

import math
from itertools import permutations

import polars as pl
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.vocabulary import Backfill, Estimate, Order, Overrun
from hpcopt_assets.simulate.reference import replay_jobs, replay_starts
from hpcopt_assets.simulate.scenario import AS_RECORDED, NOT_GIVEN_S, Scenario
from hpcopt_assets.simulate.workload import Workload, select_workload
from hpcopt_assets_tests.simulate.strategies import CAPACITY, POLICIES, capacity_steps, jobs
from hpcopt_assets_tests.simulate.test_hindsight import decisions, rewrite_the_future

HONEST = [rules for rules in POLICIES if Estimate.ACTUAL not in (rules.estimate, rules.hold)]
WITHOUT_A_PAST = [
    rules
    for rules in POLICIES
    if rules.order not in (Order.FAIRSHARE, Order.F1)  # which counts from the first job there is
    and Estimate.USER_HISTORY not in (rules.estimate, rules.hold)
    and rules.backfill is not Backfill.CONSERVATIVE
    and rules.overrun is Overrun.EXTEND
]
# What they decide depends on what waits and runs, and on nothing that has been.
scenarios = st.one_of(
    st.just(AS_RECORDED), capacity_steps().map(lambda steps: Scenario(capacity_steps=steps))
)


def capacity_at(workload: Workload, at_s: float) -> int:
    steps = [procs for step_s, procs in workload.capacity_steps if step_s <= at_s]
    return [workload.capacity_procs, *steps][-1]


@given(jobs(), st.sampled_from(POLICIES), scenarios)
@settings(deadline=None, max_examples=400)
def test_every_job_starts_after_its_release_on_processors_that_are_there(frame, rules, scenario):
    """Of other jobs of zero runtime nothing is left, nor, for one of these, is what a later pass starts."""
    workload = select_workload(frame, CAPACITY, scenario)
    start_s = replay_starts(workload, rules)
    columns = zip(
        workload.release_s.tolist(),
        start_s,
        workload.replayed_runtime_s(rules.overrun).tolist(),
        workload.procs.tolist(),
        strict=True,
    )
    replayed = [columns_of_job for columns_of_job in columns if columns_of_job[1] != NOT_GIVEN_S]
    for release_s, at_s, runtime_s, procs in replayed:
        assert at_s >= release_s
        beside = sum(
            other_procs
            for _, start, runtime, other_procs in replayed
            if start < at_s + (runtime_s > 0) and at_s < start + runtime
        )
        assert beside + procs * (runtime_s == 0) <= capacity_at(workload, at_s)


@given(jobs(), st.sampled_from(POLICIES), scenarios)
@settings(deadline=None, max_examples=200)
def test_only_what_the_machine_has_become_too_small_for_never_starts(frame, rules, scenario):
    workload = select_workload(frame, CAPACITY, scenario)
    left = [
        procs
        for procs, start_s in zip(workload.procs, replay_starts(workload, rules), strict=True)
        if start_s == NOT_GIVEN_S
    ]
    widths = left if rules.backfill is not Backfill.NONE else [max(left, default=CAPACITY + 3)]
    # Without backfilling one that is too wide stops all behind it.
    assert all(procs > capacity_at(workload, math.inf) for procs in widths)


@given(jobs(min_size=4), st.sampled_from(POLICIES), st.sampled_from(list(permutations("uvw"))))
@settings(deadline=None, max_examples=200)
def test_the_names_of_users_change_nothing(frame, rules, names):
    renamed = frame.with_columns(pl.col("user").replace(dict(zip("uvw", names, strict=True))))
    assert replay_jobs(select_workload(renamed, CAPACITY), rules) == replay_jobs(
        select_workload(frame, CAPACITY), rules
    )


@given(jobs(min_size=4), st.sampled_from(POLICIES), st.integers(-(10**6), 10**9))
@settings(deadline=None, max_examples=100)
def test_the_zero_of_the_clock_changes_nothing(frame, rules, shift_s: int):
    moved = frame.with_columns(pl.col("submit_s", "release_s") + shift_s)
    start_s = replay_starts(select_workload(frame, CAPACITY), rules)
    assert replay_starts(select_workload(moved, CAPACITY), rules) == [at_s + shift_s for at_s in start_s]


@given(jobs(min_size=2), st.sampled_from(HONEST), st.data())
@settings(deadline=None, max_examples=300)
def test_the_runtime_of_an_unfinished_job_changes_no_decision(frame, rules, data):
    def schedule(jobs: pl.DataFrame) -> pl.DataFrame:
        workload = select_workload(jobs, CAPACITY)
        start_s = pl.Series(replay_starts(workload, rules))
        return pl.DataFrame(
            {"start_s": start_s, "end_s": start_s + workload.replayed_runtime_s(rules.overrun)}
        )

    before = schedule(frame)
    instants = sorted({*before["start_s"], *before["end_s"], *frame["release_s"]})
    until_s = data.draw(st.sampled_from(instants))
    other = rewrite_the_future(data, frame, before, until_s)
    assume(not other.equals(frame))
    assert decisions(schedule(other), until_s) == decisions(before, until_s)


@given(jobs(min_size=4), st.sampled_from(WITHOUT_A_PAST), st.data())
@settings(deadline=None, max_examples=300)
def test_a_replay_of_its_own_schedule_from_any_of_its_instants_goes_on_as_before(frame, rules, data):
    """What runs and waits then is taken up from the record, which here is the whole replay."""
    whole = replay_starts(select_workload(frame, CAPACITY), rules)
    record = frame.with_columns(start_s=pl.Series(whole, dtype=pl.Int64))
    instants = {*whole, *(record["start_s"] + record["runtime_s"]), *record["release_s"]}
    since_s = data.draw(st.sampled_from(sorted(instants)))
    later = select_workload(record, CAPACITY, Scenario(since_s=since_s))
    assume(0 < len(later) < frame.height)
    expected = record.filter(later.is_replayed)["start_s"].to_list()
    assert replay_starts(later, rules) == expected
