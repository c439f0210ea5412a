"""Which policy to recommend, if any: the best that passes everything, and what each trades for what.

In:  claim_verdicts, replay_measures, schedules by policy.   Out: `recommendation`, one row a policy.
Not here: whether a claim holds (judge.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from hpcopt_assets.claims.cost import at_whose_cost
from hpcopt_assets.claims.differences import what_differs
from hpcopt_assets.claims.pareto import dominators
from hpcopt_assets.contracts.config import ObjectiveConfig, Policy
from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION, TRADED
from hpcopt_assets.contracts.robustness_tables import BETTER
from hpcopt_assets.contracts.sentences import NOT_MODELLED_IN_SHORT, SYNTHETIC, in_figures, plural
from hpcopt_assets.contracts.vocabulary import DEMANDS, ClaimCriterion, Outcome, Verdict, Window
from hpcopt_assets.measures.capacity import Capacity

MANY_TIMES = 10
NOTICEABLE = 0.01
# Changes of less than this share of the baseline's value are not told.
Row = dict[str, Any]


def recommend(
    *,
    trace_id: str,
    policies: Sequence[Policy],
    claims: pl.DataFrame,
    measured: pl.DataFrame,
    schedules: Mapping[str, pl.DataFrame],
    capacity: Capacity,
    objective: ObjectiveConfig,
    procs_bands: Sequence[int],
    is_synthetic: bool,
) -> pl.DataFrame:
    """One row per policy of `policies`, none of them a bound, in their order.

    `claims` and `measured` are the tables claim_verdicts and replay_measures; `procs_bands` the bands of job
    size in which costs are told. Measures of policies that ran other jobs are not compared.
    """
    baseline = objective.claims.baseline
    ids = [policy.id for policy in policies]
    steady = measured.filter(time_window=Window.STEADY.value)
    values = {row["policy"]: row for row in steady.iter_rows(named=True) if row["policy"] in ids}
    ran = {policy: schedules[policy]["left_out"].is_null() for policy in ids}
    most = max(ran.values(), key=lambda has_run: int(has_run.sum()))
    placed = {policy: values[policy] if ran[policy].equals(most) else dict.fromkeys(TRADED) for policy in ids}
    dominating = dominators(placed, TRADED)
    judged = {policy: _judged(claims, policy) for policy in ids if policy != baseline}
    ranks = _ranks(judged)
    rows: list[Row] = []
    for policy in ids:
        by = dominating[policy]
        row: Row = dict.fromkeys(RECOMMENDATION.names) | {
            "trace_id": trace_id,
            "policy": policy,
            "is_baseline": policy == baseline,
            "is_recommended": ranks.get(policy) == 1,
            "rank": ranks.get(policy),
            **{name: values[policy][name] for name in TRADED},
            "is_on_front": None if by is None else not by,
            "dominated_by": ", ".join(by) if by else None,
        }
        if policy == baseline:
            row["reason"] = _said_of_all(judged, ranks, is_synthetic=is_synthetic)
        else:
            row |= _told(judged[policy])
            better: list[str] = []
            cost: list[str] = []
            if is_compared := ran[policy].equals(ran[baseline]) and bool(ran[policy].any()):
                differ = what_differs(
                    schedules[baseline],
                    schedules[policy],
                    capacity=capacity,
                    config=objective.measures,
                    procs_bands=procs_bands,
                )
                better, worse = _changes(values[policy], values[baseline])
                cost = [*worse, *at_whose_cost(differ, objective.measures.min_jobs_per_user)]
            row["improved"] = "; ".join(better) or None
            row["worsened"] = "; ".join(cost) or None
            unknown = [name for name in TRADED if placed[policy][name] is None]
            row["reason"] = _narrative(row, unknown, is_compared=is_compared, is_synthetic=is_synthetic)
        rows.append(row)
    return RECOMMENDATION.shape(pl.DataFrame(rows, schema=RECOMMENDATION.polars_schema()))


def _judged(claims: pl.DataFrame, policy: str) -> dict[str, Row]:
    return {row["criterion"]: row for row in claims.filter(policy=policy).iter_rows(named=True)}


def _ranks(judged: Mapping[str, Mapping[str, Row]]) -> dict[str, int]:
    """Place of each ACCEPTED policy by its gain over shaken replicas; who gains as much shares a place."""
    gains = {
        policy: rows[ClaimCriterion.SHAKEN_GAIN]["measured"]
        for policy, rows in judged.items()
        if rows[ClaimCriterion.OVERALL]["outcome"] == Outcome.ACCEPTED.value
    }
    return {policy: 1 + sum(other > gain for other in gains.values()) for policy, gain in gains.items()}


def _told(rows: Mapping[str, Row]) -> Row:
    """Outcome, gain over shaken replicas, and the criteria that were not passed."""
    lacking = [name for name, row in rows.items() if row["verdict"] != Verdict.PASS.value]
    failed = [name for name in lacking if name in DEMANDS and rows[name]["verdict"] == Verdict.FAIL.value]
    still_open = [name for name in lacking if name not in (*failed, ClaimCriterion.OVERALL)]
    return {
        "outcome": rows[ClaimCriterion.OVERALL]["outcome"],
        "shaken_gain_ratio": rows[ClaimCriterion.SHAKEN_GAIN]["measured"],
        "failed": ", ".join(failed) or None,
        "open": ", ".join(still_open) or None,
    }


def _changes(values: Mapping[str, Any], baseline: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What is noticeably better than the baseline's in the steady window, and what is worse."""
    better: list[str] = []
    worse: list[str] = []
    for name, sign in BETTER.items():
        new, old = values[name], baseline[name]
        if new is None or old is None or abs(new - old) < NOTICEABLE * abs(old) or new == old:
            continue
        told = f"{name} {in_figures(old)} -> {in_figures(new)}{_relative(new, old)}"
        (better if sign * (new - old) > 0 else worse).append(told)
    return better, worse


