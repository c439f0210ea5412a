"""The public face: what a replay hands back, whatever the rows come like; and how a fault is told."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.errors import InputError, InvariantError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE
from hpcopt_assets.contracts.vocabulary import EstimateSource, LeftOut
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.kernel import arrays
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.strategies import CAPACITY, EASY, FCFS, POLICIES, jobs, policy

MIXED = trace(
    [
        (1, 0, 4, 10, 20),
        job(2, 1, 4, None, 20, state="CANCELLED"),
        (3, 2, 99, 5, 5),
        job(4, 3, 8, 7, None, user="u"),
    ]
)


def test_every_job_of_the_trace_has_its_row_and_those_left_out_say_why():
    result = replay(MIXED, EASY, 8)
    validate(REPLAY_SCHEDULE, result.schedule)
    assert result.schedule["job_id"].to_list() == ["1", "2", "3", "4"]
    assert result.schedule["left_out"].to_list() == [None, "never_started", "wider_than_machine", None]
    assert result.schedule["start_s"].to_list() == [0, None, None, 10]
    assert result.schedule["end_s"].to_list() == [10, None, None, 17]
    assert result.schedule["wait_s"].to_list() == [0, None, None, 7]
    assert result.schedule["limit_s"].to_list() == [20, None, None, 20]
    assert result.schedule["estimate_source"].to_list() == ["request", None, None, "fallback"]
    assert result.schedule["user"].to_list() == [None, None, None, "u"]
    assert result.left_out[LeftOut.NEVER_STARTED] == result.left_out[LeftOut.WIDER_THAN_MACHINE] == 1
    assert result.estimate_sources[EstimateSource.FALLBACK] == 1


def test_a_clairvoyant_says_so():
    result = replay(MIXED, policy(estimate="actual", hold="actual"), 8)
    assert result.schedule["estimate_s"].to_list() == [10, None, None, 7]
    assert result.schedule["estimate_source"].to_list() == ["actual", None, None, "actual"]


@pytest.mark.parametrize("rules", [FCFS, EASY], ids=lambda rules: rules.id)
def test_a_trace_without_jobs_or_without_replayable_jobs_gives_a_schedule_without_starts(rules):
    assert replay(trace([]), rules, 8).schedule.equals(REPLAY_SCHEDULE.empty())
    schedule = replay(trace([(1, 0, 99, 5, 5)]), rules, 8).schedule
    validate(REPLAY_SCHEDULE, schedule)
    assert schedule["start_s"].to_list() == [None]


def long_jobs(last_s: int) -> pl.DataFrame:
    """Four jobs of the machine's width, one after another: the last ends at 3 * 2^38 + `last_s`."""
    return trace([(k, 0, 8, 2**38, 2**38) for k in range(3)] + [(3, 0, 8, last_s, 60)])


def test_a_schedule_that_ends_at_the_last_instant_of_the_tables_is_kept():
    schedule = replay(long_jobs(2**38), EASY, 8).schedule
    validate(REPLAY_SCHEDULE, schedule)
    assert schedule["end_s"].max() == TIME_MAX_S


@pytest.mark.parametrize("rules", [FCFS, EASY], ids=lambda rules: rules.id)
def test_a_schedule_that_ends_later_is_refused_before_it_is_stored(rules):
    with pytest.raises(InputError) as caught:
        replay(long_jobs(2**38 + 1), rules, 8)
    assert caught.value.found == f"job 3 would end at {TIME_MAX_S + 1} s"
    assert caught.value.next_step == f"Check the runtimes of the log: that of job 3 is {2**38 + 1} s."
    killed = replay(long_jobs(2**38 + 1), policy(overrun="kill"), 8).schedule
    assert killed["end_s"].max() == 3 * 2**38 + 60


def test_a_capacity_of_zero_is_refused():
    with pytest.raises(InputError, match="a capacity of 0 processors"):
        replay(MIXED, EASY, 0)


def test_times_before_1970_are_times():
    jobs = trace([(1, -50, 4, 10), (2, -45, 4, 10)])
    assert replay(jobs, EASY, 4).schedule["start_s"].to_list() == [-50, -40]


@given(jobs(), st.sampled_from(POLICIES), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_the_rows_changes_nothing(frame, rules, random):
    order = list(range(frame.height))
    random.shuffle(order)
    assert replay(frame[order], rules, CAPACITY).schedule.equals(replay(frame, rules, CAPACITY).schedule)


class TestFaults:
    """The kernel stops at the pass in which something is wrong; here it is fed what no workload contains."""

    @staticmethod
    def fault(monkeypatch, frame, **spoilt) -> str:
        whole = arrays.replay_arrays

        def fed_wrongly(jobs, rules, **rest):
            return whole(
                {name: spoilt.get(name, lambda a: a)(column) for name, column in jobs.items()}, rules, **rest
            )

        monkeypatch.setattr(arrays, "replay_arrays", fed_wrongly)
        with pytest.raises(InvariantError) as caught:
            replay(frame, EASY, 4)
        return str(caught.value)

    def test_a_head_that_is_delayed(self, monkeypatch):
        # Job 3 is tested as 8 s but held for 80, so that job 2, promised 10, is then promised 82.
        jobs = trace([(1, 0, 2, 10), (2, 1, 4, 10), (3, 2, 1, 8), (4, 3, 1, 1)])
        text = self.fault(monkeypatch, jobs, hold_s=lambda hold_s: np.where(hold_s == 8, 80, hold_s))
        assert f"replay of made under {EASY.id} at instant 3 s: job 2: promised or started at 82 s" in text
        assert "the head of the queue was promised 10 s" in text

    def test_a_clock_that_runs_back(self, monkeypatch):
        text = self.fault(monkeypatch, trace([(1, 5, 2, 10)]), runtime_s=lambda runtime_s: runtime_s - 12)
        assert (
            "at instant 5 s: no single job: clock set to 3 s; needed: the clock never runs back behind 5 s"
            in text
        )

    def test_more_processors_than_there_are(self, monkeypatch):
        text = self.fault(monkeypatch, trace([(1, 5, 2, 10)]), procs=lambda procs: -procs)
        assert "no single job: -2 processors in use; needed: 0 to 4 processors in use" in text

    def test_a_job_that_never_starts(self, monkeypatch):
        text = self.fault(monkeypatch, trace([(1, 5, 2, 10)]), procs=lambda procs: procs + 3)
        assert "job 1: 0 starts by the end of the replay; needed: 1 start for each replayed job" in text
