"""The evidence behind the dossier over all traces.

In:  tables by trace, what could not be read or was never made, decisions, lineage.   Out: `AcrossEvidence`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from hpcopt_assets.contracts.config import ObjectiveConfig, PoliciesConfig
from hpcopt_assets.contracts.forecast_tables import FEATURE_SPLITS, FORECAST_SCORES
from hpcopt_assets.contracts.lineage import ArtefactError, Materialization, SourceFile
from hpcopt_assets.contracts.placement_tables import PLACEMENT_SCORES, PLACEMENT_STUDY
from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION
from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS
from hpcopt_assets.contracts.stress_tables import SENSITIVITY, STRESS_REPLAYS
from hpcopt_assets.contracts.tables import (
    CLAIM_VERDICTS,
    FIDELITY_VERDICTS,
    INGEST_REPORT,
    POLICY_CLOSENESS,
    RAW_TRACE,
)
from hpcopt_assets.contracts.vocabulary import ClaimCriterion, Window
from hpcopt_assets.dossier.evidence import Row

OF_TRACES = (
    RAW_TRACE,
    INGEST_REPORT,
    FIDELITY_VERDICTS,
    POLICY_CLOSENESS,
    ROBUSTNESS,
    CLAIM_VERDICTS,
    RECOMMENDATION,
    FEATURE_SPLITS,
    FORECAST_SCORES,
    SENSITIVITY,
    STRESS_REPLAYS,
)
OF_PLACEMENT = (PLACEMENT_SCORES, PLACEMENT_STUDY)
# What it reads of each trace, and once.


@dataclass(frozen=True)
class AcrossEvidence:
    """Tables by trace and by asset, whatever of them there is.

    `missing` is what was never made, `errors` what is not as it was recorded; `traces` are all that are
    known, in order. Where a table is not there, `row` and `rows` give none: chapters say so and never take it
    for a result.
    """

    traces: tuple[str, ...]
    tables: Mapping[str, Mapping[str, pl.DataFrame]]
    placement: Mapping[str, pl.DataFrame]
    missing: tuple[ArtefactError, ...]
    errors: tuple[ArtefactError, ...]
    policies: PoliciesConfig
    objective: ObjectiveConfig
    seeds: Mapping[str, int]
    sources: Mapping[str, Sequence[SourceFile]]
    lineage: tuple[Materialization, ...]
    environment: Mapping[str, str]
    generated_at: datetime

    @property
    def candidates(self) -> tuple[str, ...]:
        """Policies that a claim can be about."""
        baseline = self.objective.claims.baseline
        return tuple(policy.id for policy in self.policies.candidates if policy.id != baseline)

    def rows(self, trace: str, asset: str, **key: str) -> list[Row]:
        """The rows of a trace's table with these words in their columns; none where there is no table."""
        frame = self.tables.get(trace, {}).get(asset)
        if frame is None:
            return []
        wanted = [pl.lit(True), *(pl.col(name) == str(value) for name, value in key.items())]
        return frame.filter(wanted).rows(named=True)

    def row(self, trace: str, asset: str, **key: str) -> Row | None:
        """The one row of that key, or None."""
        found = self.rows(trace, asset, **key)
        return found[0] if found else None

    def change(self, trace: str, policy: str) -> Row | None:
        """How a candidate's primary measure differs from the baseline's in the steady window."""
        primary = self.objective.claims.primary
        return self.row(trace, ROBUSTNESS.name, policy=policy, time_window=Window.STEADY, measure=primary)

    def claim(self, trace: str, policy: str) -> Row | None:
        """What the claim about a candidate amounts to on a trace."""
        return self.row(trace, CLAIM_VERDICTS.name, policy=policy, criterion=ClaimCriterion.OVERALL)

    @property
    def decisions(self) -> dict[str, Any]:
        """File of configs/ -> its content."""
        return {
            "policies": self.policies.model_dump(mode="json"),
            "objective": self.objective.model_dump(mode="json"),
        }
