"""A trace whose users have habits, a config small enough for seconds, and a forecast of one by the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import yaml

from hpcopt_assets.contracts.forecast_config import ForecastConfig
from hpcopt_assets.features.jobs import job_features
from hpcopt_assets.forecast.estimates import runtime_estimates
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.forecast.models import fit_models
from hpcopt_assets.forecast.splits import Fold, feature_splits, made_folds
from hpcopt_assets_tests.builders import job, trace

TREES = {
    "leaves": 7,
    "jobs_per_leaf": 20,
    "feature_share": 0.5,
    "learning_rate": 0.1,
    "max_rounds": 40,
    "patience_rounds": 10,
}
CONFIG = ForecastConfig.model_validate(
    {
        "threads": 2,
        "splits": {
            "folds": 3,
            "stopping_ratio": 0.15,
            "first_score_ratio": 0.4,
            "calibrate_ratio": 0.1,
            "min_fit_jobs": 100,
            "min_calibrate_jobs": 30,
        },
        "model": {
            "seed": 7,
            "user_day_exponent": 0.5,
            "median": TREES,
            "tails": TREES,
        },
        "calibration": {"rate": 0.02},
        "scores": {
            "replicas": 200,
            "seed": 3,
            "confidence": 0.95,
            "min_days": 5,
            "procs_bands": [1, 4],
        },
        "importance": {"jobs": 100, "seed": 3},
    }
)
REQUESTS_S = (600, 3600, 14_400)


def habitual_jobs(count: int = 1000, users: int = 8, seed: int = 5) -> pl.DataFrame:
    """Jobs of users who each have a few kinds of job; a kind has its size, request and typical runtime.

    One kind in a user's three runs into its request; one job in fifty has no request.
    """
    random = np.random.default_rng(seed)
    submit_s, rows = 1_700_000_000, []
    typical = random.uniform(0.05, 0.8, size=(users, 3))
    for number in range(count):
        submit_s += int(random.exponential(1200))
        user, kind = int(random.integers(users)), int(random.integers(3))
        request = REQUESTS_S[kind]
        runtime = max(1, int(typical[user, kind] * request * random.lognormal(0, 0.4)))
        rows.append(
            job(
                number + 1,
                submit_s,
                (1, 2, 8)[(user + kind) % 3],
                min(runtime, request + 30),
                None if number % 50 == 17 else request,
                wait_s=int(random.exponential(300)),
                user=f"user{user}",
                queue="batch" if kind else "short",
            )
        )
    return trace(rows)


@dataclass(frozen=True)
class Made:
    """Everything between a trace and its scores."""

    trace_jobs: pl.DataFrame
    jobs: Jobs
    splits: pl.DataFrame
    folds: list[Fold]
    models: pl.DataFrame
    importance: pl.DataFrame
    estimates: pl.DataFrame


def jobs_of(trace_jobs: pl.DataFrame, timezone: str | None = None) -> Jobs:
    return Jobs.of(job_features(trace_jobs, timezone), trace_jobs, timezone)


def forecast(trace_jobs: pl.DataFrame, config: ForecastConfig = CONFIG) -> Made:
    """The chain as the assets run it."""
    jobs = jobs_of(trace_jobs)
    splits = feature_splits("made", jobs, config.splits)
    folds = made_folds(splits)
    models, importance = fit_models("made", jobs, folds, config)
    estimates = runtime_estimates(jobs, folds, models, config.calibration)
    return Made(trace_jobs, jobs, splits, folds, models, importance, estimates)


def to_swf(trace_jobs: pl.DataFrame, procs: int = 16) -> str:
    """The trace as Standard Workload Format, for those who read logs."""
    first = int(trace_jobs["submit_s"].min() or 0)
    users = {user: number for number, user in enumerate(sorted(set(trace_jobs["user"])), start=1)}
    lines = ["; Computer: hand-made", f"; MaxProcs: {procs}", f"; UnixStartTime: {first}"]
    for row in trace_jobs.iter_rows(named=True):
        request = -1 if row["requested_runtime_s"] is None else row["requested_runtime_s"]
        ran = f"{row['wait_s']} {row['runtime_s']} {row['procs']} -1 -1 {row['procs']} {request}"
        whose = f"-1 1 {users[row['user']]} 1 -1 1 1 -1 -1"
        lines.append(f"{row['job_id']} {row['submit_s'] - first} {ran} {whose}")
    return "\n".join(lines) + "\n"


def write_small_config(configs: Path) -> None:
    """configs/forecast.yaml of a project, small enough for seconds."""
    (configs / "forecast.yaml").write_text(yaml.safe_dump(CONFIG.model_dump(mode="json")), encoding="utf-8")
