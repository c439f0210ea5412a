"""Which policy does this site seem to run? Policies ranked by how close their waits are to the record's.

In:  trace_jobs, replay_schedule by policy, fidelity_verdicts; replays of windows (a Protocol) where quarters
     begin seeded.
Out: policy_closeness.
Not here: whether the closest is like the record (judge.py). How the distance was chosen: docs/verdicts.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from hpcopt_assets.contracts.config import FidelityConfig
from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.order import JOB_KEY
from hpcopt_assets.contracts.protocols import SeededReplays
from hpcopt_assets.contracts.sentences import in_figures, plural
from hpcopt_assets.contracts.tables import POLICY_CLOSENESS
from hpcopt_assets.contracts.vocabulary import WHOLE, FidelityCriterion, Verdict
from hpcopt_assets.fidelity.compared import NOTHING_TO_COMPARE
from hpcopt_assets.fidelity.periods import periods_of, released_in, unseeded
from hpcopt_assets.measures.distances import mean_log_ratio
from hpcopt_assets.measures.schedule import has_run
from hpcopt_assets.measures.window import Span

RECORD = "wait in the record"
# A column beside those of policies, whose ids have no spaces.


def rank_closeness(
    *,
    trace_id: str,
    trace_jobs: pl.DataFrame,
    schedules: Mapping[str, pl.DataFrame],
    verdicts: pl.DataFrame,
    timezone: str | None,
    config: FidelityConfig,
    window: Span | None = None,
    seeded: SeededReplays | None = None,
) -> pl.DataFrame:
    """One row per period and policy of `schedules`, the closest first; policies as close share a rank.

    Periods are those of `judge_fidelity`, whose table `verdicts` is. Compared are the jobs that ran in the
    record and in every replay. There is no rank with fewer than `min_jobs` of them.
    """
    jobs, quarters = periods_of(trace_jobs, timezone, window)
    whole = _waits(jobs, schedules)
    rows = _ranked(WHOLE, whole, config)
    for name, span in quarters:
        lacking = NOTHING_TO_COMPARE
        waits = whole.filter(released_in(span))
        if seeded is not None:
            try:
                replayed = seeded(*span)
            except EvidenceError as error:
                waits, lacking = waits.clear(), unseeded(error)
            else:
                of_all = {policy: replayed[policy] for policy in schedules}
                waits = _waits(jobs.filter(released_in(span)), of_all)
        rows += _ranked(name, waits, config, lacking)
    overall = verdicts.filter(criterion=FidelityCriterion.OVERALL.value)
    verdict_of = {(row["period"], row["policy"]): row["verdict"] for row in overall.rows(named=True)}
    for row in rows:
        row["trace_id"] = trace_id
        row["fidelity"] = verdict_of[row["period"], row["policy"]]
        row["reason"] += _beside(row)
    return POLICY_CLOSENESS.shape(pl.DataFrame(rows, schema=POLICY_CLOSENESS.polars_schema()))


def _waits(jobs: pl.DataFrame, schedules: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """`release_s`, waits (s) in the record and under each policy, of the jobs that ran in all of them."""
    wait = pl.col("start_s") - pl.col("release_s")
    waits = jobs.filter(has_run()).select(*JOB_KEY, "release_s", wait.alias(RECORD))
    for policy, frame in schedules.items():
        replayed = frame.filter(has_run()).select(*JOB_KEY, wait.alias(policy))
        waits = waits.join(replayed, on=JOB_KEY, how="inner", maintain_order="left", validate="1:1")
    return waits.drop(JOB_KEY)


def _ranked(
    period: str, waits: pl.DataFrame, config: FidelityConfig, lacking: str = NOTHING_TO_COMPARE
) -> list[dict[str, Any]]:
    """Rows of one period: by rank, and in the order of the policies where that is shared or unknown."""
    policies = [name for name in waits.columns if name not in ("release_s", RECORD)]
    about = {"period": period, "jobs_count": waits.height}
    if waits.height < config.min_jobs:
        few = f"{plural(waits.height, 'job')}, {config.min_jobs} needed" if waits.height else lacking
        return [
            about | {"policy": policy, "rank": None, "distance": None, "reason": f"not ranked: {few}"}
            for policy in policies
        ]
    observed = waits[RECORD].to_numpy()
    distance = np.array(
        [mean_log_ratio(waits[policy].to_numpy(), observed, config.closeness_floor_s) for policy in policies]
    )
    rank = 1 + (distance[:, None] > distance).sum(axis=1)
    return [
        about
        | {
            "policy": policies[at],
            "rank": int(rank[at]),
            "distance": float(distance[at]),
            "reason": f"{'the closest' if rank[at] == 1 else f'number {rank[at]}'} of "
            f"{plural(len(policies), 'policy', 'policies')}: waits differ by a factor of "
            f"{in_figures(float(np.exp(distance[at])))}",
        }
        for at in np.argsort(rank, kind="stable")
    ]


def _beside(row: Mapping[str, Any]) -> str:
    """What a rank does not say: whether the replay is like the record."""
    if row["rank"] is None:
        return ""
    return {
        Verdict.PASS: "; its replay is like the record (fidelity PASS)",
        Verdict.FAIL: "; its replay is not like the record (fidelity FAIL)",
        Verdict.NOT_ASSESSED: "; its replay is not shown to be like the record (fidelity NOT_ASSESSED)",
    }[Verdict(row["fidelity"])]
