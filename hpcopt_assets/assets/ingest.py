"""Assets of ingest: raw_trace -> trace_jobs, trace_rejects, ingest_report."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.tables import INGEST_REPORT, RAW_TRACE, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.ingest.parsed import SourceFile
from hpcopt_assets.ingest.reader import combined_sha256, ingest, raw_trace_rows
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.sources import source_files


def _named(paths: list[Path], raw_dir: Path) -> tuple[SourceFile, ...]:
    return tuple(SourceFile(path, path.relative_to(raw_dir).as_posix()) for path in paths)


def ingest_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The two steps from files in data/raw to canonical tables."""

    @dg.asset(
        partitions_def=traces,
        # The registry is not among the decisions read: it has an entry a trace, and a code version speaks of
        # all traces. A changed entry is part of what the arrivals sensor compares.
        **declared(RAW_TRACE, group="ingest", rooms=("ingest",), reads=(configs.ingest,), kinds=("file",)),
    )
    def raw_trace(context: dg.AssetExecutionContext, project: dg.ResourceParam[Project]) -> pl.DataFrame:
        trace_id = context.partition_key
        return raw_trace_rows(
            _named(source_files(project.raw, trace_id, configs.traces), project.raw),
            trace_id=trace_id,
            entry=configs.traces.entry(trace_id),
            limits=configs.ingest,
        )

    @dg.multi_asset(
        name="ingest",
        partitions_def=traces,
        outs={
            table.name: dg.AssetOut(
                **declared(table, group="ingest", rooms=("ingest",), reads=(configs.ingest,))
            )
            for table in (TRACE_JOBS, TRACE_REJECTS, INGEST_REPORT)
        },
    )
    def ingest_trace(
        context: dg.AssetExecutionContext, raw_trace: pl.DataFrame, project: dg.ResourceParam[Project]
    ) -> Iterator[dg.Output[pl.DataFrame | Path]]:
        project.store.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=project.store, prefix=".ingest-") as staging:
            found = ingest(
                _named([project.raw / name for name in raw_trace["source_file"]], project.raw),
                trace_id=context.partition_key,
                entry=TraceEntry.model_validate_json(raw_trace["entry"][0]),
                limits=configs.ingest,
                staging=Path(staging),
            )
            _same_files(raw_trace, found.report)
            yield dg.Output(found.jobs_path, TRACE_JOBS.name)
        yield dg.Output(found.rejects, TRACE_REJECTS.name)
        counts = {
            name: pl.DataFrame(list(rows.items()), schema=["what", "count"], orient="row")
            for name, rows in found.breakdown.items()
        }
        shown = {name: dg.MetadataValue.md(markdown_table(rows)) for name, rows in counts.items()}
        yield dg.Output(found.report, INGEST_REPORT.name, metadata=shown)

    return [raw_trace, ingest_trace]


def _same_files(raw_trace: pl.DataFrame, report: pl.DataFrame) -> None:
    recorded = combined_sha256(list(raw_trace.select("source_file", "sha256").iter_rows()))
    read = report["sha256"].item()
    if read != recorded:
        raise EvidenceError(
            found=f"SHA-256 {read[:12]}",
            needed=f"{recorded[:12]}, which raw_trace recorded",
            where=f"the files of trace {report['trace_id'].item()}",
            next_step="They were replaced: materialize raw_trace again.",
        )
