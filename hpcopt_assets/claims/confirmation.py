"""Whether a gain would be there on another day: on shaken replicas, and in weeks that chose nobody.

In:  a candidate's rows of the table `robustness`.   Out: one judgement per condition.
Not here: how these rows come about (robustness.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from hpcopt_assets.claims.criteria import demanded
from hpcopt_assets.contracts.config import ClaimsConfig
from hpcopt_assets.contracts.measure_columns import MEASURES
from hpcopt_assets.contracts.robustness_tables import BETTER
from hpcopt_assets.contracts.sentences import in_figures, plural
from hpcopt_assets.contracts.verdicts import Judgement, judge
from hpcopt_assets.contracts.vocabulary import (
    Verdict,
    Window,
)

NOT_SHAKEN = "it was not replayed on shaken traces"
UNITS = {column.name: column.unit or "" for column in MEASURES}


def judge_shaken_gain(rows: pl.DataFrame, config: ClaimsConfig) -> Judgement:
    """Whether the primary measure falls enough on average over shaken replicas, in the steady window.

    What one replay shows may be an accident of the log. `rows` are the candidate's of the table `robustness`.
    """
    row = _row(rows, config.primary, Window.STEADY)
    if row is None:
        return Judgement(Verdict.NOT_ASSESSED, None, config.min_gain_ratio, "ratio", 0, NOT_SHAKEN)
    usual, change, replicas = row["shaken_baseline_value"], row["mean_difference"], row["replicas_count"]
    is_enough = row["lower"] is not None
    found = judge(
        -change / usual if is_enough and usual else None,
        "at least",
        config.min_gain_ratio,
        unit="ratio",
        count=int(row["jobs_count"] or 0),
        needed=config.min_jobs,
        what=f"mean gain in {config.primary} over {plural(replicas, 'shaken replica')}",
        unknown="too few to tell",
    )
    if not row["is_artefact"]:
        return found
    luck = (
        f"the replay's own change, {in_figures(row['difference'])}, lies outside theirs, {_interval(row, '')}"
    )
    return replace(found, reason=f"{found.reason}; {luck}")


def judge_shaken_demands(rows: pl.DataFrame, config: ClaimsConfig) -> Judgement:
    """Whether each demand is met in enough of the shaken replicas, beside the baseline's measures there.

    A constraint that is just kept in one replay may be broken in most. `measured` is the share of the demand
    that is met least often, over the steady window.
    """
    found = {name: _row(rows, name, Window.STEADY) for name in demanded(config)}
    shares = {name: row["met_ratio"] for name, row in found.items() if row is not None}
    first = found[config.primary]
    if first is None:
        return Judgement(Verdict.NOT_ASSESSED, None, config.min_met_ratio, "ratio", 0, NOT_SHAKEN)
    is_known = len(shares) == len(found) and None not in shares.values()
    least = min(shares, key=lambda name: shares[name], default="") if is_known else ""
    return judge(
        shares[least] if least else None,
        "at least",
        config.min_met_ratio,
        unit="ratio",
        count=int(first["jobs_count"] or 0),
        needed=config.min_jobs,
        what=f"share of {plural(first['replicas_count'], 'shaken replica')} in which the demand on "
        f"{least or 'each measure'} is met",
        unknown="too few to tell",
    )


def judge_confirmation(rows: pl.DataFrame, selection: Verdict, config: ClaimsConfig) -> Judgement:
    """PASS where two intervals say that the primary measure improves on the part that chose nobody.

    One over shaken replicas, one over weeks drawn anew, both adjusted for how many candidates were chosen;
    `measured` is the end that is nearest to no improvement. `rows` are the candidate's of the table
    `robustness`. Who was not chosen, too few jobs, replicas or weeks, or no row, is NOT_ASSESSED.
    """
    primary = config.primary
    unit, better = UNITS[primary], BETTER[primary]
    row = _row(rows, primary, Window.CONFIRMATION)
    if row is None:
        return Judgement(Verdict.NOT_ASSESSED, None, 0.0, unit, 0, NOT_SHAKEN)
    ends = ("upper", "block_upper") if better < 0 else ("lower", "block_lower")
    known = [row[end] for end in ends if row[end] is not None]
    jobs, is_chosen = int(row["jobs_count"] or 0), row["candidates_count"] is not None
    told = (
        f"on the rest, {primary} of {plural(jobs, 'job')} changes by {_interval(row, '')} over "
        f"{plural(row['replicas_count'], 'shaken replica')} and by {_interval(row, 'block_')} over "
        f"{plural(row['blocks_count'], 'week')} drawn anew ({in_figures(100 * row['confidence'])} %, "
        f"{_adjusted(row['candidates_count'])})"
    )
    verdict = Verdict.PASS
    if jobs < config.min_jobs:
        verdict, told = Verdict.NOT_ASSESSED, f"{told}; {config.min_jobs} jobs needed"
    elif any(better * end <= 0 for end in known):
        verdict = Verdict.FAIL
    elif len(known) < len(ends) or selection is not Verdict.PASS or not is_chosen:
        verdict = Verdict.NOT_ASSESSED
    if row["is_artefact"]:
        told += "; the replay's own change lies outside the first of these"
    nearest = min(known, key=lambda end: better * end, default=None)
    return Judgement(verdict, nearest, 0.0, unit, jobs, told)


def _row(rows: pl.DataFrame, measure: str, window: Window) -> dict[str, Any] | None:
    found = rows.filter(measure=measure, time_window=window.value)
    return None if found.is_empty() else found.row(0, named=True)


def _interval(row: Mapping[str, Any], which: str) -> str:
    low, high = row[f"{which}lower"], row[f"{which}upper"]
    return "an unknown amount" if low is None else f"[{in_figures(low)}, {in_figures(high)}]"


def _adjusted(candidates: int | None) -> str:
    return "not chosen" if candidates is None else f"Holm over {plural(candidates, 'candidate')}"
