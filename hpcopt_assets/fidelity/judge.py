"""The table fidelity_verdicts: every policy's replay held against the observed schedule.

In:  trace_jobs, replay_schedule by policy.   Out: fidelity_verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from hpcopt_assets.contracts.config import FidelityConfig, MeasuresConfig
from hpcopt_assets.contracts.tables import FIDELITY_VERDICTS
from hpcopt_assets.contracts.vocabulary import CapacitySource, FidelityCriterion
from hpcopt_assets.fidelity.capacity import judge_capacity
from hpcopt_assets.fidelity.criteria import judge_criteria
from hpcopt_assets.fidelity.overall import judge_overall
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule


def judge_fidelity(
    *,
    trace_id: str,
    trace_jobs: pl.DataFrame,
    schedules: Mapping[str, pl.DataFrame],
    capacity: Capacity,
    capacity_source: CapacitySource,
    is_synthetic: bool,
    config: FidelityConfig,
    measures: MeasuresConfig,
) -> pl.DataFrame:
    """One row per criterion, `overall` last, for each policy of `schedules` in its order.

    Compared are the jobs that ran both in the record and in the replay; the rows say how many those are.
    """
    possible = judge_capacity(trace_jobs, capacity, capacity_source)
    rows = []
    for policy, frame in schedules.items():
        observed, replayed = Schedule.paired(trace_jobs, frame)
        criteria = judge_criteria(observed, replayed, capacity=capacity, config=config, measures=measures)
        overall = judge_overall(
            criteria, possible, observed, replayed, config=config, is_synthetic=is_synthetic
        )
        judged = criteria | {
            FidelityCriterion.OBSERVED_WITHIN_CAPACITY: possible,
            FidelityCriterion.OVERALL: overall,
        }
        rows += [
            {"trace_id": trace_id, "policy": policy, "criterion": criterion.value, **judgement.columns()}
            for criterion, judgement in judged.items()
        ]
    return FIDELITY_VERDICTS.shape(pl.DataFrame(rows, schema=FIDELITY_VERDICTS.polars_schema()))
