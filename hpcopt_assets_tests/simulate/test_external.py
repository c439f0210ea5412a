"""External policies: equal decisions give equal schedules, and no snapshot tells the future."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from hpcopt_assets.contracts.adapter import AdapterDecision, AdapterSnapshot
from hpcopt_assets.contracts.errors import EvidenceError, InputError, InvariantError, PolicyError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE
from hpcopt_assets.contracts.vocabulary import Invariant, LeftOut, Overrun, Verdict
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.orchestration.external import load_policy
from hpcopt_assets.simulate import adapter, engine, external
from hpcopt_assets.simulate.external import replay_external
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.reference.conservative import Conservative
from hpcopt_assets.simulate.reference.views import Instant, Queued, Running
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets_tests.builders import job, read_swf, trace
from hpcopt_assets_tests.packages import EXAMPLE, install_project, on_path
from hpcopt_assets_tests.simulate.strangers import (
    ABOUT,
    DECISION,
    SNAPSHOT,
    THREE,
    Answer,
    at_first,
    greedy,
    nameless,
    refused,
    replayed,
)
from hpcopt_assets_tests.simulate.strategies import (
    CAPACITY,
    EASY,
    capacity_steps,
    jobs,
    policy,
    recorded_jobs,
)
from hpcopt_assets_tests.simulate.test_hindsight import rewrite_the_future

GOLDEN = Path(__file__).parents[1] / "golden"
PAGE = Path(__file__).parents[2] / "docs" / "external_policies.md"
CONSERVATIVE = policy(backfill="conservative")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answer]:
    """The example package's policy, found by its entry point."""
    site = tmp_path_factory.mktemp("site")
    install_project(site, EXAMPLE)
    with on_path(site):
        yield load_policy("example_easy")


