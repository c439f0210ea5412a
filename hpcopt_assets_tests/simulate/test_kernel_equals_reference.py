"""Written twice: the compiled loop starts every job when the slow reference does.

What these tests are worth was found out by breaking the kernel on purpose, one line at a time. Who noticed:
H this module, G golden schedules, C hand-worked cases, N no hindsight, k the kernel's own checks.

    shadow test `<` for `<=`                                  H G C k
    extra not decremented                                     H G C k
    extra also taken by jobs that end by the shadow time      H G C
    extra counts one of several releases at the shadow time   H G C
    any narrow job may use the extra processors               H G C
    any job that fits starts, no reservation at all           H G C N k
    no reservation for the next head                          H G C
    running jobs known by their true runtime                  H G C N k
    shadow test with the true runtime                         H G C N k
    submissions and a pass before completions                 H G C N k
    one completion a pass                                     H G
    overdue jobs believed to end in the next second           H G C
    extension measured from now, not from the request         H G C
    extension skips the request itself                        H
    extension not strictly beyond now; last step repeated     endless loop
    overdue jobs not extended before the shadow time          H G C
    ties in the queue by descending position                  H G C N k
    shortest first: the later of equals; not at all           H G C
    scan skips a job after a start                            H G
    scan skipped when free equals the narrowest job           H G C N k
    narrowest job not lowered by a submission, or by the head H G C N k
    a completion leaves the job among the expected            H G
    free or running not updated                               H G C N k
    started job left in the queue                             endless loop
    backfilled job or head one processor too wide             H G C N k
    zero runtime takes a second                               H G C k
    release one second early                                  H G C N k
    sorted line shifted wrongly                               H G C N k, or a crash
    compression keeps everybody where he is                   H G C
    compression although nobody ended early                   H G C
    an end at its expected instant counts as early            H C
    an early end gives nothing back to the profile            H G C k
    an overrun places nobody again                            H G C k
    a capacity step places nobody again                       H C k
    earlier window sought past its own start                  H G C
    window's end: `<` for `<=`                                H G C
    room one processor too wide                               H G C k
    slots mended though they differ                           H G C k
    no pass at a reservation's start                          H C k
    no pass at an expected end                                H C
    queue not sorted again; renewed only when users change    H
    wfp3 smallest first; usage without decay                  H
    history of the last job alone                             H
    hold by the request though history is asked for           G k
    given jobs are queued too                                 endless loop
    history in the order of completion, not of end, position  nobody yet: it takes three ends at one instant
"""

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.vocabulary import (
    FORECAST,
    Backfill,
    BackfillOrder,
    EstimateSource,
    Order,
    Verdict,
)
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.kernel.arrays import replay_arrays
from hpcopt_assets.simulate.reference import Queued, replay_jobs, run
from hpcopt_assets.simulate.scenario import AS_RECORDED, NOT_GIVEN_S, Scenario
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.strategies import (
    ANY_POLICY,
    CAPACITY,
    HALF_LIFE_S,
    POLICIES,
    capacity_steps,
    forecasts,
    jobs,
    recorded_jobs,
)

PASS_BY_PASS = (Backfill.NONE, Backfill.EASY)
steps = st.one_of(st.just(()), capacity_steps())


def assume_that_some_wait(frame: pl.DataFrame, rules: Policy) -> None:
    """A trace in which nobody waits proves nothing."""
    schedule = replay(frame, rules, CAPACITY, estimates=forecasts(frame)).schedule
    assume((schedule["wait_s"] > 0).any())


def compare(frame: pl.DataFrame, rules: Policy, scenario: Scenario = AS_RECORDED) -> None:
    """Starts, estimates and where they came from; rules that bind must be kept."""
    estimates = forecasts(frame)
    workload = select_workload(frame, CAPACITY, scenario, estimates)
    slow = replay_jobs(workload, rules)
    schedule = replay(frame, rules, CAPACITY, scenario, estimates=estimates, is_strict=True).schedule
    place = workload.names.select("job_id", workload.jobs["left_out"]).filter(workload.is_replayed)
    counted = [
        (job_id, *job)
        for (job_id, left_out), job in zip(place.iter_rows(), slow, strict=True)
        if left_out is None and job.start_s != NOT_GIVEN_S
    ]
    told = schedule.filter(pl.col("start_s").is_not_null()).select(
        "job_id", "start_s", "estimate_s", pl.col("estimate_source") == EstimateSource.HISTORY.value
    )
    if rules.estimate in FORECAST:  # the reference does not know who made a forecast
        told, counted = told.drop("estimate_source"), [row[:3] for row in counted]
    assert told.rows() == counted
    if scenario == AS_RECORDED:
        report = check_schedule(frame, schedule, rules, Capacity(CAPACITY), estimates)
        assert report.filter(verdict=Verdict.FAIL.value).is_empty(), report.rows()


