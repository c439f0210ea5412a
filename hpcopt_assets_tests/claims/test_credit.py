"""Credit: a gain is the model's where its forecasts made it, and nobody's future."""

from typing import Any

import polars as pl
import pytest

from hpcopt_assets.claims.credit import judge_model_credit
from hpcopt_assets.claims.judge import Evidence, judge_claims
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING
from hpcopt_assets.contracts.vocabulary import Verdict
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets_tests.claims.judged import (
    BASELINE,
    CAPACITY,
    JOBS,
    OBJECTIVE,
    POLICIES,
    fidelity,
    jobs,
    judged,
    shaken,
)
from hpcopt_assets_tests.schedules import replay_of

ML = "ml_sjbf"


def accounting(p95_bsld: float | None, run: str = "history_honest", **others: Any) -> pl.DataFrame:
    row: dict[str, Any] = (
        dict.fromkeys(ESTIMATE_ACCOUNTING.names)
        | {
            "trace_id": "made",
            "policy": ML,
            "run": run,
            "jobs_count": JOBS,
            "p95_bsld": p95_bsld,
            "starved_ratio": 0.0,
            "jain_service": 1.0,
            "utilisation_ratio": 0.5,
        }
        | others
    )
    return pl.DataFrame([row], schema=ESTIMATE_ACCOUNTING.polars_schema())


def of_model(share: float, honest: pl.DataFrame | None = None) -> dict[str, dict[str, Any]]:
    """Rows of a policy that believes forecasts, of which this share came from the model."""
    made = jobs()
    by_model = pl.int_range(pl.len()) < share * JOBS
    frame = replay_of(made, (made["release_s"] + 1000).to_list(), ML).with_columns(
        estimate_source=pl.when(by_model).then(pl.lit("model")).otherwise(pl.lit("history"))
    )
    found = judge_claims(
        trace_id="made",
        schedules={ML: frame, BASELINE: replay_of(made, (made["release_s"] + 3000).to_list(), BASELINE)},
        policies=POLICIES,
        capacity=Capacity(CAPACITY),
        tables=Evidence(
            fidelity("PASS"), shaken(-1.0, -0.5, policy=ML), accounting(2.0) if honest is None else honest
        ),
        objective=OBJECTIVE,
        is_synthetic=False,
    )
    return {row["criterion"]: row for row in found.iter_rows(named=True)}


@pytest.mark.parametrize(
    ("share", "verdict", "outcome"), [(0.49, "FAIL", "CONDITIONAL"), (0.5, "PASS", "ACCEPTED")]
)
def test_a_gain_is_the_models_only_where_the_model_gave_half_of_the_estimates(share, verdict, outcome):
    rows = of_model(share)
    assert rows["model_credit"]["verdict"] == verdict
    assert rows["model_credit"]["measured"] == pytest.approx(share, abs=0.01)
    assert rows["overall"]["outcome"] == outcome


@pytest.mark.parametrize(
    ("honest", "verdict"),
    [
        (accounting(2.0), "PASS"),
        (accounting(3.9), "FAIL"),
        (accounting(None), "NOT_ASSESSED"),
        (ESTIMATE_ACCOUNTING.empty(), "NOT_ASSESSED"),
        (accounting(2.0, run="as_replayed"), "NOT_ASSESSED"),
        (accounting(2.0, starved_ratio=0.5), "FAIL"),
        (accounting(2.0, jain_service=0.9), "FAIL"),
        (accounting(2.0, jobs_count=JOBS - 1), "NOT_ASSESSED"),
    ],
)
def test_a_gain_must_survive_without_another_schedules_future(honest, verdict):
    rows = of_model(1.0, honest=honest)
    assert rows["without_hindsight"]["verdict"] == verdict
    assert rows["overall"]["outcome"] == ("ACCEPTED" if verdict == "PASS" else "CONDITIONAL")


def test_of_forecasts_that_only_hold_jobs_the_source_is_not_known():
    rules = POLICIES.get(ML)
    assert rules is not None
    holds = rules.model_copy(update={"estimate": "requested", "guard_k": None})
    frame = replay_of(jobs(), (jobs()["release_s"] + 1000).to_list(), ML)
    found = judge_model_credit(frame, holds, OBJECTIVE.claims)
    assert found.verdict is Verdict.NOT_ASSESSED
    assert "holds jobs by forecasts" in found.reason


def test_policies_without_forecasts_owe_the_model_nothing():
    rows = judged([1000] * JOBS, [3000] * JOBS)
    for name in ("model_credit", "without_hindsight"):
        assert (rows[name]["verdict"], rows[name]["reason"]) == ("PASS", "it believes no forecasts")
