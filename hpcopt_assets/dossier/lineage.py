"""The lineage chapter: when, by which code and from which inputs each table behind the dossier was made.

In:  what stands behind a document.   Out: blocks, kept apart from the substance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hpcopt_assets.contracts.identities import VERSION
from hpcopt_assets.contracts.lineage import InputVersion, Materialization, SourceFile
from hpcopt_assets.contracts.tables import RAW_TRACE
from hpcopt_assets.dossier.blocks import Block, Column, Heading, Kind, Paragraph, Table, Tone
from hpcopt_assets.dossier.data import Behind
from hpcopt_assets.dossier.numbers import UNKNOWN, count, instant

DIGITS = 12
# Of a version's 64 hexadecimal digits: enough to tell any two apart, short enough for a page.


def lineage(behind: Behind) -> list[Block]:
    """From the raw files to every table: one row a materialization; then seeds and the environment."""
    blocks: list[Block] = [Heading(2, "Lineage")]
    if behind.lineage:
        blocks += [
            Paragraph(
                "Every table and figure above names the assets that its numbers stand in. Here is how these "
                "were made, read from the event log by following each one's input pointers, down to the raw "
                f"files. Code and data versions are hashes, cut to {DIGITS} digits; a data version is the "
                "hash of a table's content, so the same version is the same table. Where it begins with "
                "version_ it is keyed, for the table names people."
            ),
            _sources(behind.sources),
            _materializations(behind.lineage),
            _inputs(behind.lineage),
        ]
    else:
        blocks.append(
            Paragraph("No lineage was recorded: nothing here can be traced back to its inputs.", Tone.CAVEAT)
        )
    seeds = tuple((what, str(seed)) for what, seed in behind.seeds.items())
    versions = tuple(sorted(behind.environment.items()))
    return [
        *blocks,
        Table("Seeds of what is drawn at random.", (Column("what"), Column("seed", Kind.NUMBER)), seeds),
        Table("Versions of what computed this.", (Column("package"), Column("version", Kind.CODE)), versions),
        Paragraph(f"This document was made at {instant(behind.generated_at.timestamp())}."),
    ]


def _sources(sources: Mapping[str, Sequence[SourceFile]]) -> Table:
    rows = tuple(
        (trace_id, file.source_file, file.sha256)
        for trace_id, files in sorted(sources.items())
        for file in files
    )
    columns = (Column("trace"), Column("file in data/raw"), Column("SHA-256 of its bytes", Kind.CODE))
    return Table("Raw files, where everything begins.", columns, rows, (RAW_TRACE.name,))


def _materializations(lineage: Sequence[Materialization]) -> Table:
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


def _inputs(lineage: Sequence[Materialization]) -> Table:
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
    if version is None:
        return UNKNOWN
    return version if version.startswith(f"{VERSION}_") else version[:DIGITS]
