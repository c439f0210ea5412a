"""A dossier as data: the content that people read, and the tables behind it with every digit.

In:  Document, tables by their contracts, errors, decisions, lineage.   Out: `DossierFile`, its JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import polars as pl

from hpcopt_assets.contracts import dossier_file as df
from hpcopt_assets.contracts.columns import DType
from hpcopt_assets.contracts.columns import Table as Contract
from hpcopt_assets.contracts.identities import VERSION, Holds, holds
from hpcopt_assets.contracts.lineage import ArtefactError, Materialization, SourceFile
from hpcopt_assets.dossier.blocks import Block, Bullets, Document, Figure, Heading, Links, Paragraph, Table

KINDS = (*(kind.value for kind in Holds if kind.is_identity), VERSION)
HIDDEN = re.compile(rf"\b({'|'.join(KINDS)})_[0-9a-f]{{16}}\b")
# A pseudonym. It comes of the site's own key, so that it is another one at another site.


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
    """The file's content. Two runs that made the same tables differ in `provenance` alone.

    Who has a pseudonym is numbered in the order of the text: `user_1`. `provenance` says whom a number means.
    """
    numbered = Numbered()
    substance: dict[str, Any] = {
        "kind": kind,
        "name": name,
        "title": document.title,
        "errors": [asdict(error) for error in behind.errors],
        "content": [_part(block).model_dump() for block in document.substance],
        "tables": [_table(*each).model_dump() for each in behind.tables],
        "configuration": dict(behind.configuration),
        "seeds": dict(behind.seeds),
        "sources": [
            {"trace_id": trace_id} | asdict(file)
            for trace_id, files in sorted(behind.sources.items())
            for file in files
        ],
    }
    substance = numbered.within(substance)
    lineage = tuple(
        df.LineagePart(**numbered.within(_lineage(item).model_dump())) for item in _in_order(behind.lineage)
    )
    nothing = df.ProvenancePart(generated_at="", records=(), pseudonyms={}, environment={})
    told = df.DossierFile(**substance, substance_sha256="", lineage=(), provenance=nothing)
    return df.DossierFile(
        **substance,
        substance_sha256=hashlib.sha256(as_json(told).encode()).hexdigest(),
        lineage=lineage,
        provenance=df.ProvenancePart(
            generated_at=_instant(behind.generated_at),
            records=tuple(_record(item) for item in _in_order(behind.lineage)),
            pseudonyms={number: pseudonym for pseudonym, number in numbered.numbers.items()},
            environment=dict(sorted(behind.environment.items())),
        ),
    )


@dataclass
class Numbered:
    """Numbers for pseudonyms, each given when the pseudonym is first seen."""

    numbers: dict[str, str] = field(default_factory=dict)

    def within(self, value: Any) -> Any:
        """The value with a number for every pseudonym in its texts, however deep."""
        match value:
            case str():
                return HIDDEN.sub(self._number, value)
            case dict():
                return {key: self.within(inner) for key, inner in value.items()}
            case list() | tuple():
                return [self.within(inner) for inner in value]
            case _:
                return value

    def _number(self, found: re.Match[str]) -> str:
        kind = found[1]
        so_far = sum(number.startswith(f"{kind}_") for number in self.numbers.values())
        return self.numbers.setdefault(found[0], f"{kind}_{so_far + 1}")


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
    untold = [column.name for column in contract.columns if column.dtype is DType.BINARY]
    told = [column for column in contract.columns if column.name not in untold]
    # Pseudonyms have an order that says nothing; rows that differ in no more keep that of the table.
    hidden = [column.name for column in contract.columns if holds(contract, column).is_identity]
    order = [name for name in contract.key if name not in hidden]
    rows = frame.select(column.name for column in told).sort(order, nulls_last=True, maintain_order=True)
    return df.DataTable(
        asset=asset,
        means=contract.means,
        key=contract.key,
        columns=tuple(
            df.DataColumn(name=c.name, unit=c.unit, type=c.dtype.value, means=c.means) for c in told
        ),
        left_out=tuple(untold),
        rows=tuple(tuple(map(_cell, row)) for row in rows.iter_rows()),
    )


def _cell(value: Any) -> df.Cell:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "infinite" if value > 0 else "minus infinite"
    return list(value) if isinstance(value, (list, tuple)) else value


def _in_order(lineage: Iterable[Materialization]) -> list[Materialization]:
    """By what they are, not by when they were made."""
    return sorted(lineage, key=lambda item: (item.asset, item.partition or "", item.record_id))


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
