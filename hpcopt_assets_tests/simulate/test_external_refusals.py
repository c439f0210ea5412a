"""What an external policy may not answer, and what becomes of one that fails."""

from typing import Any

import pytest

from hpcopt_assets.contracts.adapter import AdapterDecision
from hpcopt_assets.contracts.vocabulary import LeftOut
from hpcopt_assets.simulate import engine
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.strangers import (
    DECISION,
    THREE,
    at_first,
    greedy,
    nameless,
    refused,
    replayed,
)
from hpcopt_assets_tests.simulate.strategies import EASY


@pytest.mark.parametrize(
    ("decision", "found"),
    [
        ({"start": [99]}, "start of position 99, which no job has"),
        ({"start": [2]}, "start of position 2 (job 13), which is not released yet"),
        ({"start": [0, 0]}, "start of position 0 (job 11) a second time in one decision"),
        ({"start": [0, 1]}, "start of position 1 (job 12) on 2 processors"),
        ({"start": [0], "reservation": {"position": 0, "at_s": 9}}, "reservation for position 0 (job 11)"),
        ({"start": [0], "reservation": {"position": 2, "at_s": 9}}, "reservation for position 2 (job 13)"),
        ({"start": [0], "reservation": {"position": 1, "at_s": 0}}, "reservation at 0 s"),
        ({"start": [0], "wake_at_s": 0}, "wake_at_s 0"),
    ],
)
def test_what_cannot_be_is_refused(decision: dict[str, Any], found: str):
    error = refused(at_first(decision))
    assert error.found.startswith(found)
    assert error.where == "policy stranger at instant 0 s, replay of made"


def test_a_job_that_has_started_is_not_started_again():
    error = refused(lambda _: {"start": [0]})
    assert error.found == "start of position 0 (job 11), which has started"
    assert "at instant 5 s" in error.where


def test_a_job_that_runs_when_the_window_begins_is_not_started():
    rows = [job(1, 0, 2, 50, wait_s=0), job(2, 10, 2, 5, wait_s=0)]
    error = refused(lambda _: {"start": [0]}, rows, 4, Scenario(since_s=5))
    assert error.found == "start of position 0 (job 1), which has started"


def test_jobs_must_fit_together_and_not_only_each():
    assert (
        refused(at_first({"start": [1, 0]})).needed
        == "at most 2, which are free beside the jobs started before it"
    )
    rows = [(1, 0, 2, 10), (2, 0, 2, 10)]
    assert replayed(trace(rows), at_first({"start": [1, 0]}), 4).replay.schedule["wait_s"].sum() == 0


def test_a_machine_that_has_shrunk_below_what_runs_has_less_than_nothing_free():
    sizes = []

    def blind(snapshot: dict[str, Any]) -> dict[str, Any]:
        sizes.append((snapshot["now_s"], snapshot["capacity_procs"], snapshot["free_procs"]))
        return {"start": [known["position"] for known in snapshot["queued"]]}

    shrinking = Scenario(capacity_steps=((3, 2),))
    assert refused(blind, [(1, 0, 4, 10), (2, 5, 1, 10)], 4, shrinking).needed == "at most 0, which are free"
    assert sizes == [(0, 4, 4), (3, 2, -2), (5, 2, -2)]


@pytest.mark.parametrize(
    ("decision", "key"),
    [
        (None, "the whole answer: None"),
        ([0], "the whole answer: [0]"),
        ({}, "start: {}"),
        ({"start": 0}, "start: 0"),
        ({"start": {0}}, "start: {0}"),
        ({"start": "0"}, "start: '0'"),
        ({"start": ["0"]}, "start.0: '0'"),
        ({"start": [True]}, "start.0: True"),
        ({"start": [0.0]}, "start.0: 0.0"),
        ({"start": [-1]}, "start.0: -1"),
        ({"start": [0], "stop": [1]}, "stop: [1]"),
        ({"start": [0], "wake_at_s": "soon"}, "wake_at_s: 'soon'"),
        ({"start": [0], "wake_at_s": 10**30}, f"wake_at_s: {10**30}"),
        ({"start": [0], "reservation": {"position": 1}}, "reservation.at_s: "),
        ({"start": [0], "reservation": {"position": 1, "at_s": 10, "procs": 1}}, "reservation.procs: 1"),
    ],
)
def test_a_malformed_answer_is_refused(decision: Any, key: str):
    error = refused(at_first(decision))
    assert error.found.startswith(key)
    assert "schemas/adapter_decision.json" in error.next_step
    if isinstance(decision, dict | list) and "{0}" not in key and "0.0" not in key:
        assert not DECISION.is_valid(decision)


def test_the_model_is_as_good_an_answer_as_plain_values():
    by_model = replayed(trace(THREE), lambda snapshot: AdapterDecision(**greedy(snapshot)), 4)
    assert by_model.replay.schedule.equals(replayed(trace(THREE), greedy, 4).replay.schedule)
    refused(lambda _: AdapterDecision.model_construct(start=["0"], reservation=None, wake_at_s=None))


@pytest.mark.parametrize("failure", [ZeroDivisionError("no\nway."), SystemExit(0), KeyError("position")])
def test_a_failure_within_the_policy_is_the_policys(failure: BaseException):
    def failing(snapshot: dict[str, Any]) -> dict[str, Any]:
        if snapshot["now_s"] >= 5:
            raise failure
        return greedy(snapshot)

    error = refused(failing)
    assert error.__cause__ is failure
    assert error.found == f"{type(failure).__name__}: {' '.join(str(failure).split()).removesuffix('.')}"
    assert "at instant 5 s" in error.where


def test_a_stop_from_the_keyboard_is_none_of_the_policys():
    def stopped(_: dict[str, Any]) -> dict[str, Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replayed(trace(THREE), stopped, 4)


def test_a_class_that_cannot_be_made_is_refused():
    class Needy:
        def __init__(self, more: int) -> None:
            self.more = more

    assert "TypeError" in refused(Needy).found


def test_jobs_that_are_never_started_are_counted_and_the_first_is_named():
    forgetful = refused(lambda snapshot: {"start": [p for p in greedy(snapshot)["start"] if p == 0]})
    assert forgetful.found == "2 jobs never started; the first is job 12 (position 1), released at 0 s"
    assert forgetful.where == "policy stranger, replay of made"
    assert "1 job never started" in refused(lambda _: {"start": []}, THREE[:1]).found


def test_a_job_wider_than_the_machine_in_the_end_is_left_out_as_ever():
    frame, scenario = trace([(1, 0, 1, 10), (2, 1, 4, 10)]), Scenario(capacity_steps=((1, 2),))
    found = replayed(frame, greedy, 4, scenario).replay
    assert found.left_out[LeftOut.WIDER_THAN_MACHINE] == 1
    assert nameless(found.schedule).equals(nameless(engine.replay(frame, EASY, 4, scenario).schedule))
    refused(lambda _: {"start": []}, [(1, 0, 1, 10), (2, 1, 4, 10)], 4, scenario)
