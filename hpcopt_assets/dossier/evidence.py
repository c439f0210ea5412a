"""The evidence behind one trace's dossier, and the check that none of it is foreign or contradicts itself.

In:  tables of one trace, what could not be read, configs, lineage records.
Out: `TraceEvidence`, or an EvidenceError.
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
from hpcopt_assets.contracts.forecast_config import ForecastConfig
from hpcopt_assets.contracts.forecast_tables import (
    ESTIMATE_ACCOUNTING,
    FEATURE_SPLITS,
    FORECAST_SCORES,
    RUNTIME_IMPORTANCE,
    RUNTIME_MODEL,
)
from hpcopt_assets.contracts.lineage import ArtefactError, Materialization, SourceFile
from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION
from hpcopt_assets.contracts.robustness_config import RobustnessConfig
from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS
from hpcopt_assets.contracts.stress_config import SensitivityConfig, StressConfig
from hpcopt_assets.contracts.stress_tables import SENSITIVITY, STRESS_REPLAYS
from hpcopt_assets.contracts.tables import (
    CLAIM_VERDICTS,
    FIDELITY_VERDICTS,
    INGEST_REPORT,
    INVARIANT_REPORT,
    POLICY_CLOSENESS,
    RAW_TRACE,
    REPLAY_MEASURES,
    TRACE_JOBS,
    TRACE_REJECTS,
)
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
REPLAY = "replay/"
# Before a policy's id, the key of its schedule.
READ = (
    RAW_TRACE,
    TRACE_JOBS,
    TRACE_REJECTS,
    INGEST_REPORT,
    INVARIANT_REPORT,
    REPLAY_MEASURES,
    FIDELITY_VERDICTS,
    POLICY_CLOSENESS,
    ROBUSTNESS,
    CLAIM_VERDICTS,
    RECOMMENDATION,
    FEATURE_SPLITS,
    RUNTIME_MODEL,
    RUNTIME_IMPORTANCE,
    FORECAST_SCORES,
    ESTIMATE_ACCOUNTING,
    SENSITIVITY,
    STRESS_REPLAYS,
)
# The tables that a trace's dossier rests on, beside the schedules.
DECISIONS = ("policies", "objective", "fidelity", "robustness", "forecast", "stress", "sensitivity")
# The files of configs/ that it tells of.


@dataclass(frozen=True)
class TraceEvidence:
    """Everything a trace's dossier is made from.

    `tables` maps asset keys (`replay/<policy>` for a schedule) to tables by their contracts; `errors` says of
    what is not among them, or not as recorded, why. `environment` names packages and their versions;
    `generated_at` must know its time zone. Frames of another trace, a table without a policy and lineage that
    contradicts itself are EvidenceErrors at once; a table that could not be read is one when it is asked for.
    """

    trace_id: str
    tables: Mapping[str, pl.DataFrame]
    errors: tuple[ArtefactError, ...]
    policies: PoliciesConfig
    objective: ObjectiveConfig
    fidelity: FidelityConfig
    robustness: RobustnessConfig
    forecast: ForecastConfig
    stress: StressConfig
    sensitivity: SensitivityConfig
    lineage: tuple[Materialization, ...]
    environment: Mapping[str, str]
    generated_at: datetime

    def __post_init__(self) -> None:
        self._check_frames()
        self._check_policies()
        self._check_lineage()

    @property
    def decisions(self) -> dict[str, Any]:
        """File of configs/ -> its content; without the number of threads, which changes no number."""
        return {name: getattr(self, name).model_dump(mode="json", exclude={"threads"}) for name in DECISIONS}

    @property
    def seeds(self) -> dict[str, int]:
        """What is drawn at random -> its seed."""
        robust, forecast = self.robustness, self.forecast
        return {
            "shaken replicas": robust.shaking.seed,
            "weeks drawn anew": robust.intervals.seed,
            "fit of the forecasts": forecast.model.seed,
            "importance of features": forecast.importance.seed,
            "intervals of the forecasts' scores": forecast.scores.seed,
            "stressed traces": self.stress.scenarios.seed,
        }

    def table(self, asset: str) -> pl.DataFrame:
        """A table; EvidenceError that says why there is none."""
        if asset in self.tables:
            return self.tables[asset]
        told = [error for error in self.errors if error.asset == asset]
        found = told[0].found if told else "not handed to the dossier"
        raise self._error(f"{asset}: {found}", "the table as its materialization recorded it")

    @cached_property
    def facts(self) -> Row:
        """The one row of the ingest report."""
        return self.table(INGEST_REPORT.name).row(0, named=True)

    @cached_property
    def sources(self) -> tuple[SourceFile, ...]:
        """The files that the trace was read from."""
        return source_files(self.table(RAW_TRACE.name))

    @property
    def jobs(self) -> pl.DataFrame:
        """The jobs as recorded."""
        return self.table(TRACE_JOBS.name)

    @property
    def schedules(self) -> dict[str, pl.DataFrame]:
        """Policy id -> its schedule, in the order of configs/policies.yaml."""
        return {policy: self.schedule(policy) for policy in self.policies.ids}

    def schedule(self, policy: str) -> pl.DataFrame:
        """The schedule of one policy."""
        return self.table(f"{REPLAY}{policy}")

    @property
    def candidates(self) -> tuple[Policy, ...]:
        """Policies that a claim can be about: neither the baseline nor a bound."""
        baseline = self.objective.claims.baseline
        return tuple(p for p in self.policies.policies if p.id != baseline and not p.is_bound)

    def measured(self, policy: str, window: Window) -> Row:
        """The measures of a policy (or `observed`) over a window."""
        return self._one(REPLAY_MEASURES.name, policy=policy, time_window=window)

    def likeness(self, policy: str) -> Verdict:
        """Whether a policy's replay is like what was observed, all criteria together."""
        overall = FidelityCriterion.OVERALL
        row = self._one(FIDELITY_VERDICTS.name, policy=policy, period=WHOLE, criterion=overall)
        return Verdict(row["verdict"])

    def likeness_rows(self, policy: str) -> list[Row]:
        """Every criterion of a policy's likeness to what was observed, over the whole trace."""
        found = self.table(FIDELITY_VERDICTS.name)
        return found.filter(policy=policy, period=WHOLE).rows(named=True)

    def claim(self, policy: str, criterion: ClaimCriterion) -> Row:
        """One row of the claim about a candidate."""
        return self._one(CLAIM_VERDICTS.name, policy=policy, criterion=criterion)

    def claim_rows(self, policy: str) -> list[Row]:
        """Every criterion of the claim about a candidate."""
        return self.table(CLAIM_VERDICTS.name).filter(policy=policy).rows(named=True)

    def outcome(self, policy: str) -> Outcome | None:
        """What the claim about a candidate amounts to; None where the evidence did not suffice to say."""
        word = self.claim(policy, ClaimCriterion.OVERALL)["outcome"]
        return None if word is None else Outcome(word)

    def change(self, policy: str, window: Window) -> Row:
        """How a candidate's primary measure differs from the baseline's over a window, and how surely."""
        primary = self.objective.claims.primary
        return self._one(ROBUSTNESS.name, policy=policy, time_window=window, measure=primary)

    def changes(self, policy: str, window: Window) -> list[Row]:
        """How all of a candidate's measures differ from the baseline's over a window."""
        return self.table(ROBUSTNESS.name).filter(policy=policy, time_window=window.value).rows(named=True)

    def _one(self, asset: str, **key: str) -> Row:
        frame = self.table(asset)
        found = frame.filter(pl.col(name) == str(value) for name, value in key.items())
        if found.height != 1:
            raise self._error(
                f"{found.height} rows for {', '.join(key.values())}",
                f"exactly one with columns {', '.join(frame.columns[:4])}, ...",
            )
        return found.row(0, named=True)

    def _check_frames(self) -> None:
        for name, frame in self.tables.items():
            foreign = set(frame["trace_id"].unique()) - {self.trace_id}
            if foreign:
                raise self._error(f"{name} of {', '.join(sorted(foreign))}", f"rows of {self.trace_id} only")
        if INGEST_REPORT.name in self.tables and self.tables[INGEST_REPORT.name].height != 1:
            found = self.tables[INGEST_REPORT.name].height
            raise self._error(f"an ingest_report of {found} rows", "exactly one row")
        if self.generated_at.tzinfo is None:
            raise ValueError("generated_at has no time zone")

    def _check_policies(self) -> None:
        needed = set(self.policies.ids)
        known = (*self.tables, *(error.asset for error in self.errors))
        replayed = {name.removeprefix(REPLAY) for name in known if name.startswith(REPLAY)}
        self._same("replay schedules", replayed, needed)
        if INVARIANT_REPORT.name in self.tables:
            self._same("invariants", self.tables[INVARIANT_REPORT.name]["policy"], needed)
        if FIDELITY_VERDICTS.name in self.tables:
            for policy in self.policies.ids:
                self.likeness(policy)
        for candidate in self.candidates:
            if CLAIM_VERDICTS.name in self.tables:
                self.outcome(candidate.id)
            if ROBUSTNESS.name in self.tables:
                self.change(candidate.id, Window.STEADY)
        if REPLAY_MEASURES.name in self.tables:
            self._same("measures", self.tables[REPLAY_MEASURES.name]["policy"], needed | {OBSERVED})
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


def source_files(raw_trace: pl.DataFrame) -> tuple[SourceFile, ...]:
    """The files of the table raw_trace, in its order."""
    return tuple(SourceFile(*row) for row in raw_trace.select("source_file", "sha256").iter_rows())
