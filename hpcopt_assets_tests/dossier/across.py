"""The evidence of a dossier over two small traces, made by hand.

In:  changes by field.   Out: a valid AcrossEvidence.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl

from hpcopt_assets.contracts import placement_tables as pt
from hpcopt_assets.contracts.config import ObjectiveConfig
from hpcopt_assets.contracts.lineage import SourceFile
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.dossier.across import OF_TRACES, AcrossEvidence
from hpcopt_assets_tests.dossier import helpers, made, verdicts
from hpcopt_assets_tests.dossier.verdicts import claims

READ = {table.name for table in OF_TRACES}


def of_trace(trace: str, **made: Any) -> dict[str, pl.DataFrame]:
    found = helpers.evidence(**made).tables
    return {name: frame.with_columns(trace_id=pl.lit(trace)) for name, frame in found.items() if name in READ}


def study() -> pl.DataFrame:
    counts = {"attempts_count": 100, "turned_away_count": 30, "placed_count": 60, "failed_count": 10}
    row = counts | {"admission": "model", "failures_avoided_count": 25, "good_turned_away_count": 5}
    return _shaped(pt.PLACEMENT_STUDY, row | {"utilisation_ratio": 0.5, "cost_per_attempt": 0.2})


def scores() -> pl.DataFrame:
    row = {"population": "later", "method": "model", "measure": "f1", "minus_method": None}
    return _shaped(
        pt.PLACEMENT_SCORES, row | {"value": 0.919, "lower": 0.914, "upper": 0.923, "evidence_count": 9}
    )


def _shaped(table: Any, row: dict[str, Any]) -> pl.DataFrame:
    frame = table.shape(pl.DataFrame([row], schema=table.polars_schema()))
    validate(table, frame)
    return frame


def across(**changes: Any) -> AcrossEvidence:
    """Two traces: on `one` a gain survives and the claim is CONDITIONAL, on `two` neither."""
    lost = verdicts.robustness(upper=0.5, block_upper=0.5)
    blocked = claims(fairness="FAIL", overall="FAIL")
    fields: dict[str, Any] = {
        "traces": ("one", "two"),
        "tables": {
            "one": of_trace("one", claims=claims(outcome="CONDITIONAL")),
            "two": of_trace("two", robustness=lost, claims=blocked),
        },
        "placement": {"placement_scores": scores(), "placement_study": study()},
        "missing": (),
        "errors": (),
        "policies": made.policies(),
        "objective": made.config("objective", ObjectiveConfig),
        "seeds": {"shaken replicas": 1},
        "sources": {"one": [SourceFile("one.swf", "c" * 64)]},
        "lineage": made.lineage(),
        "environment": {"python": "3.11.2"},
        "generated_at": datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    }
    return AcrossEvidence(**(fields | changes))
