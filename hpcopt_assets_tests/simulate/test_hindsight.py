"""No policy knows what has not happened: the runtime of an unfinished job changes no decision."""

from inspect import signature

import polars as pl
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.vocabulary import Estimate
from hpcopt_assets.simulate import reference
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets_tests.builders import trace
from hpcopt_assets_tests.simulate.strategies import CAPACITY, POLICIES, RUNTIMES_S, jobs, policy

HONEST = [rules for rules in POLICIES if Estimate.ACTUAL not in (rules.estimate, rules.hold)]


def decisions(schedule: pl.DataFrame, until_s: int) -> list[int | None]:
    """Starts up to an instant; None for jobs that start later."""
    return [start_s if start_s <= until_s else None for start_s in schedule["start_s"]]


def rewrite_the_future(data, frame: pl.DataFrame, schedule: pl.DataFrame, until_s: int) -> pl.DataFrame:
    """Draw another runtime for every job not ended by then; a running one must not have ended by then."""
    runtimes = []
    for start_s, end_s, runtime_s in zip(
        schedule["start_s"], schedule["end_s"], frame["runtime_s"], strict=True
    ):
        if end_s <= until_s:
            runtimes.append(runtime_s)
        elif start_s <= until_s:
            runtimes.append(until_s - start_s + 1 + data.draw(RUNTIMES_S))
        else:
            runtimes.append(data.draw(RUNTIMES_S))
    return frame.with_columns(runtime_s=pl.Series(runtimes, dtype=pl.Int64))


@given(jobs(min_size=2), st.sampled_from(HONEST), st.data())
@settings(deadline=None, max_examples=200)
def test_the_runtime_of_an_unfinished_job_changes_no_decision(frame, rules, data):
    schedule = replay(frame, rules, CAPACITY).schedule
    instants = sorted({*schedule["start_s"], *schedule["end_s"], *schedule["release_s"]})
    until_s = data.draw(st.sampled_from(instants))
    other = rewrite_the_future(data, frame, schedule, until_s)
    assume(not other.equals(frame))
    assert decisions(replay(other, rules, CAPACITY).schedule, until_s) == decisions(schedule, until_s)


def test_the_law_can_fail():
    """A clairvoyant does know: with job 3 longer, it does not start ahead of the waiting head."""
    clairvoyant = policy(estimate="actual", hold="actual")
    rows = [(1, 0, 2, 10), (2, 1, 4, 10), (3, 2, 2, 5, 100)]
    longer = [*rows[:2], (3, 2, 2, 50, 100)]
    assert replay(trace(rows), clairvoyant, 4).schedule["start_s"].to_list()[2] == 2
    assert replay(trace(longer), clairvoyant, 4).schedule["start_s"].to_list()[2] > 2


def test_a_missing_request_does_not_turn_into_the_runtime():
    for runtime_s in (5, 50):
        jobs = trace([(1, 0, 2, 10), (2, 1, 4, 10), (3, 2, 2, runtime_s, None)])
        assert replay(jobs, policy(), 4).schedule["start_s"].to_list() == [0, 10, 20]


def test_what_a_policy_sees_holds_no_truth():
    views = (reference.Queued, reference.Running, reference.Instant)
    seen = {field for view in views for field in view._fields} | {*signature(reference.decide).parameters}
    assert not {name for name in seen if "runtime" in name or name == "end_s"}
