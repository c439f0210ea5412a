"""The lineage chapter: when, by which code and from which inputs each table behind the dossier was made.

In:  lineage records, package versions, a time.   Out: blocks, kept apart from the substance.
"""

from __future__ import annotations

from hpcopt_assets.contracts.lineage import InputVersion, Materialization
from hpcopt_assets.dossier.blocks import Block, Column, Heading, Kind, Paragraph, Table, Tone
from hpcopt_assets.dossier.evidence import TraceEvidence
from hpcopt_assets.dossier.numbers import UNKNOWN, count, instant

DIGITS = 12
# Of a version's 64 hexadecimal digits: enough to tell any two apart, short enough for a page.


def lineage(evidence: TraceEvidence) -> list[Block]:
    """One row a materialization, then the environment."""
    blocks: list[Block] = [Heading(2, "Lineage")]
    if evidence.lineage:
        blocks += [
            Paragraph(
                "Read from the event log by following each table's input pointers. Code and data versions "
                f"are hashes, cut to {DIGITS} digits here; a data version is the hash of a table's content, "
                "so the same version is the same table."
            ),
            _materializations(evidence.lineage),
            _inputs(evidence.lineage),
        ]
    else:
        blocks.append(
            Paragraph("No lineage was recorded: nothing here can be traced back to its inputs.", Tone.CAVEAT)
        )
    versions = tuple(sorted(evidence.environment.items()))
    return [
        *blocks,
        Table("Versions of what computed this.", (Column("package"), Column("version", Kind.CODE)), versions),
        Paragraph(f"This document was made at {instant(evidence.generated_at.timestamp())}."),
    ]


def _materializations(lineage: tuple[Materialization, ...]) -> Table:
    columns = (
        Column("record", Kind.NUMBER),
        Column("asset", Kind.CODE),
        Column("partition"),
        Column("made at"),
        Column("rows (count)", Kind.NUMBER),
        Column("code version", Kind.CODE),
        Column("data version", Kind.CODE),
        Column("run", Kind.CODE),
    )
    rows = tuple(
        (
            str(item.record_id),
            item.asset,
            item.partition or "none",
            instant(item.at_s),
            count(item.rows_count),
            _short(item.code_version),
            _short(item.data_version),
            item.run_id,
        )
        for item in lineage
    )
    return Table("Materializations, upstream first.", columns, rows)


def _inputs(lineage: tuple[Materialization, ...]) -> Table:
    def source(item: InputVersion) -> tuple[str, ...]:
        record = UNKNOWN if item.record_id is None else str(item.record_id)
        return item.asset, record, _short(item.data_version)

    rows = tuple((str(item.record_id), item.asset, *source(read)) for item in lineage for read in item.inputs)
    columns = (
        Column("record", Kind.NUMBER),
        Column("asset", Kind.CODE),
        Column("was made from", Kind.CODE),
        Column("its record", Kind.NUMBER),
        Column("its data version", Kind.CODE),
    )
    return Table("What each of them was made from.", columns, rows)


def _short(version: str | None) -> str:
    return UNKNOWN if version is None else version[:DIGITS]
