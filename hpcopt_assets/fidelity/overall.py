"""What the criteria amount to, and where in time the replay departs most from the record.

In:  one judgement per criterion.   Out: the judgement `overall`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hpcopt_assets.contracts.config import FidelityConfig
from hpcopt_assets.contracts.sentences import NOT_MODELLED_IN_SHORT, SYNTHETIC, plural
from hpcopt_assets.contracts.verdicts import Judgement, combine
from hpcopt_assets.contracts.vocabulary import FidelityCriterion, Verdict
from hpcopt_assets.measures.load import SECONDS_PER_HOUR
from hpcopt_assets.measures.schedule import Schedule

PERIODS = 10
# Tenths of the submissions' span: fine enough to point at a bad season, coarse enough to read.
SECONDS_PER_DAY = 86400


def judge_overall(
    criteria: Mapping[FidelityCriterion, Judgement],
    capacity: Judgement,
    observed: Schedule,
    replayed: Schedule,
    *,
    config: FidelityConfig,
    is_synthetic: bool,
) -> Judgement:
    """The criteria combined; `measured` counts the rules broken, of which none may be.

    Beyond one verdict per criterion: `max_warned` divergences above `divergence_warn` fail together. Whether
    the machine can have produced the record is mentioned and changes nothing: it is no likeness.
    """
    failed: list[str] = [name for name, found in criteria.items() if found.verdict is Verdict.FAIL]
    warned = _warned(criteria, config)
    if len(warned) >= config.max_warned and not set(warned) <= set(failed):
        failed.append(f"{len(warned)} divergences above {config.divergence_warn:g} ({', '.join(warned)})")
    verdict = combine([*(found.verdict for found in criteria.values()), *(Verdict.FAIL for _ in failed)])
    jobs_count = len(observed) + observed.left_out_count
    sentences = [
        *([SYNTHETIC] if is_synthetic else []),
        f"{verdict} over the {len(observed):,} of {jobs_count:,} jobs that ran in both.",
        *([f"Failing: {'; '.join(failed)}."] if failed else []),
        *([_departure(observed, replayed)] if verdict is Verdict.FAIL else []),
        *_unassessed(criteria),
        *_beside(capacity),
        NOT_MODELLED_IN_SHORT,
    ]
    return Judgement(verdict, float(len(failed)), 0.0, "rules broken", len(observed), " ".join(sentences))


def _warned(criteria: Mapping[FidelityCriterion, Judgement], config: FidelityConfig) -> list[str]:
    divergences = [(rule.criterion, criteria[rule.criterion]) for rule in config.divergences]
    return [
        criterion
        for criterion, found in divergences
        if found.verdict is not Verdict.NOT_ASSESSED and (found.measured or 0.0) > config.divergence_warn
    ]


def _unassessed(criteria: Mapping[FidelityCriterion, Judgement]) -> list[str]:
    missing = [criterion for criterion, found in criteria.items() if found.verdict is Verdict.NOT_ASSESSED]
    return [f"Not assessed: {', '.join(missing)} ({criteria[missing[0]].reason})."] if missing else []


def _beside(capacity: Judgement) -> list[str]:
    if capacity.verdict is Verdict.PASS:
        return []
    criterion = FidelityCriterion.OBSERVED_WITHIN_CAPACITY
    return [f"Not part of this verdict: {criterion} is {capacity.verdict}, see its row."]


def _departure(observed: Schedule, replayed: Schedule) -> str:
    """The tenth of the submissions' span in which waits differ most, in job-hours."""
    release_s = observed.release_s
    first_s, length_s = int(release_s.min()), int(np.ptp(release_s)) + 1
    period = (release_s - first_s) * PERIODS // length_s
    jobs = np.bincount(period, minlength=PERIODS)
    seen, other = (
        np.bincount(period, weights=schedule.wait_s.astype(np.float64), minlength=PERIODS)
        for schedule in (observed, replayed)
    )
    worst = int(np.abs(other - seen).argmax())
    days = [(length_s * edge / PERIODS) / SECONDS_PER_DAY for edge in (worst, worst + 1)]
    hours = [float(total[worst] / jobs[worst] / SECONDS_PER_HOUR) for total in (seen, other)]
    return (
        f"Waits differ most for the {plural(int(jobs[worst]), 'job')} released from day {days[0]:.1f} to "
        f"{days[1]:.1f} of the trace: {hours[0]:,.2f} h observed and {hours[1]:,.2f} h replayed, on average."
    )
