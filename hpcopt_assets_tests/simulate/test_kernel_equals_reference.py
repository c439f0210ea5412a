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
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.vocabulary import Backfill, BackfillOrder, Verdict
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.kernel.arrays import replay_arrays
from hpcopt_assets.simulate.reference import Queued, replay_starts, run
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.simulate.strategies import CAPACITY, POLICIES, jobs

BACKFILLS = [Backfill.NONE, Backfill.EASY]


def compare(frame, rules) -> None:
    workload = select_workload(frame, CAPACITY)
    slow = replay_starts(workload, rules)
    assume(slow != workload.release_s.tolist())  # a trace in which nobody waits proves nothing
    schedule = replay(frame, rules, CAPACITY).schedule
    assert schedule["start_s"].to_list() == slow
    report = check_schedule(frame, schedule, rules, CAPACITY)
    assert report.filter(verdict=Verdict.FAIL.value).is_empty(), report.rows()


@given(jobs(min_size=3), st.sampled_from(POLICIES))
@settings(deadline=None, max_examples=300)
def test_kernel_equals_reference_and_keeps_the_invariants(frame, rules):
    compare(frame, rules)


@given(
    jobs(min_size=3),
    st.data(),
    st.sampled_from(BACKFILLS),
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
    start_s, state = replay_arrays(
        release_s=workload.release_s,
        runtime_s=workload.runtime_s,
        procs=workload.procs,
        limit_s=workload.limit_s,
        estimate_s=np.array(estimate_s),
        hold_s=np.array(hold_s),
        order_key=np.array(order_key),
        capacity_procs=CAPACITY,
        backfill=backfill.code,
        backfill_order=backfill_order.code,
        has_promises=has_promises,
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
    assert state["fault"] == 0
    assert start_s.tolist() == slow


@pytest.mark.slow
@given(jobs(min_size=4, max_size=30), st.sampled_from(POLICIES))
@settings(deadline=None, max_examples=1500)
def test_kernel_equals_reference_on_longer_traces(frame, rules):
    compare(frame, rules)
