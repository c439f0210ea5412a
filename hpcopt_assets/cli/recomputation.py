"""A bundle's tables computed again, each from those that it was made from: one function a table.

In:  a bundle whose files are those of its manifest.   Out: `Recomputation`, `RECIPES`, `LONG_RECIPES`.
Not here: whether they agree with those of the bundle (recompute.py). There is no store and no Dagster:
assets/ joins the same rooms in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from hpcopt_assets.bundle.reading import check_config, read_table
from hpcopt_assets.contracts.bundle import REPLAY, Manifest
from hpcopt_assets.contracts.config import (
    FidelityConfig,
    ObjectiveConfig,
    PoliciesConfig,
    Policy,
    ProfileConfig,
)
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.forecast_config import ForecastConfig
from hpcopt_assets.contracts.forecast_tables import (
    ESTIMATE_ACCOUNTING,
    FEATURE_SPLITS,
    RUNTIME_ESTIMATES,
)
from hpcopt_assets.contracts.robustness_config import RobustnessConfig
from hpcopt_assets.contracts.robustness_tables import SHAKEN_MEASURES
from hpcopt_assets.contracts.stress_config import SensitivityConfig, StressConfig
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE
from hpcopt_assets.contracts.vocabulary import CapacitySource, Unit
from hpcopt_assets.measures.stated import capacity_of, is_synthetic, sized_jobs

if TYPE_CHECKING:
    from hpcopt_assets.forecast.jobs import Jobs
    from hpcopt_assets.measures.capacity import Capacity
    from hpcopt_assets.simulate.windows import WindowReplayer


class Recomputation:
    """A bundle's tables and decisions, read once each, and everything computed again from them."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self._tables: dict[str, pl.DataFrame] = {}

    def table(self, asset: str) -> pl.DataFrame:
        """The table of an asset; InputError where the bundle has none, or none within its contract."""
        if asset not in self._tables:
            stated = self.manifest.table_of(asset)
            if stated is None:
                raise InputError(
                    f"no table of {asset}", "one", "manifest.json", "Ask for a bundle that has it."
                )
            contract = REPLAY_SCHEDULE.name if asset.startswith(f"{REPLAY}/") else asset
            if stated.table != contract:
                raise InputError(
                    f"a table {stated.table} of {asset}", contract, "manifest.json", "Ask for another bundle."
                )
            self._tables[asset] = read_table(self.folder, self.manifest, stated)
        return self._tables[asset]

    def config(self, name: str) -> Any:
        """The model of configs/<name>.yaml; an error where the bundle has none that is valid."""
        from hpcopt_assets.orchestration.configs import load_config

        return load_config(check_config(self.folder, name), name)

    @cached_property
    def policies(self) -> PoliciesConfig:
        return cast("PoliciesConfig", self.config("policies"))

    @cached_property
    def objective(self) -> ObjectiveConfig:
        return cast("ObjectiveConfig", self.config("objective"))

    @cached_property
    def fidelity(self) -> FidelityConfig:
        return cast("FidelityConfig", self.config("fidelity"))

    @cached_property
    def robust(self) -> RobustnessConfig:
        return cast("RobustnessConfig", self.config("robustness"))

    @cached_property
    def forecast(self) -> ForecastConfig:
        return cast("ForecastConfig", self.config("forecast"))

    @cached_property
    def report(self) -> pl.DataFrame:
        return self.table("ingest_report")

    @cached_property
    def jobs(self) -> pl.DataFrame:
        return sized_jobs(self.table("trace_jobs"), self.report)

    @cached_property
    def capacity(self) -> Capacity:
        return capacity_of(self.report)

    @property
    def schedules(self) -> dict[str, pl.DataFrame]:
        return {policy_id: self.table(f"{REPLAY}/{policy_id}") for policy_id in self.policies.ids}

    def estimates(self, *policies: Policy) -> pl.DataFrame | None:
        """The forecasts, where one of the policies believes them."""
        return self.table(RUNTIME_ESTIMATES.name) if any(one.is_forecasting for one in policies) else None

    def accounting(self, *policies: Policy) -> pl.DataFrame:
        """What forecasts rested on; nothing where none of the policies believes them."""
        forecasting = any(one.is_forecasting for one in policies)
        return self.table(ESTIMATE_ACCOUNTING.name) if forecasting else ESTIMATE_ACCOUNTING.empty()

    # --- one function a table, named in RECIPES ---

    def replayed(self, policy: Policy) -> pl.DataFrame:
        from hpcopt_assets.simulate.engine import replay
        from hpcopt_assets.simulate.scenario import Scenario

        scenario = Scenario(capacity_steps=self.capacity.steps)
        return replay(
            self.jobs, policy, self.capacity.procs, scenario, estimates=self.estimates(policy)
        ).schedule

    def invariant_report(self) -> pl.DataFrame:
        from hpcopt_assets.simulate.invariants import check_schedule

        schedules = self.schedules
        return pl.concat(
            check_schedule(self.jobs, schedules[one.id], one, self.capacity, self.estimates(one))
            for one in self.policies.policies
        )

    def replay_measures(self) -> pl.DataFrame:
        from hpcopt_assets.measures.table import measure_all

        return measure_all(
            trace_id=self.manifest.trace_id,
            trace_jobs=self.jobs,
            schedules=self.schedules,
            capacity=self.capacity,
            config=self.objective.measures,
        )

    def estimate_accounting(self) -> pl.DataFrame:
        from hpcopt_assets.simulate.accounting import account_estimates

        forecasting = [one for one in self.policies.policies if one.is_forecasting]
        schedules = self.schedules
        return account_estimates(
            self.jobs,
            {one: schedules[one.id] for one in forecasting},
            self.table(RUNTIME_ESTIMATES.name),
            self.capacity,
            self.objective.measures,
        )

    def shaken_measures(self, only: list[int]) -> pl.DataFrame:
        from hpcopt_assets.orchestration.cores import cores
        from hpcopt_assets.simulate.replicas import shaken_measures
        from hpcopt_assets.simulate.shaken import ShakenReplayer

        candidates = self.policies.candidates
        replays = ShakenReplayer(
            self.jobs, candidates, self.capacity, self.objective.measures, self.estimates(*candidates)
        )
        with ThreadPoolExecutor(cores("all")) as pool:
            return shaken_measures(
                trace_id=self.manifest.trace_id,
                replays=replays,
                policies=candidates,
                config=self.robust.shaking,
                is_synthetic=is_synthetic(self.report),
                executor=pool,
                only=only,
            )

    def robustness(self) -> pl.DataFrame:
        from hpcopt_assets.claims.robustness import robustness

        schedules = self.schedules
        return robustness(
            trace_id=self.manifest.trace_id,
            shaken=self.table(SHAKEN_MEASURES.name),
            schedules={one.id: schedules[one.id] for one in self.policies.candidates},
            capacity=self.capacity,
            objective=self.objective,
            config=self.robust.intervals,
        )

    def fidelity_verdicts(self) -> pl.DataFrame:
        from hpcopt_assets.fidelity.judge import judge_fidelity

        return judge_fidelity(
            trace_id=self.manifest.trace_id,
            trace_jobs=self.jobs,
            schedules=self.schedules,
            capacity=self.capacity,
            capacity_source=CapacitySource(self.report["capacity_source"].item()),
            timezone=self.report["timezone"].item(),
            config=self.fidelity,
            measures=self.objective.measures,
            is_synthetic=is_synthetic(self.report),
            seeded=self._quarters(),
        )

    def policy_closeness(self) -> pl.DataFrame:
        from hpcopt_assets.fidelity.closeness import rank_closeness

        schedules = self.schedules
        return rank_closeness(
            trace_id=self.manifest.trace_id,
            trace_jobs=self.jobs,
            schedules={one.id: schedules[one.id] for one in self.policies.candidates},
            verdicts=self.table("fidelity_verdicts"),
            timezone=self.report["timezone"].item(),
            config=self.fidelity,
            seeded=self._quarters(),
        )

    def _quarters(self) -> WindowReplayer | None:
        """What replays quarters on their own, where the config asks for it."""
        from hpcopt_assets.simulate.windows import WindowReplayer

        if not self.fidelity.quarters.seeded_start:
            return None
        policies = self.policies.policies
        return WindowReplayer(self.jobs, policies, self.capacity, self.estimates(*policies))

    def claim_verdicts(self) -> pl.DataFrame:
        from hpcopt_assets.claims.judge import Evidence, judge_claims

        return judge_claims(
            trace_id=self.manifest.trace_id,
            schedules=self.schedules,
            policies=self.policies,
            capacity=self.capacity,
            tables=Evidence(
                self.table("fidelity_verdicts"),
                self.table("robustness"),
                self.accounting(*self.policies.policies),
            ),
            objective=self.objective,
            is_synthetic=is_synthetic(self.report),
        )

    def recommendation(self) -> pl.DataFrame:
        from hpcopt_assets.claims.recommendation import recommend

        return recommend(
            trace_id=self.manifest.trace_id,
            policies=self.policies.candidates,
            claims=self.table("claim_verdicts"),
            measured=self.table("replay_measures"),
            schedules=self.schedules,
            capacity=self.capacity,
            objective=self.objective,
            procs_bands=self.forecast.scores.procs_bands,
            is_synthetic=is_synthetic(self.report),
        )

    def stress_replays(self) -> pl.DataFrame:
        from hpcopt_assets.claims.stress import StressJudge
        from hpcopt_assets.orchestration.cores import cores
        from hpcopt_assets.simulate.world import World
        from hpcopt_assets.stress.cases import Stressed, cases

        candidates = self.policies.candidates
        config = cast("StressConfig", self.config("stress"))
        as_it_is = Stressed(self.jobs, self.capacity, self.estimates(*candidates))
        with ThreadPoolExecutor(cores("all")) as pool:
            judge: StressJudge[Stressed] = StressJudge(
                candidates,
                self.objective,
                lambda found: World(found.jobs, found.capacity, found.estimates).checked,
                pool,
            )
            made = cases(as_it_is.jobs, as_it_is.capacity, as_it_is.estimates, config.scenarios)
            return judge.table(self.manifest.trace_id, as_it_is, made)

    def sensitivity(self) -> pl.DataFrame:
        from hpcopt_assets.claims.sensitivity import judge_sensitivity
        from hpcopt_assets.orchestration.cores import cores
        from hpcopt_assets.simulate.world import worlds

        candidates = self.policies.candidates
        with ThreadPoolExecutor(cores("all")) as pool:
            return judge_sensitivity(
                trace_id=self.manifest.trace_id,
                worlds=worlds(self.jobs, self.estimates(*candidates)),
                policies=candidates,
                capacity=self.capacity,
                accounting=self.accounting(*candidates),
                objective=self.objective,
                settings=cast("SensitivityConfig", self.config("sensitivity")).settings,
                executor=pool,
            )

    def job_features(self) -> pl.DataFrame:
        from hpcopt_assets.features.jobs import job_features

        return job_features(self.jobs, self.report["timezone"].item())

    def feature_splits(self) -> pl.DataFrame:
        from hpcopt_assets.forecast.splits import feature_splits

        return feature_splits(self.manifest.trace_id, self._featured(), self.forecast.splits)

    def forecast_scores(self) -> pl.DataFrame:
        from hpcopt_assets.forecast.scores import forecast_scores
        from hpcopt_assets.forecast.splits import made_folds

        folds = made_folds(self.table(FEATURE_SPLITS.name))
        estimates = self.table(RUNTIME_ESTIMATES.name)
        return forecast_scores(
            self.manifest.trace_id, self._featured(), folds, estimates, self.forecast.scores
        )

    def _featured(self) -> Jobs:
        """The jobs as forecasts see them."""
        from hpcopt_assets.forecast.jobs import Jobs

        return Jobs.of(self.table("job_features"), self.table("trace_jobs"), self.report["timezone"].item())

    def trace_profile(self) -> pl.DataFrame:
        from hpcopt_assets.profile.trace import profile_trace

        return profile_trace(
            self.jobs,
            trace_id=self.manifest.trace_id,
            capacity=None if self.report["capacity_procs"].item() is None else self.capacity,
            timezone=self.report["timezone"].item(),
            config=cast("ProfileConfig", self.config("profile")),
            unit=Unit(self.report["capacity_unit"].item()),
        )


Recipe = Callable[[Recomputation], pl.DataFrame]
RECIPES: Mapping[str, Recipe] = {
    "trace_profile": Recomputation.trace_profile,
    "job_features": Recomputation.job_features,
    "feature_splits": Recomputation.feature_splits,
    "forecast_scores": Recomputation.forecast_scores,
    "invariant_report": Recomputation.invariant_report,
    "replay_measures": Recomputation.replay_measures,
    "estimate_accounting": Recomputation.estimate_accounting,
    "robustness": Recomputation.robustness,
    "fidelity_verdicts": Recomputation.fidelity_verdicts,
    "policy_closeness": Recomputation.policy_closeness,
    "claim_verdicts": Recomputation.claim_verdicts,
    "recommendation": Recomputation.recommendation,
}

LONG_RECIPES: Mapping[str, Recipe] = {
    "stress_replays": Recomputation.stress_replays,
    "sensitivity": Recomputation.sensitivity,
}
# They replay the trace dozens of times under every policy.
