"""Chapters across traces: on which decisions verdicts hang, and what other workloads do to them.

In:  AcrossEvidence.   Out: blocks.
Not here: each row of it, which stands in the trace's own dossier (trials.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.stress_tables import SENSITIVITY, STRESS_REPLAYS
from hpcopt_assets.contracts.stress_words import StressScenario, Varied
from hpcopt_assets.contracts.verdicts import combine
from hpcopt_assets.contracts.vocabulary import Verdict
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.across import AcrossEvidence
from hpcopt_assets.dossier.blocks import Block, Column, Heading, Kind, Paragraph, Table
from hpcopt_assets.dossier.evidence import Row
from hpcopt_assets.dossier.numbers import UNKNOWN, real
from hpcopt_assets.dossier.survivors import NO_EVIDENCE
from hpcopt_assets.dossier.trials import in_order


def sensitivity(evidence: AcrossEvidence) -> list[Block]:
    """For each decision taken otherwise, whose verdict flips on which trace."""
    heading = Heading(2, "On which decisions do verdicts hang?")
    rows_by_trace = {
        trace: [
            row
            for row in evidence.rows(trace, SENSITIVITY.name)
            if not row["is_default"] and row["policy"] in evidence.candidates
        ]
        for trace in evidence.traces
    }
    settings = in_order((row["varied"], row["setting"]) for rows in rows_by_trace.values() for row in rows)
    if not settings:
        return [heading, Paragraph("No decision was tried otherwise: it cannot be told.")]
    lines = tuple(
        (
            words.VARIED[Varied(varied)],
            setting,
            *(_flips(rows_by_trace[trace], varied, setting) for trace in evidence.traces),
        )
        for varied, setting in settings
    )
    everything = [row for rows in rows_by_trace.values() for row in rows]
    flipped = [row for row in everything if row["has_flipped"]]
    unknown = sum(row["has_flipped"] is None for row in everything)
    firm = _listed(
        policy
        for policy in evidence.candidates
        if any(row["policy"] == policy for row in everything)
        and all(row["has_flipped"] is False for row in everything if row["policy"] == policy)
    )
    told = Paragraph(
        "The demands on each candidate were judged again with one decision taken otherwise. "
        f"{len(flipped):,} of {plural(len(everything), 'verdict')} flip from PASS to FAIL or back, "
        f"{unknown:,} cannot be told. Whose verdict never flips, on any trace: {firm}."
    )
    columns = (Column("decision"), Column("setting"), *(Column(f"flips on {t}") for t in evidence.traces))
    caption = "Whose verdict flips; a verdict that flips rests on that decision as much as on the log."
    return [heading, told, Table(caption, columns, lines, (SENSITIVITY.name,))]


def _flips(rows: list[Row], varied: str, setting: str) -> str:
    found = [row for row in rows if (row["varied"], row["setting"]) == (varied, setting)]
    if not found:
        return NO_EVIDENCE
    flipped = _listed(f"{row['policy']} to {row['verdict']}" for row in found if row["has_flipped"])
    unknown = sum(row["has_flipped"] is None for row in found)
    return flipped + (f"; {unknown:,} cannot be told" if unknown else "")


def stress(evidence: AcrossEvidence) -> list[Block]:
    """For each way a workload is made harder, what becomes of the baseline, and who meets the demands."""
    heading = Heading(2, "What if the workloads were others?")
    lines = [
        (scenario.value.replace("_", " "), trace, *_under(rows, evidence))
        for scenario in StressScenario
        for trace in evidence.traces
        if (rows := evidence.rows(trace, STRESS_REPLAYS.name, scenario=scenario))
    ]
    if not lines:
        return [heading, Paragraph("No scenario was replayed: it cannot be told.")]
    without = [t for t in evidence.traces if not evidence.rows(t, STRESS_REPLAYS.name)]
    told = Paragraph(
        "Each trace was changed in one statistic at a time, in three severities, and replayed under every "
        "policy. Who meets every demand (gain, starvation, fairness, utilisation) in all three is named, and "
        "who meets them on the trace as it is but not in all three. This asks what would become of a policy, "
        "and is no part of its outcome. With another share of users, only policies that look at who submits "
        "replay otherwise; what can change for the others is fairness."
        + (f" No evidence on {', '.join(without)}." if without else "")
    )
    columns = (
        Column("scenario"),
        Column("trace"),
        Column("statistic, times"),
        Column("baseline's p95 bounded slowdown, times"),
        Column("meet every demand in all severities"),
        Column("meet them on the trace as it is, not in all"),
        Column("rules of replay", Kind.VERDICT),
    )
    caption = "Times: mild to severe, over the value of the trace as it is."
    return [heading, told, Table(caption, columns, tuple(lines), (STRESS_REPLAYS.name,))]


def _under(rows: list[Row], evidence: AcrossEvidence) -> tuple[str, ...]:
    baseline = evidence.objective.claims.baseline
    own = sorted((row for row in rows if row["policy"] == baseline), key=lambda row: row["severity"])
    keeps: list[str] = []
    loses: list[str] = []
    untold: list[str] = []
    for policy in evidence.candidates:
        found = [row for row in rows if row["policy"] == policy]
        stressed = combine(Verdict(row["verdict"]) for row in found)
        was_met = any(row["unstressed_verdict"] == Verdict.PASS.value for row in found)
        if stressed is Verdict.PASS:
            keeps.append(policy)
        elif was_met:
            (loses if stressed is Verdict.FAIL else untold).append(policy)
    return (
        _times(row["reached_factor"] for row in own),
        _times(row["p95_bsld_times"] for row in own),
        _listed(keeps),
        _listed(loses) + (f"; cannot be told: {_listed(untold)}" if untold else ""),
        combine(Verdict(row["invariants"]) for row in rows).value,
    )


def _times(values: Iterable[float | None]) -> str:
    return ", ".join(UNKNOWN if value is None else real(value) for value in values) or UNKNOWN


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
