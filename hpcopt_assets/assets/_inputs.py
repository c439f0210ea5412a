"""What several assets read from their inputs, said once.

In:  configs and upstream tables.   Out: inputs by policy; what an ingest report states (measures/stated.py).
"""

from collections.abc import Mapping

import dagster as dg
import polars as pl

from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING, RUNTIME_ESTIMATES
from hpcopt_assets.measures.stated import capacity_of as capacity_of
from hpcopt_assets.measures.stated import is_synthetic as is_synthetic
from hpcopt_assets.measures.stated import sized_jobs as sized_jobs
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
