"""The chapter of gains across traces: outcomes at a glance, and every change with its intervals.

In:  AcrossEvidence.   Out: blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS
from hpcopt_assets.contracts.vocabulary import Outcome, Verdict, Window
from hpcopt_assets.dossier.across import AcrossEvidence
from hpcopt_assets.dossier.blocks import Block, Column, Figure, Heading, Kind, Paragraph, Table
from hpcopt_assets.dossier.evidence import Row
from hpcopt_assets.dossier.numbers import duration, share, signed, span
from hpcopt_assets.dossier.survival import Survival, least_met, relative, survival
from hpcopt_assets.dossier.survivors import NO_EVIDENCE, told_outcome
from hpcopt_assets.plots.forest import Interval, Panel, forest
from hpcopt_assets.plots.forest import Row as Bar
from hpcopt_assets.plots.verdicts import verdict_grid

PANELS = 3
# Traces side by side; with more, their intervals are too small to read.
LOOKS = {
    Outcome.ACCEPTED.value: ("A", "#a6dcc8"),
    Outcome.CONDITIONAL.value: ("C", "#f7e8a0"),
    Outcome.BLOCKED.value: ("B", "#f3c19b"),
    Verdict.NOT_ASSESSED.value: ("\N{EN DASH}", "#ffffff"),
    NO_EVIDENCE: ("?", "#ffffff"),
}


def gains(evidence: AcrossEvidence) -> list[Block]:
    """Outcomes at a glance, then each candidate on each trace with both intervals."""
    heading = Heading(2, "Gains, policy by trace")
    if not evidence.traces or not evidence.candidates:
        return [heading, Paragraph("There is no trace, or no candidate: nothing can be told.")]
    drawing = verdict_grid(
        [
            [told_outcome(evidence, trace, policy) for trace in evidence.traces]
            for policy in evidence.candidates
        ],
        rows=evidence.candidates,
        columns=evidence.traces,
        looks=LOOKS,
        file_name="outcomes.svg",
        title="Outcome of each candidate on each trace",
        caption=(
            "A: ACCEPTED, C: CONDITIONAL, B: BLOCKED, dash: could not be assessed, ?: no evidence. Against "
            f"{evidence.objective.claims.baseline}."
        ),
        x_label="trace",
    )
    figure = Figure.of(drawing, CLAIM_VERDICTS.name)
    baseline = evidence.objective.claims.baseline
    explained = Paragraph(
        f"A candidate's change of the 95th percentile of bounded slowdown, less {baseline}'s: below zero is "
        "better. Bounded slowdown is a job's (wait + runtime) / runtime, the runtime being at least "
        f"{evidence.objective.measures.tau_s} s: by what factor waiting stretched it. A gain survives where "
        "the whole interval lies below zero: over replicas of the trace shaken a little, and over its weeks "
        "drawn anew. ACCEPTED asks for more: that fairness, starvation and utilisation are kept, that the "
        "candidate was chosen on the first part of the record and confirmed on the rest, and that the "
        "baseline's replay is like the record."
    )
    tables = (_of(evidence, policy) for policy in evidence.candidates)
    return [heading, explained, figure, *_intervals(evidence), *tables]


def _intervals(evidence: AcrossEvidence) -> list[Block]:
    """Each candidate's change with its intervals, as shares of the baseline's; a panel a trace."""
    told = [
        trace
        for trace in evidence.traces
        if any(evidence.change(trace, policy) for policy in evidence.candidates)
    ]
    parts = [told[first : first + PANELS] for first in range(0, len(told), PANELS)]
    figures: list[Block] = []
    for number, traces in enumerate(parts, start=1):
        drawing = forest(
            [Panel(trace, _bars(evidence, trace)) for trace in traces],
            file_name=f"gains_{number}.svg",
            title="Change of the 95th percentile of bounded slowdown on each trace, with intervals"
            + (f" ({number} of {len(parts)})" if len(parts) > 1 else ""),
            caption=(
                f"Each policy less {evidence.objective.claims.baseline}, as per cent of the latter's as "
                "replayed; left of zero is better. Cross: the replay. Bars: the interval over shaken "
                "replicas, and over weeks drawn anew; they may pass -100 %, for in other draws the baseline "
                "fares worse. What lies beyond the axis stands at its edge."
            ),
            x_label="change (%)",
            value_label="as replayed",
            interval_labels=("shaken", "other weeks"),
        )
        figures.append(Figure.of(drawing, ROBUSTNESS.name))
    return figures


def _bars(evidence: AcrossEvidence, trace: str) -> list[Bar]:
    return [_bar(policy, evidence.change(trace, policy)) for policy in evidence.candidates]


def _bar(policy: str, row: Row | None) -> Bar:
    if row is None:
        return Bar(policy, None, Interval(None, None), Interval(None, None))

    def percent(name: str) -> float | None:
        ratio = relative(row[name], row["baseline_value"])
        return None if ratio is None else 100 * ratio

    return Bar(
        policy,
        percent("difference"),
        Interval(percent("lower"), percent("upper")),
        Interval(percent("block_lower"), percent("block_upper")),
    )


def _of(evidence: AcrossEvidence, policy: str) -> Table:
    columns = (
        Column("trace"),
        Column("change as replayed", Kind.NUMBER),
        Column("of the baseline's", Kind.NUMBER),
        Column("shaken", Kind.NUMBER),
        Column("other weeks", Kind.NUMBER),
        Column("demands met in replicas, the least"),
        Column("mean wait (baseline's)", Kind.NUMBER),
        Column("the gain"),
        Column("outcome", Kind.VERDICT),
    )
    rows = []
    for trace in evidence.traces:
        row = evidence.change(trace, policy)
        steady = evidence.rows(trace, ROBUSTNESS.name, policy=policy, time_window=Window.STEADY)
        numbers: Sequence[str] = [NO_EVIDENCE] * 6
        if row is not None:
            numbers = (
                signed(row["difference"]),
                share(relative(row["difference"], row["baseline_value"]), is_change=True),
                span(row["lower"], row["upper"]),
                span(row["block_lower"], row["block_upper"]),
                least_met(steady),
                _waits(steady),
            )
        fate = Survival.UNKNOWN if row is None else survival(row)
        rows.append((trace, *numbers, fate.value, told_outcome(evidence, trace, policy)))
    return Table(
        f"{policy}: change of the 95th percentile of bounded slowdown, steady window.",
        columns,
        tuple(rows),
        (ROBUSTNESS.name, CLAIM_VERDICTS.name),
    )


def _waits(rows: Sequence[Row]) -> str:
    """The policy's mean wait, and the baseline's beside it."""
    (row,) = (row for row in rows if row["measure"] == "mean_wait_s")
    return f"{duration(row['policy_value'])} ({duration(row['baseline_value'])})"
