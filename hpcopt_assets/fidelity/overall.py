"""What the criteria amount to, and when the replay departs most from the record.

In:  one judgement per criterion.   Out: the judgement `overall`.
"""

from __future__ import annotations

from collections.abc import Mapping

from hpcopt_assets.contracts.config import FidelityConfig
from hpcopt_assets.contracts.sentences import NOT_MODELLED_IN_SHORT, SYNTHETIC, plural
from hpcopt_assets.contracts.verdicts import Judgement, combine
from hpcopt_assets.contracts.vocabulary import FidelityCriterion, Verdict
from hpcopt_assets.fidelity.compared import Compared
from hpcopt_assets.fidelity.weeks import worst_weeks
from hpcopt_assets.measures.calendar import Zone

QUARTERS_NAMED = 40
# Ten years of them; a broken clock may bring thousands.


def judge_overall(
    criteria: Mapping[FidelityCriterion, Judgement],
    capacity: Judgement,
    compared: Compared,
    *,
    quarters: Mapping[str, Verdict],
    zone: Zone,
    config: FidelityConfig,
    is_synthetic: bool,
) -> Judgement:
    """The criteria combined; `measured` counts the rules broken, of which none may be.

    `quarters` are the verdicts over the quarters of the same jobs, which are mentioned and change nothing.

    Beyond one verdict per criterion: `max_warned` divergences above `divergence_warn` fail together. Whether
    the machine can have produced the record is mentioned and changes nothing: it is no likeness.
    """
    failed: list[str] = [name for name, found in criteria.items() if found.verdict is Verdict.FAIL]
    warned = _warned(criteria, config)
    if len(warned) >= config.max_warned and not set(warned) <= set(failed):
        failed.append(f"{len(warned)} divergences above {config.divergence_warn:g} ({', '.join(warned)})")
    verdict = combine([*(found.verdict for found in criteria.values()), *(Verdict.FAIL for _ in failed)])
    sentences = [
        *([SYNTHETIC] if is_synthetic else []),
        f"{verdict} over the {len(compared):,} of {compared.jobs_count:,} jobs that ran in both.",
        *([f"Failing: {'; '.join(failed)}."] if failed else []),
        *([worst_weeks(compared, zone)] if verdict is Verdict.FAIL else []),
        *_by_quarter(quarters),
        *_unassessed(criteria),
        *_beside(capacity),
        NOT_MODELLED_IN_SHORT,
    ]
    return Judgement(verdict, float(len(failed)), 0.0, "rules broken", len(compared), " ".join(sentences))


def _warned(criteria: Mapping[FidelityCriterion, Judgement], config: FidelityConfig) -> list[str]:
    divergences = [(rule.criterion, criteria[rule.criterion]) for rule in config.divergences]
    return [
        criterion
        for criterion, found in divergences
        if found.verdict is not Verdict.NOT_ASSESSED and (found.measured or 0.0) > config.divergence_warn
    ]


def _by_quarter(quarters: Mapping[str, Verdict]) -> list[str]:
    """Which of the quarters fail, and of how many."""
    if not quarters:
        return []
    failed = [name for name, verdict in quarters.items() if verdict is Verdict.FAIL]
    silent = sum(verdict is Verdict.NOT_ASSESSED for verdict in quarters.values())
    more = f" and {len(failed) - QUARTERS_NAMED:,} more" if len(failed) > QUARTERS_NAMED else ""
    told = f": {', '.join(failed[:QUARTERS_NAMED])}{more}" if failed else ""
    return [
        f"Of {plural(len(quarters), 'quarter')} {len(failed):,} FAIL{told}"
        f"{f'; {silent:,} not assessed' if silent else ''}."
    ]


def _unassessed(criteria: Mapping[FidelityCriterion, Judgement]) -> list[str]:
    missing = [criterion for criterion, found in criteria.items() if found.verdict is Verdict.NOT_ASSESSED]
    return [f"Not assessed: {', '.join(missing)} ({criteria[missing[0]].reason})."] if missing else []


def _beside(capacity: Judgement) -> list[str]:
    if capacity.verdict is Verdict.PASS:
        return []
    criterion = FidelityCriterion.OBSERVED_WITHIN_CAPACITY
    return [f"Not part of this verdict: {criterion} is {capacity.verdict}, see its row."]
