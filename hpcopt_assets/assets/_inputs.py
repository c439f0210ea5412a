"""What several assets read from their inputs, said once.

In:  configs and upstream tables.   Out: inputs by policy, and facts of the one-row ingest report.
"""

from collections.abc import Mapping

import dagster as dg
import polars as pl

from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.errors import ConfigError
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING, RUNTIME_ESTIMATES
from hpcopt_assets.contracts.vocabulary import Unit
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.units import in_unit
from hpcopt_assets.orchestration.configs import Configs

REPLAY = "replay"
ESTIMATES = RUNTIME_ESTIMATES.name
ACCOUNTING = ESTIMATE_ACCOUNTING.name
OF_POLICY = "schedule_of_"
# Before a policy's id, so that no policy can take the name of another input.


def replay_key(policy_id: str) -> dg.AssetKey:
    """Asset key of a policy's replay."""
    return dg.AssetKey([REPLAY, policy_id])


def replay_inputs(configs: Configs) -> dict[str, dg.AssetIn]:
    """Every policy's replay as an input."""
    return {
        f"{OF_POLICY}{policy_id}": dg.AssetIn(replay_key(policy_id)) for policy_id in configs.policies.ids
    }


def estimates_input(*policies: Policy) -> dict[str, dg.AssetIn]:
    """The forecasts as an input where one of the policies believes them; else the graph need not wait."""
    return {ESTIMATES: dg.AssetIn(ESTIMATES)} if any(policy.is_forecasting for policy in policies) else {}


def accounting_input(*policies: Policy) -> dict[str, dg.AssetIn]:
    """The account of forecasts as an input, where one of the policies believes them."""
    return {ACCOUNTING: dg.AssetIn(ACCOUNTING)} if any(policy.is_forecasting for policy in policies) else {}


def by_policy(configs: Configs, schedules: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Policy id -> schedule in the order of configs/policies.yaml; Dagster hands them over by input name."""
    return {policy_id: schedules[f"{OF_POLICY}{policy_id}"] for policy_id in configs.policies.ids}


def capacity_of(ingest_report: pl.DataFrame) -> Capacity:
    """The trace's machine, with its dated steps; ConfigError where nothing tells its size."""
    capacity = ingest_report["capacity_procs"].item()
    if capacity is None:
        trace_id = ingest_report["trace_id"].item()
        raise ConfigError(
            found="neither MaxProcs in the header nor a recorded start",
            needed="the number of processors",
            where=f"trace {trace_id}",
            next_step=f"State capacity_procs for {trace_id} in configs/traces.yaml (reload a running UI).",
        )
    names = ("capacity_step_at_s", "capacity_step_procs")
    steps = ingest_report.select(names).explode(names).drop_nulls()
    return Capacity(int(capacity), tuple(steps.iter_rows()))


def sized_jobs(trace_jobs: pl.DataFrame, ingest_report: pl.DataFrame) -> pl.DataFrame:
    """The jobs with their sizes in the unit of the machine's capacity."""
    return in_unit(trace_jobs, Unit(ingest_report["capacity_unit"].item()))


def is_synthetic(ingest_report: pl.DataFrame) -> bool:
    """Whether no machine stood behind the trace."""
    return bool(ingest_report["is_synthetic"].item())
