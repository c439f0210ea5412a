"""External policies that tests make up, and what it takes to be refused."""

from collections.abc import Callable
from typing import Any

import jsonschema
import polars as pl
import pytest

from hpcopt_assets.contracts.adapter import ExternalPolicy
from hpcopt_assets.contracts.errors import PolicyError
from hpcopt_assets.contracts.schemas import all_json_schemas
from hpcopt_assets.contracts.vocabulary import Overrun
from hpcopt_assets.simulate.external import ExternalReplay, replay_external
from hpcopt_assets.simulate.scenario import AS_RECORDED, Scenario
from hpcopt_assets_tests.builders import trace
from hpcopt_assets_tests.simulate.strategies import CAPACITY

ABOUT = ExternalPolicy(id="stranger", means="made by a test")
SNAPSHOT, DECISION = (
    jsonschema.Draft202012Validator(all_json_schemas()[f"adapter_{kind}"])
    for kind in ("snapshot", "decision")
)
Answer = Callable[[dict[str, Any]], Any]


def replayed(
    frame: pl.DataFrame,
    answer: Any,
    capacity_procs: int = CAPACITY,
    scenario: Scenario = AS_RECORDED,
    overrun: Overrun = Overrun.EXTEND,
) -> ExternalReplay:
    about = ABOUT.model_copy(update={"overrun": overrun})
    return replay_external(frame, about, answer, capacity_procs, scenario)


def nameless(schedule: pl.DataFrame) -> pl.DataFrame:
    return schedule.drop("policy")


def greedy(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Starts whatever fits, in the order of the queue."""
    start, free = [], snapshot["free_procs"]
    for known in snapshot["queued"]:
        if known["procs"] <= free:
            start.append(known["position"])
            free -= known["procs"]
    return {"start": start}


THREE = [(11, 0, 3, 10), (12, 0, 2, 10), (13, 5, 1, 10)]  # on 4 processors: job 12 has to wait


def refused(
    answer: Any, rows=THREE, capacity_procs: int = 4, scenario: Scenario = AS_RECORDED
) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        replayed(trace(rows), answer, capacity_procs, scenario)
    error = caught.value
    assert "policy stranger" in error.where
    assert error.next_step
    assert error.exit_code == 2
    return error


def at_first(decision: Any) -> Answer:
    """A policy that gives one answer at the first pass, and is greedy ever after."""
    asked = []

    def answer(snapshot: dict[str, Any]) -> Any:
        asked.append(snapshot)
        return decision if len(asked) == 1 else greedy(snapshot)

    return answer
