"""The code location: every asset, check, job, sensor and schedule, put together once.

In:  the project's folders and configs.   Out: `defs`.
Not here: anything an asset does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import dagster as dg

from hpcopt_assets.assets.checks import contract_checks, invariant_check, reject_check, vector_check
from hpcopt_assets.assets.claims import claims_assets
from hpcopt_assets.assets.dossier import credibility_assets, dossier_assets
from hpcopt_assets.assets.features import features_assets
from hpcopt_assets.assets.fidelity import fidelity_assets
from hpcopt_assets.assets.forecast import forecast_assets
from hpcopt_assets.assets.ingest import ingest_assets
from hpcopt_assets.assets.placement import placement_assets
from hpcopt_assets.assets.profile import profile_assets
from hpcopt_assets.assets.simulate import simulate_assets
from hpcopt_assets.assets.stress import stress_assets
from hpcopt_assets.assets.warehouse import warehouse_assets
from hpcopt_assets.contracts.errors import ConfigError
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.io import StoreIOManager
from hpcopt_assets.orchestration.jobs import placement_job, publish_job, trace_job
from hpcopt_assets.orchestration.progress import progress_logger
from hpcopt_assets.orchestration.project import find_project
from hpcopt_assets.orchestration.provenance import fingerprint
from hpcopt_assets.orchestration.schedules import nightly_repair
from hpcopt_assets.orchestration.sensors import arrivals, publish_when_settled

EXECUTOR_VARIABLE = "HPCOPT_EXECUTOR"
EXECUTORS = {"in_process": dg.in_process_executor, "multiprocess": dg.multiprocess_executor}


def _executor() -> dg.ExecutorDefinition:
    # One process by default: the steps are light, and a process each costs more than they do.
    named = os.environ.get(EXECUTOR_VARIABLE, "in_process")
    if named not in EXECUTORS:
        raise ConfigError(
            found=f"{EXECUTOR_VARIABLE}={named}",
            needed=f"one of {', '.join(EXECUTORS)}",
            where="the environment",
            next_step=f"Unset {EXECUTOR_VARIABLE} or set it to one of these.",
        )
    return EXECUTORS[named]


def build_definitions(resources: Mapping[str, Any] | None = None) -> dg.Definitions:
    """Everything Dagster needs to know. `resources` replace those of the same name (tests use this)."""
    project = find_project()
    configs = load_configs(project.configs)
    per_trace = [
        *ingest_assets(configs),
        *profile_assets(configs),
        *features_assets(),
        *forecast_assets(configs),
        *simulate_assets(configs),
        *fidelity_assets(configs),
        *claims_assets(configs),
        *stress_assets(configs),
        *dossier_assets(configs),
    ]
    once = placement_assets(configs, project)
    return dg.Definitions(
        assets=[
            *per_trace,
            *once,
            *warehouse_assets([*per_trace, *once]),
            *credibility_assets(configs),
        ],
        asset_checks=[
            *contract_checks([*per_trace, *once]),
            invariant_check(),
            reject_check(configs.ingest),
            vector_check(configs.placement.cluster),
        ],
        jobs=[trace_job, placement_job, publish_job],
        sensors=[arrivals, publish_when_settled],
        schedules=[nightly_repair],
        executor=_executor(),
        loggers={"progress": progress_logger},
        resources={
            "io_manager": StoreIOManager(store=str(project.store)),
            "project": project,
            "registry": configs.traces,
            "loaded": fingerprint(project.configs),
            **(resources or {}),
        },
    )


@dg.definitions
def defs() -> dg.Definitions:
    """What Dagster loads; nothing is read before it asks."""
    return build_definitions()