def _relative(new: float, old: float) -> str:
    """The change as a share of the old value, in brackets; how many times that is where it is ten or more."""
    if not old:
        return ""
    times = new / old
    return f" ({in_figures(times)} times)" if times >= MANY_TIMES else f" ({100 * (times - 1):+.3g} %)"


def _narrative(row: Row, unknown: Sequence[str], *, is_compared: bool, is_synthetic: bool) -> str:
    """A policy's row in sentences; `unknown` are the measures for want of which it has no place."""
    said = [SYNTHETIC] if is_synthetic else []
    passed = "Recommended." if row["is_recommended"] else "It passes everything; another gains more."
    said.append(
        {
            Outcome.ACCEPTED.value: passed,
            Outcome.CONDITIONAL.value: f"Not recommended yet: not shown is {row['open']}.",
            Outcome.BLOCKED.value: f"Not recommended: it does not meet {row['failed']}.",
            None: f"Nothing can be said: not assessed is {row['open']}.",
        }[row["outcome"]]
    )
    if is_compared:
        said.append(f"Improved: {row['improved'] or 'nothing noticeable'}.")
        said.append(f"At the cost of: {row['worsened'] or 'nothing noticeable'}.")
    else:
        said.append("What improved, and at whose cost, is not known: it did not run the baseline's jobs.")
    if row["dominated_by"]:
        said.append(f"As good in all of {', '.join(TRADED)} and better in one: {row['dominated_by']}.")
    if unknown and is_compared:
        said.append(f"Neither on the front nor dominated: unknown is {', '.join(unknown)}.")
    return " ".join([*said, NOT_MODELLED_IN_SHORT])


def _said_of_all(
    judged: Mapping[str, Mapping[str, Row]], ranks: Mapping[str, int], *, is_synthetic: bool
) -> str:
    """What is recommended in the end, if any; which demand blocked whom, and what was not shown."""
    said = [SYNTHETIC] if is_synthetic else []
    best = [policy for policy, rank in ranks.items() if rank == 1]
    said.append(
        f"Recommended instead: {' or '.join(best)}."
        if best
        else "No candidate passes everything: none is recommended."
    )
    by_outcome: dict[str | None, list[str]] = {}
    for policy, rows in judged.items():
        by_outcome.setdefault(rows[ClaimCriterion.OVERALL]["outcome"], []).append(policy)
    blocked = by_outcome.get(Outcome.BLOCKED.value, [])
    for demand in DEMANDS:
        by = [policy for policy in blocked if judged[policy][demand]["verdict"] == Verdict.FAIL.value]
        said += (
            [f"{plural(len(by), 'policy fails', 'policies fail')} {demand}: {', '.join(by)}."] if by else []
        )
    open_ones = by_outcome.get(Outcome.CONDITIONAL.value, [])
    said += [f"Better, but not all is shown: {', '.join(open_ones)}."] if open_ones else []
    unknown = by_outcome.get(None, [])
    said += [f"Could not be assessed: {', '.join(unknown)}."] if unknown else []
    return " ".join(said)
