"""Months of a machine that is known to run a policy: what was observed is a replay of the project's own.

In:  configs/synthetic.yaml's model, a policy, a drain.   Out: `trace_jobs` with starts, schedules, verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from typing import Any

import polars as pl

from hpcopt_assets.contracts.config import FidelityConfig
from hpcopt_assets.contracts.order import JOB_KEY
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import FIDELITY_VERDICTS, POLICY_CLOSENESS, TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import CapacitySource
from hpcopt_assets.fidelity.closeness import rank_closeness
from hpcopt_assets.fidelity.judge import judge_fidelity
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets.simulate.windows import WindowReplayer
from hpcopt_assets.synthetic.workload import make_workload, trace_jobs_of
from hpcopt_assets_tests.schedules import MEASURES

CONFIGS = load_configs(CHECKOUT / "configs")
CONFIG: FidelityConfig = CONFIGS.fidelity
CAPACITY = Capacity(64)
POLICIES = ("fifo_strict", "easy_backfill", "sjf_backfill", "fairshare_backfill")
Drain = tuple[tuple[int, int], ...]


def at(date: str) -> int:
    return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp())


def drained(first: str, end: str) -> Drain:
    """No job may start from `first` to `end` (excluded)."""
    return (at(first), 0), (at(end), CAPACITY.procs)


@cache
def released() -> pl.DataFrame:
    """Some four months of jobs from 2024-01-15 on, without starts."""
    workload = make_workload(
        CONFIGS.synthetic.model,
        CONFIGS.synthetic.users,
        jobs=12_000,
        capacity_procs=CAPACITY.procs,
        offered_load=0.7,
        unix_start_s=at("2024-01-15"),
        seed=5,
    )
    return trace_jobs_of(workload, "made")


@cache
def schedule(policy: str, drain: Drain = ()) -> pl.DataFrame:
    """The replay of these jobs under a policy."""
    return replay(released(), CONFIGS.policy(policy), CAPACITY.procs, Scenario(capacity_steps=drain)).schedule


@cache
def observed(policy: str = "easy_backfill", drain: Drain = ()) -> pl.DataFrame:
    """The jobs with the starts of a replay, as a log would have recorded them."""
    starts = schedule(policy, drain).select(*JOB_KEY, "start_s", "end_s", "wait_s")
    jobs = released().drop("start_s", "end_s", "wait_s").join(starts, on=JOB_KEY, maintain_order="left")
    recorded = TRACE_JOBS.shape(jobs.with_columns(allocated_procs=pl.col("procs")))
    validate(TRACE_JOBS, recorded)
    return recorded


def windows(trace_jobs: pl.DataFrame, policies: Iterable[str], capacity: Capacity = CAPACITY):
    """Replays of quarters from their observed beginnings."""
    return WindowReplayer(trace_jobs, [CONFIGS.policy(name) for name in policies], capacity)


def judged(
    trace_jobs: pl.DataFrame, policies: Iterable[str] = ("easy_backfill",), **changes: Any
) -> pl.DataFrame:
    """The verdicts on undisturbed replays, within their contract."""
    options: dict[str, Any] = {
        "schedules": {policy: schedule(policy) for policy in policies},
        "capacity": CAPACITY,
        "capacity_source": CapacitySource.CONFIG,
        "timezone": None,
        "is_synthetic": False,
        "config": CONFIG,
    } | changes
    found = judge_fidelity(trace_id="made", trace_jobs=trace_jobs, measures=MEASURES, **options)
    validate(FIDELITY_VERDICTS, found)
    return found


def ranked(
    trace_jobs: pl.DataFrame, policies: Iterable[str] = POLICIES, **changes: Any
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The verdicts, and undisturbed replays by closeness, within their contracts."""
    schedules = changes.pop("schedules", None) or {policy: schedule(policy) for policy in policies}
    verdicts = judged(trace_jobs, schedules=schedules, **changes)
    found = rank_closeness(
        trace_id="made",
        trace_jobs=trace_jobs,
        schedules=schedules,
        verdicts=verdicts,
        timezone=changes.get("timezone"),
        config=CONFIG,
        window=changes.get("window"),
        seeded=changes.get("seeded"),
    )
    validate(POLICY_CLOSENESS, found)
    return verdicts, found


def overall(verdicts: pl.DataFrame, policy: str = "easy_backfill") -> dict[str, str]:
    """Period -> overall verdict."""
    rows = verdicts.filter(policy=policy, criterion="overall")
    return dict(rows.select("period", "verdict").iter_rows())


def reason(verdicts: pl.DataFrame, period: str = "whole", policy: str = "easy_backfill") -> str:
    return str(verdicts.filter(policy=policy, period=period, criterion="overall")["reason"].item())
