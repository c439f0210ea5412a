"""The evidence behind one trace's dossier, and the check that none of it is missing or foreign.

In:  tables of one trace, configs, lineage records.   Out: `TraceEvidence`, or an EvidenceError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import polars as pl

from hpcopt_assets.contracts.config import FidelityConfig, ObjectiveConfig, PoliciesConfig, Policy
from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.lineage import Materialization
from hpcopt_assets.contracts.vocabulary import (
    OBSERVED,
    WHOLE,
    ClaimCriterion,
    FidelityCriterion,
    Outcome,
    Verdict,
    Window,
)

Row = dict[str, Any]


@dataclass(frozen=True)
class TraceEvidence:
    """Everything a trace's dossier is made from: tables by their contracts, configs, lineage.

    `schedules` maps policy id to its replay_schedule; `environment` names packages and their versions;
    `generated_at` must know its time zone. Frames of another trace, a policy without evidence and lineage
    that contradicts itself are EvidenceErrors.
    """

    trace_id: str
    report: pl.DataFrame
    rejects: pl.DataFrame
    jobs: pl.DataFrame
    schedules: Mapping[str, pl.DataFrame]
    measures: pl.DataFrame
    invariants: pl.DataFrame
    fidelity: pl.DataFrame
    claims: pl.DataFrame
    policies: PoliciesConfig
    objective: ObjectiveConfig
    fidelity_config: FidelityConfig
    lineage: tuple[Materialization, ...]
    environment: Mapping[str, str]
    generated_at: datetime

    def __post_init__(self) -> None:
        self._check_frames()
        self._check_policies()
        self._check_lineage()

    @cached_property
    def facts(self) -> Row:
        """The one row of the ingest report."""
        return self.report.row(0, named=True)

    @property
    def candidates(self) -> tuple[Policy, ...]:
        """Policies that a claim can be about: neither the baseline nor a bound."""
        baseline = self.objective.claims.baseline
        return tuple(p for p in self.policies.policies if p.id != baseline and not p.is_bound)

    def measured(self, policy: str, window: Window) -> Row:
        """The measures of a policy (or `observed`) over a window."""
        return self._one(self.measures, policy=policy, time_window=window)

    def likeness(self, policy: str) -> Verdict:
        """Whether a policy's replay is like what was observed, all criteria together."""
        return Verdict(
            self._one(self.fidelity, policy=policy, period=WHOLE, criterion=FidelityCriterion.OVERALL)[
                "verdict"
            ]
        )

    def likeness_rows(self, policy: str) -> list[Row]:
        """Every criterion of a policy's likeness to what was observed, over the whole trace."""
        return self.fidelity.filter(policy=policy, period=WHOLE).rows(named=True)

    def claim(self, policy: str, criterion: ClaimCriterion) -> Row:
        """One row of the claim about a candidate."""
        return self._one(self.claims, policy=policy, criterion=criterion)

    def outcome(self, policy: str) -> Outcome | None:
        """What the claim about a candidate amounts to; None where the evidence did not suffice to say."""
        word = self.claim(policy, ClaimCriterion.OVERALL)["outcome"]
        return None if word is None else Outcome(word)

    def _one(self, frame: pl.DataFrame, **key: str) -> Row:
        found = frame.filter(pl.col(name) == str(value) for name, value in key.items())
        if found.height != 1:
            raise self._error(
                f"{found.height} rows for {', '.join(key.values())}",
                f"exactly one with columns {', '.join(frame.columns[:4])}, ...",
            )
        return found.row(0, named=True)

    def _check_frames(self) -> None:
        named = {
            "ingest_report": self.report,
            "trace_rejects": self.rejects,
            "trace_jobs": self.jobs,
            "replay_measures": self.measures,
            "invariant_report": self.invariants,
            "fidelity_verdicts": self.fidelity,
            "claim_verdicts": self.claims,
        } | {f"replay_schedule of {policy}": frame for policy, frame in self.schedules.items()}
        for name, frame in named.items():
            foreign = set(frame["trace_id"].unique()) - {self.trace_id}
            if foreign:
                raise self._error(f"{name} of {', '.join(sorted(foreign))}", f"rows of {self.trace_id} only")
        if self.report.height != 1:
            raise self._error(f"an ingest_report of {self.report.height} rows", "exactly one row")
        if self.generated_at.tzinfo is None:
            raise ValueError("generated_at has no time zone")

    def _check_policies(self) -> None:
        needed = set(self.policies.ids)
        self._same("replay schedules", self.schedules, needed)
        self._same("measures", self.measures["policy"], needed | {OBSERVED})
        self._same("invariants", self.invariants["policy"], needed)
        for policy in self.policies.ids:
            self.likeness(policy)
        for candidate in self.candidates:
            self.outcome(candidate.id)
        for policy in (OBSERVED, *self.policies.ids):
            for window in Window:
                self.measured(policy, window)

    def _same(self, what: str, found: Iterable[str], needed: set[str]) -> None:
        missing, foreign = sorted(needed - set(found)), sorted(set(found) - needed)
        if missing or foreign:
            raise self._error(
                f"{what} missing for {missing}, not in the configuration {foreign}",
                "evidence for exactly the policies of configs/policies.yaml",
            )

    def _check_lineage(self) -> None:
        recorded = {item.record_id: item for item in self.lineage}
        for item in self.lineage:
            for source in item.inputs:
                made = recorded.get(source.record_id) if source.record_id is not None else None
                if made is not None and source.data_version not in (None, made.data_version):
                    raise self._error(
                        f"{item.asset} read {source.asset} at version {source.data_version}, "
                        f"but record {made.record_id} holds {made.data_version}",
                        "inputs whose versions are those that were recorded",
                    )

    def _error(self, found: str, needed: str) -> EvidenceError:
        return EvidenceError(
            found=found,
            needed=needed,
            where=f"dossier of trace {self.trace_id}",
            next_step=f"Materialize trace {self.trace_id} again, all assets together.",
        )
