"""What a bundle's tables come to when they are computed again, from those that each was made from.

In:  a bundle whose files are those of its manifest.   Out: a `Finding` for every table, and for the dossier.
Not here: how tables are compared (bundle/comparing.py). There is no store and no Dagster: assets/ joins the
same rooms in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from hpcopt_assets.bundle.comparing import Finding, State, compare
from hpcopt_assets.bundle.reading import check_config, read_lineage, read_table
from hpcopt_assets.contracts.bundle import DOSSIER, REPLAY, Manifest
from hpcopt_assets.contracts.config import (
    FidelityConfig,
    ObjectiveConfig,
    PoliciesConfig,
    Policy,
    ProfileConfig,
)
from hpcopt_assets.contracts.errors import HpcoptError, InputError
from hpcopt_assets.contracts.forecast_config import ForecastConfig
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING, RUNTIME_ESTIMATES
from hpcopt_assets.contracts.robustness_config import RobustnessConfig
from hpcopt_assets.contracts.robustness_tables import SHAKEN_MEASURES
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.stress_config import SensitivityConfig, StressConfig
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE, TABLES
from hpcopt_assets.contracts.vocabulary import CapacitySource, Unit
from hpcopt_assets.measures.stated import capacity_of, is_synthetic, sized_jobs

if TYPE_CHECKING:
    from hpcopt_assets.measures.capacity import Capacity
    from hpcopt_assets.simulate.windows import WindowReplayer

SHAKEN = SHAKEN_MEASURES.name
FIRST_FILE = f"{DOSSIER}/dossier.md"
NOT_COMPUTED = {
    **dict.fromkeys(
        ("raw_trace", "trace_jobs", "trace_rejects", "ingest_report"),
        "read from the log, which is not in the bundle",
    ),
    **dict.fromkeys(
        ("feature_splits", "runtime_model", "runtime_importance", RUNTIME_ESTIMATES.name, "forecast_scores"),
        "models are not fitted again, nor run; replays take their estimates as they stand here",
    ),
}


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
            shaken=self.table(SHAKEN),
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

        forecasting = any(one.is_forecasting for one in self.policies.policies)
        name = ESTIMATE_ACCOUNTING.name
        return judge_claims(
            trace_id=self.manifest.trace_id,
            schedules=self.schedules,
            policies=self.policies,
            capacity=self.capacity,
            tables=Evidence(
                self.table("fidelity_verdicts"),
                self.table("robustness"),
                self.table(name) if forecasting else ESTIMATE_ACCOUNTING.empty(),
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
            procs_bands=cast("ForecastConfig", self.config("forecast")).scores.procs_bands,
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
        from hpcopt_assets.claims.sensitivity import Replays, judge_sensitivity
        from hpcopt_assets.orchestration.cores import cores
        from hpcopt_assets.simulate.world import World

        candidates, jobs = self.policies.candidates, self.jobs
        estimates = self.estimates(*candidates)

        def world(capacity: Capacity, widest: int | None) -> Replays:
            fitting = jobs if widest is None else jobs.remove(pl.col("procs") > widest)
            return World(fitting, capacity, estimates).schedule

        with ThreadPoolExecutor(cores("all")) as pool:
            return judge_sensitivity(
                trace_id=self.manifest.trace_id,
                worlds=world,
                policies=candidates,
                capacity=self.capacity,
                accounting=ESTIMATE_ACCOUNTING.empty()
                if estimates is None
                else self.table(ESTIMATE_ACCOUNTING.name),
                objective=self.objective,
                settings=cast("SensitivityConfig", self.config("sensitivity")).settings,
                executor=pool,
            )

    def job_features(self) -> pl.DataFrame:
        from hpcopt_assets.features.jobs import job_features

        return job_features(self.jobs, self.report["timezone"].item())

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


def recompute(folder: Path, manifest: Manifest, replicas: int | None) -> Iterator[Finding]:
    """A finding for every table, those that were expected and are not there too, then lineage and dossier.

    Each table is computed from the bundle's own tables, so that one that differs does not take others with
    it. `replicas`: how many shaken replicas are replayed; None for all, and for what else takes long.
    """
    work = Recomputation(folder, manifest)
    for asset in dict.fromkeys([table.asset for table in manifest.tables]):
        yield _guarded(asset, partial(_table, work, asset, replicas))
    yield _guarded("what there must be", partial(_complete, work))
    yield _guarded("lineage.json", partial(_lineage, work))
    yield _guarded(DOSSIER, partial(_dossier, work))


def _guarded(what: str, check: Callable[[], Finding]) -> Finding:
    """What cannot be read or computed is a finding about that one thing: a bundle may hold anything."""
    try:
        return check()
    except Exception as error:
        said = str(error) if isinstance(error, HpcoptError) else f"{type(error).__name__}: {error}"
        return Finding(what, State.DIFFERS, f"cannot be computed again: {' '.join(said.split())}")


def _table(work: Recomputation, asset: str, replicas: int | None) -> Finding:
    stated = work.manifest.table_of(asset)
    if stated is None or stated.table not in TABLES:
        # A table that a later version added; its bytes are those of the manifest.
        return Finding(asset, State.NOT_CHECKED, "this version of hpcopt knows no such table")
    contract, given = TABLES[stated.table], work.table(asset)
    if asset.startswith(f"{REPLAY}/"):
        policy = work.policies.get(asset.removeprefix(f"{REPLAY}/"))
        if policy is None:
            return Finding(asset, State.DIFFERS, "configs/policies.yaml of the bundle has no such policy")
        starts = int(given["start_s"].is_not_null().sum())
        return compare(asset, contract, given, work.replayed(policy), plural(starts, "start"))
    if asset == SHAKEN:
        return _shaken(work, given, replicas)
    if asset in LONG_RECIPES and replicas is not None:
        return Finding(asset, State.NOT_CHECKED, "dozens of replays under every policy, made with --full")
    if asset in LONG_RECIPES:
        return compare(asset, contract, given, LONG_RECIPES[asset](work))
    if asset in RECIPES:
        return compare(asset, contract, given, RECIPES[asset](work))
    return Finding(
        asset, State.NOT_CHECKED, NOT_COMPUTED.get(asset, "this version of hpcopt does not compute it again")
    )


def _shaken(work: Recomputation, given: pl.DataFrame, replicas: int | None) -> Finding:
    """Some replicas, spread over all; the rows of the others are only hashed and used."""
    from hpcopt_assets.simulate.replicas import replicas_count

    count = replicas_count(work.robust.shaking, is_synthetic=is_synthetic(work.report))
    asked = count if replicas is None else min(replicas, count)
    only = np.linspace(0, count - 1, asked, dtype=np.int64).tolist()
    numbers = f"all {count:,} replicas"
    if asked < count:
        numbers = f"replicas {', '.join(map(str, only))} of {count:,}, counted from 0"
    shown = given.filter(pl.col("replica").is_in(only))
    return compare(SHAKEN, SHAKEN_MEASURES, shown, work.shaken_measures(only), numbers)


def _complete(work: Recomputation) -> Finding:
    """Tables and replays that a bundle must have, for without them nothing else would miss them."""
    needed = [f"{REPLAY}/{policy_id}" for policy_id in work.policies.ids]
    needed += [name for name in (*RECIPES, *LONG_RECIPES, SHAKEN, *NOT_COMPUTED) if name not in needed]
    missing = [asset for asset in needed if work.manifest.table_of(asset) is None]
    if missing or work.manifest.policies != work.policies.ids:
        what = f"no table of {', '.join(missing)}" if missing else "other policies than configs/policies.yaml"
        return Finding("what there must be", State.DIFFERS, f"the manifest has {what}")
    return Finding(
        "what there must be", State.AGREES, f"{plural(len(needed), 'table')}, each in the manifest"
    )


def _lineage(work: Recomputation) -> Finding:
    """Whether manifest, raw trace and records agree on what was made from what."""
    records = read_lineage(work.folder)
    known = {record.record_id: record for record in records}
    latest = {record.asset: record for record in records}  # they ascend
    trouble = [
        f"{table.asset} has data version {table.data_version[:12]}, its record says otherwise"
        for table in work.manifest.tables
        if table.asset not in latest or latest[table.asset].data_version != table.data_version
    ]
    for record in records:
        for source in record.inputs:
            made = known.get(source.record_id or -1)
            if made is None or made.data_version != source.data_version or made.asset != source.asset:
                trouble.append(f"{record.asset} was made from a {source.asset} that has no record")
    raw = work.table("raw_trace").select("sha256", "size_bytes").rows()
    if raw != [(file.sha256, file.size_bytes) for file in work.manifest.source_files]:
        trouble.append("raw_trace and the manifest state other hashes of the raw files")
    if work.report["sha256"].item() != work.manifest.source_sha256:
        trouble.append("ingest_report and the manifest state other hashes of the raw trace")
    if trouble:
        return Finding("lineage.json", State.DIFFERS, f"{plural(len(trouble), 'fault')}; first: {trouble[0]}")
    return Finding(
        "lineage.json",
        State.AGREES,
        f"{plural(len(records), 'record')}, each with its inputs; every table is the latest",
    )


def _dossier(work: Recomputation) -> Finding:
    """The text again, word for word; pictures and page only where the same matplotlib draws them."""
    from hpcopt_assets.cli.rendering import render

    tables = {table.asset: work.table(table.asset) for table in work.manifest.tables if table.table in TABLES}
    decisions = work.policies, work.objective, work.fidelity
    made = render(
        work.manifest.trace_id, tables, decisions, read_lineage(work.folder), work.manifest.environment
    )
    files = {FIRST_FILE: made.markdown}
    draws_alike = version("matplotlib") == work.manifest.environment.get("matplotlib")
    if draws_alike:
        files[f"{DOSSIER}/dossier.html"] = made.html
        files |= {f"{DOSSIER}/figures/{name}": svg for name, svg in made.figures.items()}
    for path, text in files.items():
        file = work.folder / path
        if not file.is_file() or file.read_bytes() != text.encode():
            return Finding(DOSSIER, State.DIFFERS, f"{path} is not what the tables of the bundle make of it")
    rest = "" if draws_alike else "; page and figures not checked, for another matplotlib drew them"
    return Finding(DOSSIER, State.AGREES, f"{plural(len(files), 'file')}, byte for byte{rest}")
