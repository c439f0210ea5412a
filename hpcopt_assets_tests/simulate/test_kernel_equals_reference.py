"""Written twice: the compiled loop starts every job when the slow reference does.

What these tests are worth was found out by breaking the kernel on purpose; this table says which modules
(H here, G golden, C cases, I invariants or in-kernel checks) noticed.
"""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.vocabulary import Verdict
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.reference import replay_starts
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.simulate.strategies import CAPACITY, POLICIES, jobs


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


@pytest.mark.slow
@given(jobs(min_size=4, max_size=30), st.sampled_from(POLICIES))
@settings(deadline=None, max_examples=3000)
def test_kernel_equals_reference_on_longer_traces(frame, rules):
    compare(frame, rules)
