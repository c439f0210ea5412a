"""Chapters on fidelity by quarter, and on which policy's replay is closest to the record.

In:  TraceEvidence.   Out: blocks.
"""

from __future__ import annotations

import math

import polars as pl

from hpcopt_assets.contracts.tables import FIDELITY_VERDICTS, POLICY_CLOSENESS
from hpcopt_assets.contracts.vocabulary import OBSERVED, WHOLE, FidelityCriterion, Verdict
from hpcopt_assets.dossier.blocks import Block, Column, Figure, Heading, Kind, Paragraph, Table
from hpcopt_assets.dossier.evidence import TraceEvidence
from hpcopt_assets.dossier.numbers import UNKNOWN, count, real
from hpcopt_assets.plots.verdicts import verdict_grid

LOOKS = {
    Verdict.PASS.value: ("P", "#a6dcc8"),
    Verdict.FAIL.value: ("F", "#f3c19b"),
    Verdict.NOT_ASSESSED.value: ("\N{EN DASH}", "#ffffff"),
}
RELIABLE_BELOW = 1.5
# Of the trials with a known policy whose distance was below it, nearly all were found (docs/verdicts.md).


def quarters(evidence: TraceEvidence) -> list[Block]:
    """The overall verdict of each policy in each calendar quarter."""
    heading = Heading(2, "Is it like the record in every quarter?")
    overall = evidence.table(FIDELITY_VERDICTS.name).filter(
        pl.col("period") != WHOLE,
        pl.col("policy") != OBSERVED,
        criterion=FidelityCriterion.OVERALL.value,
    )
    if overall.is_empty():
        return [heading, Paragraph("The trace has no quarters to tell apart.")]
    periods = sorted(overall["period"].unique())
    verdicts = {(row[0], row[1]): row[2] for row in overall.select("policy", "period", "verdict").iter_rows()}
    none = Verdict.NOT_ASSESSED.value
    policies = [policy for policy in evidence.policies.ids if (policy, periods[0]) in verdicts]
    drawing = verdict_grid(
        [[verdicts.get((policy, period), none) for period in periods] for policy in policies],
        rows=policies,
        columns=periods,
        looks=LOOKS,
        file_name="quarters.svg",
        title="Likeness to the record, by quarter",
        caption=(
            "P: PASS, F: FAIL, dash: NOT_ASSESSED; all criteria together, over the jobs released in the "
            "quarter."
        ),
        x_label="calendar quarter of release",
    )
    figure = Figure.of(drawing, FIDELITY_VERDICTS.name)
    return [
        heading,
        Paragraph(
            "A verdict over the whole trace can hide a drained month or a changed rule. Here each quarter is "
            "judged by the same criteria. A queue that the replay has and the site had not goes on into the "
            "next quarter, so neighbouring quarters are not independent."
        ),
        figure,
        _counted(periods, overall),
    ]


def _counted(periods: list[str], overall: pl.DataFrame) -> Block:
    only = overall["verdict"].unique().to_list()
    if len(only) == 1:
        return Paragraph(f"In every quarter every policy's replay is {only[0]}.")
    rows = []
    for period in periods:
        found = overall.filter(period=period)
        counts = (found.filter(verdict=verdict.value) for verdict in Verdict)
        rows.append((period, *(str(each.height) for each in counts)))
    columns = (
        Column("quarter"),
        *(Column(f"{verdict.value} (count of policies)", Kind.NUMBER) for verdict in Verdict),
    )
    return Table("Policies by their verdict.", columns, tuple(rows), (FIDELITY_VERDICTS.name,))


def closest(evidence: TraceEvidence) -> list[Block]:
    """Policies by the distance of their waits to the record's, with how little a first place may say."""
    frame = evidence.table(POLICY_CLOSENESS.name)
    whole = frame.filter(period=WHOLE).sort("rank", "policy", nulls_last=True)
    first = [row for row in whole.iter_rows(named=True) if row["rank"] == 1]
    rows = tuple(
        (
            UNKNOWN if row["rank"] is None else count(row["rank"]),
            row["policy"],
            real(row["distance"]),
            UNKNOWN if row["distance"] is None else real(math.exp(row["distance"])),
            count(row["jobs_count"]),
            row["fidelity"],
        )
        for row in whole.iter_rows(named=True)
    )
    columns = (
        Column("rank", Kind.NUMBER),
        Column("policy"),
        Column("distance (nats)", Kind.NUMBER),
        Column("waits off by a factor of", Kind.NUMBER),
        Column("jobs (count)", Kind.NUMBER),
        Column("like the record?", Kind.VERDICT),
    )
    caption = (
        "Distance: mean over jobs of |ln((replayed wait + floor) / (observed wait + floor))|, the floor "
        f"being {evidence.fidelity.closeness_floor_s} s; its exponential is the factor. Whole trace."
    )
    return [
        Heading(2, "Which policy's replay is closest?"),
        Paragraph(_said_of(first, frame)),
        Table(caption, columns, rows, (POLICY_CLOSENESS.name,)),
    ]


def _said_of(first: list[dict[str, object]], frame: pl.DataFrame) -> str:
    if not first:
        return "No policy could be ranked: too few jobs ran in the record and in every replay."
    names = " and ".join(str(row["policy"]) for row in first)
    distance = float(str(first[0]["distance"]))
    quarters = frame.filter((pl.col("period") != WHOLE) & (pl.col("rank") == 1))
    also = quarters.filter(pl.col("policy").is_in([str(row["policy"]) for row in first]))["period"].n_unique()
    many = frame.filter((pl.col("period") != WHOLE) & pl.col("rank").is_not_null())["period"].n_unique()
    text = f"{names} is closest" + (
        f", and in {also} of {many} quarters that could be ranked" if many else ""
    )
    if distance >= RELIABLE_BELOW:
        return (
            f"{text}. Closest is not alike: at a distance of {real(distance)} the ranking cannot be relied "
            f"on. (Where the policy was known, it was found nearly always below {real(RELIABLE_BELOW)}, and "
            "ever less often above.) It says which replay's waits are nearest, not what the site runs."
        )
    return f"{text}. Closest is not alike: whether the replay is like the record stands beside each rank."
