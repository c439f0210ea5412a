"""Evidence for a small trace, made by hand, that a test changes where it is about something.

In:  changes by field.   Out: a valid TraceEvidence.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import polars as pl

from hpcopt_assets.contracts.config import FidelityConfig, ObjectiveConfig
from hpcopt_assets.contracts.forecast_config import ForecastConfig
from hpcopt_assets.contracts.robustness_config import RobustnessConfig
from hpcopt_assets.contracts.stress_config import SensitivityConfig, StressConfig
from hpcopt_assets.dossier.evidence import TraceEvidence
from hpcopt_assets.dossier.finished import Dossier
from hpcopt_assets.dossier.trace import build_trace_dossier
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.table import measure_all
from hpcopt_assets_tests.dossier.forecasts import forecasts
from hpcopt_assets_tests.dossier.made import (
    CAPACITY,
    FASTER,
    TRACE_ID,
    config,
    jobs,
    lineage,
    policies,
    raw_trace,
    rejects,
    report,
    schedule,
)
from hpcopt_assets_tests.dossier.verdicts import (
    claims,
    closeness,
    fidelity,
    invariants,
    recommendation,
    robustness,
    sensitivity,
    stress,
)

NAMED = {
    "raw": "raw_trace",
    "report": "ingest_report",
    "rejects": "trace_rejects",
    "jobs": "trace_jobs",
    "measures": "replay_measures",
    "invariants": "invariant_report",
    "fidelity": "fidelity_verdicts",
    "closeness": "policy_closeness",
    "robustness": "robustness",
    "claims": "claim_verdicts",
    "recommendation": "recommendation",
    "splits": "feature_splits",
    "model": "runtime_model",
    "importance": "runtime_importance",
    "scores": "forecast_scores",
    "accounting": "estimate_accounting",
    "sensitivity": "sensitivity",
    "stress": "stress_replays",
}
# What tests call a table, and its asset.


def evidence(**changes: Any) -> TraceEvidence:
    """Valid evidence; a table (by a name of `NAMED`, or `schedules`), else a field, replaces what is here."""
    observed = changes.get("jobs", jobs())
    objective = config("objective", ObjectiveConfig)
    schedules = {policy: schedule(policy, jobs(), faster) for policy, faster in FASTER.items()}
    made: dict[str, Any] = {
        "raw": raw_trace(),
        "report": report(),
        "rejects": rejects(),
        "jobs": observed,
        "measures": measure_all(
            trace_id=TRACE_ID,
            trace_jobs=observed,
            schedules=schedules,
            capacity=Capacity(CAPACITY),
            config=objective.measures,
        ),
        "invariants": invariants(),
        "fidelity": fidelity(),
        "closeness": closeness(),
        "robustness": robustness(),
        "claims": claims(),
        "recommendation": recommendation(),
        **forecasts(),
        "sensitivity": sensitivity(),
        "stress": stress(),
        "schedules": schedules,
    }
    fields: dict[str, Any] = {
        "trace_id": TRACE_ID,
        "errors": (),
        "policies": policies(),
        "objective": objective,
        "fidelity": config("fidelity", FidelityConfig),
        "robustness": config("robustness", RobustnessConfig),
        "forecast": config("forecast", ForecastConfig),
        "stress": config("stress", StressConfig),
        "sensitivity": config("sensitivity", SensitivityConfig),
        "lineage": lineage(),
        "environment": {"python": "3.11.2", "polars": "2.1.0"},
        "generated_at": datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    }
    made |= {name: value for name, value in changes.items() if name in made}
    fields |= {name: value for name, value in changes.items() if name in fields.keys() - made.keys()}
    return TraceEvidence(tables=by_asset(made), **fields)


def by_asset(made: dict[str, Any]) -> dict[str, pl.DataFrame]:
    """Tables by the names that tests use -> by asset; a table that is None is not there."""
    schedules = made.get("schedules", {})
    found = {NAMED[name]: frame for name, frame in made.items() if name in NAMED and frame is not None}
    return found | {f"replay/{policy}": frame for policy, frame in schedules.items()}


def changed(found: TraceEvidence, **made: Any) -> TraceEvidence:
    """The evidence with some of its tables replaced."""
    return replace(found, tables={**found.tables, **by_asset(made)})


@cache
def standard() -> Dossier:
    """The dossier of evidence without changes, made once."""
    return build_trace_dossier(evidence())
