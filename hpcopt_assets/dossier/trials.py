"""Chapters on what a verdict hangs on: other decisions (sensitivity), and other workloads (stress).

In:  TraceEvidence.   Out: blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import polars as pl

from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.stress_tables import SENSITIVITY, STRESS_REPLAYS
from hpcopt_assets.contracts.stress_words import StressScenario, Varied
from hpcopt_assets.contracts.vocabulary import DEMANDS, Verdict
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.blocks import Block, Column, Figure, Heading, Kind, Paragraph, Table
from hpcopt_assets.dossier.evidence import Row, TraceEvidence
from hpcopt_assets.dossier.numbers import UNKNOWN, real, share
from hpcopt_assets.plots.degradation import stress_figures

STAYS = "Only policies that look at who submits replay otherwise; what can change for the others is fairness."
BASELINE = ("", "", "the baseline", "")
# Of the demands, for they are against it.


def sensitivity(evidence: TraceEvidence) -> list[Block]:
    """Which verdicts flip where one decision is taken otherwise; those that do, row by row."""
    frame = evidence.table(SENSITIVITY.name)
    heading = Heading(2, "Does a verdict hang on one decision?")
    tried = frame.filter(~pl.col("is_default"))
    if tried.is_empty():
        return [heading, Paragraph("No decision was tried otherwise.")]
    columns = (
        Column("decision"),
        Column("setting"),
        Column("flips (policies)", Kind.NUMBER),
        Column("does not flip (policies)", Kind.NUMBER),
        Column("cannot be told (policies)", Kind.NUMBER),
        Column("whose verdict flips"),
    )
    rows = []
    for varied, setting in in_order(tried.select("varied", "setting").rows()):
        found = tried.filter(varied=varied, setting=setting)
        flipped = found.filter(pl.col("has_flipped").fill_null(False))
        kept = found.filter(~pl.col("has_flipped").fill_null(True))
        told = (
            f"{row['policy']}: {row['default_verdict']} to {row['verdict']}"
            for row in flipped.rows(named=True)
        )
        unknown = found["has_flipped"].null_count()
        counts = (str(each) for each in (flipped.height, kept.height, unknown))
        rows.append((words.VARIED[Varied(varied)], setting, *counts, ", ".join(told) or "none"))
    flips = int(tried["has_flipped"].sum())
    return [
        heading,
        Paragraph(
            "The demands on each candidate (gain, starvation, fairness, utilisation) were judged again with "
            f"one decision taken otherwise. {plural(flips, 'verdict')} of {tried.height} "
            f"{'flips' if flips == 1 else 'flip'} from PASS to FAIL or back. A verdict that flips rests on "
            "that decision as much as on the log."
        ),
        Table("Each setting against the one that is configured.", columns, tuple(rows), (SENSITIVITY.name,)),
    ]


def stress(evidence: TraceEvidence) -> list[Block]:
    """What becomes of each policy on the trace made harder, and which demands and rules still hold."""
    frame = evidence.table(STRESS_REPLAYS.name)
    heading = Heading(2, "What if the workload were another?")
    if frame.is_empty():
        return [heading, Paragraph("No scenario was replayed.")]
    blocks: list[Block] = [
        heading,
        Paragraph(
            "The trace was changed in one statistic at a time, in three severities, and replayed. Times: the "
            "stressed value over the unstressed one; above 1 the policy fares worse. The gain is against the "
            "baseline under the same stress. A trace that cannot carry a scenario is NOT_ASSESSED there."
        ),
    ]
    figures = {drawing.file_name: drawing for drawing in stress_figures(frame)}
    for scenario in StressScenario:
        found = frame.filter(scenario=scenario.value).sort("policy", "severity")
        if (drawn := figures.get(f"{scenario}.svg")) is not None:
            blocks.append(Figure.of(drawn, STRESS_REPLAYS.name))
        if not found.is_empty():
            blocks.append(_scenario(scenario, found))
    return blocks


def in_order(settings: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Decisions and settings, each once: decisions as they are listed, numbers by their size."""

    def place(setting: tuple[str, str]) -> tuple[int, float, str]:
        varied, value = setting
        is_number = value.replace(".", "", 1).isdecimal()
        return list(Varied).index(Varied(varied)), float(value) if is_number else math.inf, value

    return sorted(set(settings), key=place)


def _scenario(scenario: StressScenario, found: pl.DataFrame) -> Table:
    columns = (
        Column("policy"),
        Column("severity (1 to 3)", Kind.NUMBER),
        Column("statistic times", Kind.NUMBER),
        Column("p95 bounded slowdown times", Kind.NUMBER),
        Column("mean wait times", Kind.NUMBER),
        Column("gain, unstressed", Kind.NUMBER),
        Column("gain, stressed", Kind.NUMBER),
        Column("demands", Kind.VERDICT),
        Column("fails"),
        Column("rules kept", Kind.VERDICT),
    )
    rows = tuple(
        (
            row["policy"],
            str(row["severity"]),
            _times(row["reached_factor"]),
            _times(row["p95_bsld_times"]),
            _times(row["mean_wait_times"]),
            *(BASELINE if row["policy"] == row["baseline"] else _demanded(row)),
            row["invariants"],
        )
        for row in found.iter_rows(named=True)
    )
    told = f" {STAYS}" if scenario is StressScenario.USER_SKEW else ""
    caption = (
        f"Scenario {scenario.value.replace('_', ' ')}, which moves {found['statistic'][0].replace('_', ' ')}."
    )
    return Table(f"{caption}{told}", columns, rows, (STRESS_REPLAYS.name,))


def _demanded(row: Row) -> tuple[str, ...]:
    failed = ", ".join(demand for demand in DEMANDS if row[demand] == Verdict.FAIL.value)
    return (
        share(row["unstressed_gain_ratio"], is_change=True),
        share(row["stressed_gain_ratio"], is_change=True),
        row["verdict"],
        words.in_words(failed) if failed else "none",
    )


def _times(value: float | None) -> str:
    return UNKNOWN if value is None else f"{real(value)} x"