class Plain:
    """A policy behind a wire: what it sees and says goes through JSON and keeps to the schemas."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def __call__(self, snapshot: dict[str, Any]) -> Any:
        SNAPSHOT.validate(snapshot)
        decision = self.answer(json.loads(json.dumps(snapshot)))
        DECISION.validate(decision)
        return json.loads(json.dumps(decision))


class ConservativeByAdapter:
    """Our conservative backfilling, shown nothing but snapshots: it keeps its reservations by `wake_at_s`."""

    def __init__(self) -> None:
        self.plan, self.queued, self.running, self.capacity = Conservative(), set(), set(), None

    def __call__(self, snapshot: dict[str, Any]) -> dict[str, Any]:
        running = {job["position"] for job in snapshot["running"]}
        queued = {job["position"] for job in snapshot["queued"]}
        capacity = snapshot["capacity_procs"]
        instant = Instant(
            snapshot["now_s"],
            capacity,
            snapshot["free_procs"],
            [self.known(job) for job in snapshot["queued"]],
            [Running(self.known(job), job["start_s"]) for job in snapshot["running"]],
            sorted(self.running - running),
            sorted(queued - self.queued),
            is_resized=capacity != self.capacity,
        )
        start = [job.position for job in self.plan.starts(instant)]
        self.queued, self.running, self.capacity = queued - set(start), running | set(start), capacity
        wakes_s = self.plan.wakes_s()
        return {"start": start, "wake_at_s": min(wakes_s) if wakes_s else None}

    def known(self, job: dict[str, Any]) -> Queued:
        limit_s = job["requested_runtime_s"]
        return Queued(job["release_s"], job["position"], job["procs"], limit_s, limit_s, limit_s)


# --- decision parity ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ties32", "overrun48", "grid40"])
def test_the_examples_easy_is_the_kernels_on_golden_traces(name: str, example: Answer):
    frame, capacity_procs = read_swf(GOLDEN / f"{name}.swf")
    ours = engine.replay(frame, EASY, capacity_procs).schedule
    theirs = replayed(frame, example, capacity_procs).replay.schedule
    assert (ours["wait_s"] > 0).any()
    assert nameless(theirs).equals(nameless(ours))


@given(frame=jobs(min_size=3), overrun=st.sampled_from(Overrun))
@settings(deadline=None, max_examples=150)
def test_the_examples_easy_is_the_kernels_on_any_trace(
    frame: pl.DataFrame, overrun: Overrun, example: Answer
):
    """Through JSON, within the schemas, to the last column of the schedule."""
    ours = engine.replay(frame, policy(overrun=overrun), CAPACITY)
    assume((ours.schedule["wait_s"] > 0).any())
    theirs = replayed(frame, Plain(example), overrun=overrun).replay
    assert nameless(theirs.schedule).equals(nameless(ours.schedule))
    assert (theirs.left_out, theirs.estimate_sources) == (ours.left_out, ours.estimate_sources)


@given(frame=recorded_jobs(min_size=4), changes=st.one_of(st.just(()), capacity_steps()), data=st.data())
@settings(deadline=None, max_examples=100)
def test_the_examples_easy_is_the_kernels_in_any_scenario(frame, changes, data, example: Answer):
    instants = st.sampled_from(sorted({*frame["release_s"], *frame["start_s"], *frame["end_s"]}))
    scenario = Scenario(changes, data.draw(st.sampled_from([1.0, 0.5, 3.0])), data.draw(instants))
    try:
        ours = engine.replay(frame, EASY, CAPACITY, scenario).schedule
    except EvidenceError:
        assume(False)  # what runs when the window begins exceeds the machine
    theirs = replayed(frame, Plain(example), CAPACITY, scenario).replay.schedule
    assert nameless(theirs).equals(nameless(ours))


@given(frame=jobs(min_size=3))
@settings(deadline=None, max_examples=150)
def test_conservative_backfilling_needs_no_more_than_the_adapter_tells(frame: pl.DataFrame):
    ours = engine.replay(frame, CONSERVATIVE, CAPACITY).schedule
    assume((ours["wait_s"] > 0).any())
    theirs = replayed(frame, ConservativeByAdapter).replay.schedule
    assert nameless(theirs).equals(nameless(ours))


def test_reservations_come_to_nothing_unless_the_policy_is_woken():
    class Deaf(ConservativeByAdapter):
        def __call__(self, snapshot: dict[str, Any]) -> dict[str, Any]:
            return super().__call__(snapshot) | {"wake_at_s": None}

    frame = trace([(1, 0, 3, 50, 10), (2, 1, 2, 90, 20), (3, 2, 4, 5), (4, 4, 1, 70, 100)])
    found = replayed(frame, ConservativeByAdapter, 4).replay.schedule
    assert nameless(found).equals(nameless(engine.replay(frame, CONSERVATIVE, 4).schedule))
    with pytest.raises(PolicyError, match="never started"):
        replayed(frame, Deaf, 4)


# --- no hindsight ------------------------------------------------------------------------------------


def fields(model: type[BaseModel]) -> Iterator[str]:
    """Names of a model's fields and of those within it."""
    for name, field in model.model_fields.items():
        yield name
        for kind in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from fields(kind)


def test_no_field_tells_a_runtime_or_a_true_end():
    seen = set(fields(AdapterSnapshot))
    assert {"position", "expected_end_s", "requested_runtime_s"} <= seen
    about_time = {name for name in seen if "runtime" in name or "end" in name or "wait" in name}
    assert about_time == {"requested_runtime_s", "expected_end_s"}
    assert not seen & {"state", "attempt_count", "quality_flags", "cpu_used_s"}  # known at the end only


def snapshots(
    frame: pl.DataFrame, example: Answer, until_s: int
) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """What the example saw up to an instant, and the schedule."""
    seen = []

    def listening(snapshot: dict[str, Any]) -> Any:
        if snapshot["now_s"] <= until_s:
            seen.append(snapshot)
        return example(snapshot)

    return seen, replayed(frame, listening).replay.schedule


@given(frame=jobs(min_size=2), data=st.data())
@settings(deadline=None, max_examples=100)
def test_the_runtime_of_an_unfinished_job_changes_no_snapshot(frame: pl.DataFrame, data, example: Answer):
    schedule = replayed(frame, example).replay.schedule
    instants = sorted({*schedule["start_s"], *schedule["end_s"], *schedule["release_s"]})
    until_s = data.draw(st.sampled_from(instants))
    other = rewrite_the_future(data, frame, schedule, until_s)
    assume(not other.equals(frame))
    assert snapshots(other, example, until_s)[0] == snapshots(frame, example, until_s)[0]


