"""A dossier as data: the content that people read, and the tables behind it with every digit.

In:  Document, tables by their contracts, errors, decisions, lineage.   Out: `DossierFile`, its JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from hpcopt_assets.contracts import dossier_file as df
from hpcopt_assets.contracts.columns import DType
from hpcopt_assets.contracts.columns import Table as Contract
from hpcopt_assets.contracts.lineage import ArtefactError, Materialization, SourceFile
from hpcopt_assets.dossier.blocks import Block, Bullets, Document, Figure, Heading, Links, Paragraph, Table

NOT_TOLD = {("forecast_scores", "note"), ("raw_trace", "entry")}
# Table and column in which names of people stand.


@dataclass(frozen=True)
class Behind:
    """What stands behind a document: tables by asset and contract, errors, decisions, seeds, files, lineage.

    `sources` maps trace ids to the files they were read from.
    """

    tables: Sequence[tuple[str, Contract, pl.DataFrame]]
    errors: Sequence[ArtefactError]
    configuration: Mapping[str, Any]
    seeds: Mapping[str, int]
    sources: Mapping[str, Sequence[SourceFile]]
    lineage: Sequence[Materialization]
    environment: Mapping[str, str]
    generated_at: datetime


def as_data(kind: df.DossierKind, name: str, document: Document, behind: Behind) -> df.DossierFile:
    """The file's content. Two runs that made the same tables differ in `provenance` alone."""
    substance: dict[str, Any] = {
        "kind": kind,
        "name": name,
        "title": document.title,
        "errors": tuple(df.ErrorPart(**asdict(error)) for error in behind.errors),
        "content": tuple(map(_part, document.substance)),
        "tables": tuple(_table(*each) for each in behind.tables),
        "configuration": dict(behind.configuration),
        "seeds": dict(behind.seeds),
        "sources": tuple(
            df.SourcePart(trace_id=trace_id, source_file=file.source_file, sha256=file.sha256)
            for trace_id, files in sorted(behind.sources.items())
            for file in files
        ),
    }
    lineage = tuple(map(_lineage, _in_order(behind.lineage)))
    nothing = df.ProvenancePart(generated_at="", records=(), environment={})
    told = df.DossierFile(**substance, substance_sha256="", lineage=(), provenance=nothing)
    return df.DossierFile(
        **substance,
        substance_sha256=hashlib.sha256(as_json(told).encode()).hexdigest(),
        lineage=lineage,
        provenance=df.ProvenancePart(
            generated_at=_instant(behind.generated_at),
            records=tuple(_record(item) for item in _in_order(behind.lineage)),
            environment=dict(sorted(behind.environment.items())),
        ),
    )


def as_json(file: df.DossierFile) -> str:
    """The file's text: same content, same bytes."""
    return json.dumps(file.model_dump(mode="json"), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _part(block: Block) -> df.Part:
    match block:
        case Heading(level, text):
            return df.HeadingPart(level=level, text=text)
        case Paragraph(text, tone):
            return df.ParagraphPart(tone=tone.value, text=text)
        case Bullets(items):
            return df.PointsPart(points=tuple(df.Point(lead=item.lead, text=item.text) for item in items))
        case Links(links):
            return df.LinksPart(links=tuple(df.LinkPart(text=link.text, href=link.href) for link in links))
        case Table(caption, columns, rows, assets):
            names = tuple(column.name for column in columns)
            return df.TablePart(caption=caption, assets=assets, columns=names, rows=rows)
        case Figure(file_name, svg, title, caption, assets):
            return df.FigurePart(
                file_name=file_name,
                sha256=hashlib.sha256(svg.encode()).hexdigest(),
                title=title,
                caption=caption,
                assets=assets,
            )


def _table(asset: str, contract: Contract, frame: pl.DataFrame) -> df.DataTable:
    untold = [
        column.name
        for column in contract.columns
        if column.dtype is DType.BINARY or (contract.name, column.name) in NOT_TOLD
    ]
    told = [column for column in contract.columns if column.name not in untold]
    rows = frame.select([column.name for column in told]).sort(contract.key, nulls_last=True).iter_rows()
    return df.DataTable(
        asset=asset,
        means=contract.means,
        key=contract.key,
        columns=tuple(
            df.DataColumn(name=c.name, unit=c.unit, type=c.dtype.value, means=c.means) for c in told
        ),
        left_out=tuple(untold),
        rows=tuple(tuple(map(_cell, row)) for row in rows),
    )


def _cell(value: Any) -> df.Cell:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "infinite" if value > 0 else "minus infinite"
    return list(value) if isinstance(value, (list, tuple)) else value


def _in_order(lineage: Iterable[Materialization]) -> list[Materialization]:
    """By what they are, not by when they were made."""
    return sorted(lineage, key=lambda item: (item.asset, item.partition or "", item.data_version or ""))


def _lineage(item: Materialization) -> df.LineagePart:
    inputs = sorted((source.asset, source.data_version or "") for source in item.inputs)
    return df.LineagePart(
        asset=item.asset,
        partition=item.partition,
        code_version=item.code_version,
        data_version=item.data_version,
        rows_count=item.rows_count,
        inputs=tuple(df.InputPart(asset=asset, data_version=version or None) for asset, version in inputs),
    )


def _record(item: Materialization) -> df.RecordPart:
    return df.RecordPart(
        asset=item.asset,
        partition=item.partition,
        record_id=item.record_id,
        made_at=_instant(datetime.fromtimestamp(item.at_s, UTC)),
        run_id=item.run_id,
    )


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
