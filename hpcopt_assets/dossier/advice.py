"""The chapter on what is recommended: outcome, trade-offs and cost of each policy.

In:  TraceEvidence.   Out: blocks. The words are those of the table recommendation.
"""

from __future__ import annotations

from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION
from hpcopt_assets.contracts.vocabulary import Verdict
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.blocks import Block, Column, Heading, Kind, Paragraph, Table
from hpcopt_assets.dossier.evidence import Row, TraceEvidence
from hpcopt_assets.dossier.numbers import UNKNOWN, duration, real, share
from hpcopt_assets.dossier.summary import ranked


def recommended(evidence: TraceEvidence) -> list[Block]:
    """What is recommended, or that nothing is; the front; and at whose cost each candidate would be."""
    found = {row["policy"]: row for row in evidence.table(RECOMMENDATION.name).iter_rows(named=True)}
    baseline = evidence.objective.claims.baseline
    order = [policy for policy in (baseline, *ranked(evidence)) if policy in found]
    return [
        Heading(2, "What is recommended?"),
        *(Paragraph(found[baseline]["reason"]) for _ in order[:1]),
        _front([found[policy] for policy in order]),
        _costs([found[policy] for policy in order if policy != baseline]),
    ]


def _front(rows: list[Row]) -> Table:
    columns = (
        Column("policy"),
        Column("outcome", Kind.VERDICT),
        Column("p95 bounded slowdown (ratio)", Kind.NUMBER),
        Column("mean wait", Kind.NUMBER),
        Column("utilisation", Kind.NUMBER),
        Column("Jain's index of service (0 to 1)", Kind.NUMBER),
        Column("starved jobs", Kind.NUMBER),
        Column("on the front?"),
        Column("matched or beaten in all by"),
    )
    caption = (
        "Steady window. On the front: no policy is at least as good in all five measures and better in one. "
        "Being there is no recommendation: a policy may lead in one measure at the cost of another."
    )
    lines = tuple(
        (
            row["policy"],
            "the baseline" if row["is_baseline"] else row["outcome"] or Verdict.NOT_ASSESSED.value,
            real(row["p95_bsld"]),
            duration(row["mean_wait_s"]),
            share(row["utilisation_ratio"]),
            real(row["jain_service"]),
            share(row["starved_ratio"]),
            UNKNOWN if row["is_on_front"] is None else "yes" if row["is_on_front"] else "no",
            row["dominated_by"] or "none",
        )
        for row in rows
    )
    return Table(caption, columns, lines, (RECOMMENDATION.name,))


def _costs(rows: list[Row]) -> Table:
    columns = (Column("policy"), Column("fails"), Column("better"), Column("worse"))
    lines = tuple(
        (
            row["policy"],
            words.in_words(row["failed"]) if row["failed"] else "nothing",
            row["improved"] or "nothing noticeable",
            row["worsened"] or "nothing that is measured",
        )
        for row in rows
    )
    caption = (
        "What each candidate would bring, and at whose cost: baseline -> candidate, over the steady window. "
        "Keys of measures are explained under Every measure; names of measures that end in _s are in seconds."
    )
    return Table(caption, columns, lines, (RECOMMENDATION.name,))
