"""What the criteria amount to, and where in time the replay departs most from the record.

In:  one judgement per criterion.   Out: the judgement `overall`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hpcopt_assets.contracts.config import FidelityConfig
from hpcopt_assets.contracts.verdicts import NOT_MODELLED, SYNTHETIC, Judgement, combine
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

    Beyond one verdict per criterion: `max_warned` divergences above `divergence_warn` fail together. A record
    that the machine cannot have produced speaks neither for nor against the replay: it keeps the whole from
    passing (NOT_ASSESSED) and fails nothing.
    """
    failed: list[str] = [name for name, found in criteria.items() if found.verdict is Verdict.FAIL]
    warned = _warned(criteria, config)
    if len(warned) >= config.max_warned and not set(warned) <= set(failed):
        failed.append(f"{len(warned)} divergences above {config.divergence_warn:g} ({', '.join(warned)})")
    verdicts = [found.verdict for found in criteria.values()]
    verdicts.append(Verdict.PASS if capacity.verdict is Verdict.PASS else Verdict.NOT_ASSESSED)
    verdict = combine([*verdicts, *(Verdict.FAIL for _ in failed)])
    jobs_count = len(observed) + observed.left_out_count
    sentences = [
        *([SYNTHETIC] if is_synthetic else []),
        f"{verdict} over the {len(observed):,} of {jobs_count:,} jobs that ran in both.",
        *([f"Failing: {'; '.join(failed)}."] if failed else []),
        *([_departure(observed, replayed)] if verdict is Verdict.FAIL else []),
        *_unassessed(criteria, capacity),
        NOT_MODELLED,
    ]
    return Judgement(verdict, float(len(failed)), 0.0, "rules broken", len(observed), " ".join(sentences))


def _warned(criteria: Mapping[FidelityCriterion, Judgement], config: FidelityConfig) -> list[str]:
    divergences = [(rule.criterion, criteria[rule.criterion]) for rule in config.divergences]
    return [
        criterion
        for criterion, found in divergences
        if found.verdict is not Verdict.NOT_ASSESSED and (found.measured or 0.0) > config.divergence_warn
    ]


def _unassessed(criteria: Mapping[FidelityCriterion, Judgement], capacity: Judgement) -> list[str]:
    missing = [criterion for criterion, found in criteria.items() if found.verdict is Verdict.NOT_ASSESSED]
    said = []
    if missing:
        said.append(f"Not assessed: {', '.join(missing)} ({criteria[missing[0]].reason}).")
    if capacity.verdict is not Verdict.PASS:
        said.append(f"Whether the record fits the machine: {capacity.verdict} (observed_within_capacity).")
    return said


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
        f"Waits differ most for the {jobs[worst]:,} jobs released from day {days[0]:.1f} to {days[1]:.1f} "
        f"of the trace: {hours[0]:,.2f} h observed and {hours[1]:,.2f} h replayed, on average."
    )