def test_a_snapshot_is_its_readers_own():
    """A policy that scribbles on what it is handed changes nothing but its own copy."""

    def scribbling(snapshot: dict[str, Any]) -> dict[str, Any]:
        decision = greedy(snapshot)
        for known in (*snapshot["queued"], *snapshot["running"]):
            known["procs"] = known["position"] = 0
        snapshot["queued"].clear()
        return decision

    frame = trace([(1, 0, 3, 10), (2, 1, 3, 10), (3, 2, 3, 10)])
    assert replayed(frame, scribbling, 4).replay.schedule["start_s"].to_list() == [0, 10, 20]


def test_what_is_seen_of_a_job():
    frame = trace(
        [
            job(7, 0, 3, 50, 10, user="ann", queue="long", group="staff", partition="p1"),
            job(7, 5, 2, 5, None, attempt=2, eligible_s=20),
        ]
    )
    seen, _ = snapshots(frame, greedy, 30)
    first, second = seen[0]["queued"][0], seen[1]["queued"][0]
    assert first == {
        "position": 0,
        "job_id": "7",
        "attempt": 1,
        "submit_s": 0,
        "release_s": 0,
        "procs": 3,
        "requested_runtime_s": 10,
        "is_fallback": False,
        "user": "ann",
        "group": "staff",
        "queue": "long",
        "partition": "p1",
    }
    known = (second["position"], second["submit_s"], second["release_s"], second["requested_runtime_s"])
    assert (*known, second["is_fallback"], second["user"]) == (1, 5, 20, 10, True, None)
    assert seen[1]["running"] == [first | {"start_s": 0, "expected_end_s": 70}]  # 10 s, grown by a minute
    assert (seen[1]["schema_version"], seen[1]["capacity_procs"], seen[1]["free_procs"]) == (1, 8, 5)


# --- waking ------------------------------------------------------------------------------------------


def test_a_policy_is_woken_when_it_asks():
    """It starts nothing before 100 s, when nothing happens but that it asked for."""
    asked_at = []

    def patient(snapshot: dict[str, Any]) -> dict[str, Any]:
        asked_at.append(snapshot["now_s"])
        return {"start": [], "wake_at_s": 100} if snapshot["now_s"] < 100 else greedy(snapshot)

    found = replayed(trace(THREE), patient, 6)
    assert asked_at == [0, 5, 100, 110]
    assert found.passes_count == 4
    assert found.replay.schedule["start_s"].to_list() == [100, 100, 100]


def test_the_last_decision_says_when_and_an_empty_queue_wakes_nobody():
    asked_at = []

    def changing(snapshot: dict[str, Any]) -> dict[str, Any]:
        asked_at.append(snapshot["now_s"])
        return greedy(snapshot) | {"wake_at_s": {0: 3, 3: None}.get(snapshot["now_s"], snapshot["now_s"] + 1)}

    replayed(trace([(11, 0, 3, 10), (12, 0, 2, 10)]), changing, 4)
    assert asked_at == [0, 3, 10, 20]


def test_one_that_asks_for_ever_and_starts_nothing_is_stopped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(adapter, "IDLE_WAKES_MAX", 50)
    error = refused(lambda snapshot: {"start": [], "wake_at_s": snapshot["now_s"] + 1})
    assert error.found.startswith("over 50 passes in a row")
    assert "at instant 56 s" in error.where  # counted from the release at 5 s


def test_a_start_beyond_the_last_instant_is_refused():
    late = at_first({"start": [], "wake_at_s": 2**53 - 1})
    with pytest.raises(InputError, match="would end at"):
        replayed(trace([(1, 0, 1, 10)]), late, 4)


# --- the schedule ------------------------------------------------------------------------------------


