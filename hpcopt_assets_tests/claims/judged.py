"""Claims on made schedules, for tests that say only what they are about.

In:  waits of a candidate and of the baseline, evidence.   Out: rows of claim_verdicts by criterion.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import polars as pl

from hpcopt_assets.claims.criteria import demanded
from hpcopt_assets.claims.judge import Evidence, judge_claims
from hpcopt_assets.contracts.config import ObjectiveConfig, PoliciesConfig
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING
from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS, FIDELITY_VERDICTS
from hpcopt_assets.contracts.vocabulary import ClaimCriterion, EstimateSource
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import replay_of, shipped

OBJECTIVE = shipped(ObjectiveConfig)
POLICIES = shipped(PoliciesConfig)
CANDIDATE, BASELINE, BOUND = "fifo_strict", "easy_backfill", "easy_clairvoyant"
CAPACITY = 8
HOUR = 3600
JOBS = 120


def jobs(users: int = 3) -> pl.DataFrame:
    """One job of 1000 s and two processors every 500 s: half the machine."""
    return trace(job(i, 500 * i, 2, 1000, user=f"u{i % users}") for i in range(JOBS))


def fidelity(verdict: str) -> pl.DataFrame:
    """The baseline's over the whole trace; in a quarter, which no claim looks at, it is another."""
    rows = [
        {
            "trace_id": "made",
            "policy": BASELINE,
            "period": period,
            "criterion": "overall",
            "verdict": said,
            "unit": "rules broken",
            "evidence_count": JOBS,
            "reason": "as this test needs it",
        }
        for period, said in (("1970-Q1", "PASS" if verdict == "FAIL" else "FAIL"), ("whole", verdict))
    ]
    return pl.DataFrame(rows, schema=FIDELITY_VERDICTS.polars_schema())


NOTHING = Evidence(fidelity("PASS"), ROBUSTNESS.empty(), ESTIMATE_ACCOUNTING.empty())


def judged(
    waits: Sequence[int | None],
    baseline_waits: Sequence[int | None],
    *,
    trace_jobs: pl.DataFrame | None = None,
    candidate: str = CANDIDATE,
    source: EstimateSource = EstimateSource.REQUEST,
    baseline_fidelity: str = "PASS",
    is_synthetic: bool = False,
    shaken: pl.DataFrame | None = None,
    accounting: pl.DataFrame | None = None,
) -> dict[str, dict[str, Any]]:
    """Rows by criterion, of a candidate with these waits against a baseline with those."""
    made = jobs() if trace_jobs is None else trace_jobs

    def replayed(policy: str, by_job: Sequence[int | None]) -> pl.DataFrame:
        starts = [
            None if wait is None else release_s + wait
            for release_s, wait in zip(made["release_s"], by_job, strict=True)
        ]
        return replay_of(made, starts, policy, source)

    frame = judge_claims(
        trace_id="made",
        schedules={candidate: replayed(candidate, waits), BASELINE: replayed(BASELINE, baseline_waits)},
        policies=POLICIES,
        capacity=Capacity(CAPACITY),
        tables=Evidence(
            fidelity(baseline_fidelity),
            ROBUSTNESS.empty() if shaken is None else shaken,
            ESTIMATE_ACCOUNTING.empty() if accounting is None else accounting,
        ),
        objective=OBJECTIVE,
        is_synthetic=is_synthetic,
    )
    validate(CLAIM_VERDICTS, frame)
    assert frame["policy"].unique().to_list() == [candidate]
    assert frame["baseline"].unique().to_list() == [BASELINE]
    assert frame["criterion"].to_list() == list(ClaimCriterion.words())
    return {row["criterion"]: row for row in frame.iter_rows(named=True)}


def not_passed(rows: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: row["verdict"] for name, row in rows.items() if row["verdict"] != "PASS"}


def shaken(
    upper: float | None = -1.0,
    block_upper: float | None = -0.5,
    *,
    policy: str = CANDIDATE,
    mean: float = -2.0,
    met: Mapping[str, float | None] = MappingProxyType({}),
    **confirmation: Any,
) -> pl.DataFrame:
    """A candidate's rows of `robustness`: the steady window, with this mean change of 4, and the rest.

    `met`: measure -> share of replicas in which its demand is met, 1 unless told.
    """
    steady: dict[str, Any] = dict.fromkeys(ROBUSTNESS.names) | {
        "trace_id": "made",
        "policy": policy,
        "baseline": BASELINE,
        "time_window": "steady",
        "measure": "p95_bsld",
        "jobs_count": 114,
        "replicas_count": 200,
        "shaken_baseline_value": 4.0,
        "difference": -2.0,
        "mean_difference": mean,
        "lower": -3.0,
        "upper": -1.0,
        "blocks_count": 20,
        "confidence": 0.95,
        "is_artefact": False,
    }
    rest = steady | {
        "time_window": "confirmation",
        "jobs_count": 46,
        "confidence": 0.99,
        "candidates_count": 5,
        "upper": upper,
        "lower": None if upper is None else -3.0,
        "block_lower": None if block_upper is None else -3.0,
        "block_upper": block_upper,
    }
    demands = [
        steady | {"measure": measure, "met_ratio": met.get(measure, 1.0)}
        for measure in demanded(OBJECTIVE.claims)
    ]
    return pl.DataFrame([*demands, rest | confirmation], schema=ROBUSTNESS.polars_schema())
