"""The criteria of likeness, one function for each kind.

In:  the same jobs as observed and as replayed.   Out: one judgement per criterion.
Not here: whether the record itself is possible (capacity.py), and what the criteria amount to (overall.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hpcopt_assets.contracts.config import UNIT_OF, Divergence, FidelityConfig, MeasuresConfig
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.verdicts import Judgement, judge
from hpcopt_assets.contracts.vocabulary import FidelityCriterion, Window
from hpcopt_assets.fidelity.compared import Compared
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.distances import ks_distance, pearson, relative_divergence, wait_divergence
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.slowdown import bounded_slowdown
from hpcopt_assets.measures.summary import Measures, measure

MEASURE_OF: dict[FidelityCriterion, tuple[str, str]] = {
    FidelityCriterion.MEAN_WAIT: ("mean_wait_s", "mean wait"),
    FidelityCriterion.P95_WAIT: ("p95_wait_s", "95th percentile of wait"),
    FidelityCriterion.THROUGHPUT: ("throughput_per_hour", "throughput"),
    FidelityCriterion.MAKESPAN: ("makespan_s", "makespan"),
}


def judge_criteria(
    compared: Compared, *, capacity: Capacity, config: FidelityConfig, measures: MeasuresConfig
) -> dict[FidelityCriterion, Judgement]:
    """Every criterion over the jobs compared."""
    observed, replayed = compared.observed, compared.replayed
    seen, other = (
        measure(schedule, capacity=capacity, config=measures, window=Window.WHOLE)
        for schedule in (observed, replayed)
    )
    judged = {
        **{
            FidelityCriterion(rule.criterion): _divergence(seen, other, rule, config)
            for rule in config.divergences
        },
        FidelityCriterion.WAIT_KL: _waits(observed, replayed, config),
        FidelityCriterion.BSLD_KS: _slowdowns(observed, replayed, config, measures.tau_s),
        FidelityCriterion.QUEUE_CORRELATION: _queues(compared, config, measures.queue_sample_s),
    }
    if len(compared) == 0:
        return {criterion: replace(found, reason=compared.lacking) for criterion, found in judged.items()}
    return judged


def _divergence(seen: Measures, other: Measures, rule: Divergence, config: FidelityConfig) -> Judgement:
    key, name = MEASURE_OF[rule.criterion]
    unit = rule.floor_unit
    what = f"{name} {_number(other[key], unit)} replayed and {_number(seen[key], unit)} observed, divergence"
    return judge(
        relative_divergence(other[key], seen[key], rule.floor),
        "at most",
        config.divergence_fail,
        unit=UNIT_OF[rule.criterion],
        count=int(seen["jobs_count"] or 0),
        needed=config.min_jobs,
        what=what,
    )


def _waits(observed: Schedule, replayed: Schedule, config: FidelityConfig) -> Judgement:
    found = wait_divergence(observed.wait_s, replayed.wait_s, config.wait_bins)
    bins = found.distinct_bins if found else 0
    has_jobs = len(observed) >= config.min_jobs
    return judge(
        found.nats if found else None,
        "at most",
        config.max_wait_kl_nats,
        unit=UNIT_OF[FidelityCriterion.WAIT_KL],
        count=bins if has_jobs else len(observed),
        needed=config.min_distinct_bins if has_jobs else config.min_jobs,
        what="KL(observed || replayed) of waits",
        counted=("distinct bin of observed waits", "distinct bins of observed waits")
        if has_jobs
        else ("job", "jobs"),
    )


def _slowdowns(observed: Schedule, replayed: Schedule, config: FidelityConfig, tau_s: int) -> Judgement:
    return judge(
        ks_distance(
            bounded_slowdown(observed.wait_s, observed.runtime_s, tau_s),
            bounded_slowdown(replayed.wait_s, replayed.runtime_s, tau_s),
        ),
        "at most",
        config.max_bsld_ks,
        unit=UNIT_OF[FidelityCriterion.BSLD_KS],
        count=len(observed),
        needed=config.min_jobs,
        what="KS distance of bounded slowdowns",
    )


def _queues(compared: Compared, config: FidelityConfig, every_s: int) -> Judgement:
    lengths = {"observed": compared.observed_queue, "replayed": compared.replayed_queue}
    count = compared.at_s.size
    constant = [name for name, values in lengths.items() if count and np.ptp(values) == 0]
    return judge(
        pearson(lengths["observed"], lengths["replayed"]),
        "at least",
        config.min_queue_correlation,
        unit=UNIT_OF[FidelityCriterion.QUEUE_CORRELATION],
        count=len(compared),
        needed=config.min_jobs,
        what="correlation",
        beside=f" of {plural(count, 'queue length')}, one every {every_s} s",
        unknown=f"the {' and the '.join(constant)} queue never change{'s' if len(constant) == 1 else ''}",
    )


def _number(value: float | None, unit: str) -> str:
    return "unknown" if value is None else f"{value:,.{0 if unit == 's' else 2}f} {unit}"