@given(jobs(min_size=3), ANY_POLICY)
@settings(deadline=None, max_examples=600)
def test_kernel_equals_reference_and_keeps_the_invariants(frame, rules):
    assume_that_some_wait(frame, rules)
    compare(frame, rules)


@given(jobs(min_size=3), ANY_POLICY, st.integers(1, 5))
@settings(deadline=None, max_examples=200)
def test_no_rule_breaks_on_a_larger_machine(frame, rules, more):
    estimates = forecasts(frame)
    schedule = replay(frame, rules, CAPACITY + more, estimates=estimates, is_strict=True).schedule
    report = check_schedule(frame, schedule, rules, Capacity(CAPACITY + more), estimates)
    assert report.filter(verdict=Verdict.FAIL.value).is_empty(), report.rows()


@given(jobs(min_size=3), ANY_POLICY, capacity_steps())
@settings(deadline=None, max_examples=300)
def test_they_agree_on_a_machine_whose_size_changes(frame, rules, changes):
    compare(frame, rules, Scenario(capacity_steps=changes))


@given(recorded_jobs(min_size=4), ANY_POLICY, steps, st.data())
@settings(deadline=None, max_examples=300)
def test_they_agree_on_a_part_of_the_record(frame, rules, changes, data):
    """Jobs run and wait when the window begins."""
    instants = st.sampled_from(sorted({*frame["release_s"], *frame["start_s"], *frame["end_s"]}))
    since_s = data.draw(instants)
    until_s = data.draw(st.one_of(st.none(), st.integers(since_s + 1, since_s + 100)))
    scale = data.draw(st.sampled_from([1.0, 0.5, 3.0]))
    scenario = Scenario(changes, scale, since_s, until_s)
    try:
        select_workload(frame, CAPACITY, scenario)
    except EvidenceError:
        assume(False)  # what runs when the window begins exceeds the machine
    compare(frame, rules, scenario)


@given(
    jobs(min_size=3),
    st.data(),
    st.sampled_from(PASS_BY_PASS),
    st.sampled_from(BackfillOrder),
)
@settings(deadline=None, max_examples=200)
def test_they_agree_on_any_beliefs_and_any_order_of_the_queue(frame, data, backfill, backfill_order):
    """Beyond what policies of today ask for: a job may outlive a hold that is shorter than its request."""
    workload = select_workload(frame, CAPACITY)
    count, limit_s = len(workload), workload.limit_s.tolist()
    keys = st.lists(st.integers(-3, 3), min_size=count, max_size=count)
    order_key = data.draw(st.one_of(st.just([0] * count), keys))
    estimate_s = [data.draw(st.integers(1, min(limit, 40))) for limit in limit_s]
    hold_s = [data.draw(st.integers(1, min(limit, 40))) for limit in limit_s]
    has_promises = set(order_key) == {0} and data.draw(st.booleans())
    if has_promises:
        hold_s = [min(hold, estimate) for hold, estimate in zip(hold_s, estimate_s, strict=True)]
    found = replay_arrays(
        {
            "release_s": workload.release_s,
            "runtime_s": workload.runtime_s,
            "procs": workload.procs,
            "limit_s": workload.limit_s,
            "estimate_s": estimate_s,
            "hold_s": hold_s,
            "order_key": order_key,
        },
        {
            "backfill": backfill.code,
            "backfill_order": backfill_order.code,
            "order": Order.SUBMIT.code,
            "has_promises": has_promises,
            "is_strict": 1,
        },
        capacity_procs=CAPACITY,
        capacity_steps=(),
        begin_s=NOT_GIVEN_S,
    )
    views = zip(order_key, range(count), workload.procs.tolist(), estimate_s, hold_s, limit_s, strict=True)
    slow = run(
        [Queued(*view) for view in views],
        workload.release_s.tolist(),
        workload.runtime_s.tolist(),
        CAPACITY,
        backfill,
        backfill_order,
    )
    assert found.state["fault"] == 0
    assert found.start_s.tolist() == slow


@pytest.mark.slow
@given(jobs(min_size=4, max_size=30), ANY_POLICY, steps)
@settings(deadline=None, max_examples=3000)
def test_kernel_equals_reference_on_longer_traces(frame, rules, changes):
    assume_that_some_wait(frame, rules)
    compare(frame, rules, Scenario(capacity_steps=changes))


def test_usage_is_scaled_down_before_it_overflows():
    """Half-lives of a second: 2^x passes what a float holds many times over."""
    rules = next(
        each for each in POLICIES if each.order is Order.FAIRSHARE and each.backfill is Backfill.EASY
    )
    assert rules.half_life_s == HALF_LIFE_S
    rules = rules.model_copy(update={"half_life_s": 1})
    frame = trace(job(k, 400 * k, 5 + k % 3, 700, 800, user=f"u{k % 3}") for k in range(40))
    compare(frame, rules)