@given(frame=jobs(), whims=st.lists(st.tuples(st.integers(0, 7), st.sampled_from([1, 3, 50])), max_size=30))
@settings(deadline=None, max_examples=100)
def test_whatever_is_let_through_keeps_the_rules(frame: pl.DataFrame, whims: list[tuple[int, int]]):
    """A policy that passes jobs over by whim and comes back to them when it likes."""
    to_come = iter(whims)

    def fickle(snapshot: dict[str, Any]) -> dict[str, Any]:
        passed_over, later_s = next(to_come, (0, None))
        queued = [*snapshot["queued"][passed_over:], *snapshot["queued"][: passed_over // 2]]
        wake_at_s = None if later_s is None else snapshot["now_s"] + later_s
        return greedy(snapshot | {"queued": queued}) | {"wake_at_s": wake_at_s}

    schedule = replayed(frame, fickle).replay.schedule
    validate(REPLAY_SCHEDULE, schedule)
    report = check_schedule(frame, schedule, ABOUT, Capacity(CAPACITY))
    verdicts = dict(report.select("invariant", "verdict").iter_rows())
    unbound = (Invariant.STRICT_QUEUE_ORDER, Invariant.HEAD_NEVER_DELAYED)
    assert {verdicts.pop(each) for each in unbound} == {Verdict.NOT_ASSESSED}
    assert set(verdicts.values()) == {Verdict.PASS}


def test_no_rule_of_a_policy_binds_a_stranger():
    frame = trace([(1, 0, 3, 10), (2, 1, 4, 10), (3, 2, 1, 100)])
    report = check_schedule(frame, replayed(frame, greedy, 4).replay.schedule, ABOUT, Capacity(4))
    unbound = report.filter(verdict=Verdict.NOT_ASSESSED.value)
    assert unbound["invariant"].to_list() == [Invariant.STRICT_QUEUE_ORDER, Invariant.HEAD_NEVER_DELAYED]
    assert set(unbound["found"]) == {"an external policy, which promises nothing"}
    assert report.filter(verdict=Verdict.FAIL.value).is_empty()


def test_the_finished_schedule_is_judged(monkeypatch: pytest.MonkeyPatch):
    """Were the machine to let too much run, the judge would say so."""
    crowd = trace([(1, 0, 3, 10), (2, 0, 3, 10)])
    wrong = replayed(crowd, greedy, 6).replay
    monkeypatch.setattr(external, "to_replay", lambda *_: wrong)
    with pytest.raises(InvariantError, match="6 processors in use"):
        replayed(crowd, greedy, 4)


def test_reservations_are_counted_and_bind_nobody():
    """Job 2 is first named 10 s and starts at 15 s, for job 1 runs on; job 3, named 100 s, starts before."""

    def naming(snapshot: dict[str, Any]) -> dict[str, Any]:
        position, at_s = {1: (1, 10), 3: (1, 20), 15: (2, 100)}.get(snapshot["now_s"], (0, 0))
        named = {"reservation": {"position": position, "at_s": at_s}} if at_s else {}
        return greedy(snapshot) | named

    frame = trace([(1, 0, 3, 15, 10), (2, 1, 3, 10), (3, 3, 3, 10)])
    found = replayed(frame, naming, 4)
    assert found.replay.schedule["start_s"].to_list() == [0, 15, 25]
    assert (found.promised_count, found.broken_count) == (2, 1)


def test_every_replay_has_a_new_instance_of_a_class():
    class Counting:
        def __init__(self) -> None:
            self.asked = 0

        def __call__(self, snapshot: dict[str, Any]) -> dict[str, Any]:
            self.asked += 1
            assert self.asked <= 4
            return greedy(snapshot)

    assert [replayed(trace(THREE), Counting, 6).passes_count for _ in range(2)] == [4, 4]


def test_progress_is_told_at_every_pass():
    told = []
    replay_external(trace(THREE), ABOUT, greedy, 6, tell=lambda started, total: told.append((started, total)))
    assert told == [(2, 3), (3, 3), (3, 3), (3, 3)]


def test_a_trace_without_a_job_to_replay():
    found = replayed(trace([(1, 0, 9, 10)]), greedy, 4)
    assert (found.passes_count, found.replay.left_out[LeftOut.WIDER_THAN_MACHINE]) == (0, 1)


# --- the page ----------------------------------------------------------------------------------------


def test_the_pages_example_is_a_policy():
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert code is not None
    module: dict[str, Any] = {}
    exec(code[1], module)  # noqa: S102 -- our own page
    frame = trace([(1, 0, 4, 10), (2, 1, 3, 90), (3, 2, 3, 20)])
    assert replayed(frame, Plain(module["decide"]), 4).replay.schedule["start_s"].to_list() == [0, 30, 10]


def test_the_page_tells_of_every_field():
    named = set(re.findall(r"`(\w+)`", PAGE.read_text())) | {"at_s"}  # which stands within an example
    assert {*fields(AdapterSnapshot), *fields(AdapterDecision)} <= named
