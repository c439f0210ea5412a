"""Assets of ingest: raw_trace -> trace_jobs, trace_rejects, ingest_report."""

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.tables import INGEST_REPORT, RAW_TRACE, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets.ingest.reader import ingest, raw_trace_row
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.sources import source_of


def ingest_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The two steps from a file in data/raw to canonical tables."""

    @dg.asset(
        partitions_def=traces,
        # The registry is not among the decisions read: it has an entry a trace, and a code version speaks of
        # all traces. A changed entry is part of what the arrivals sensor compares.
        **declared(RAW_TRACE, group="ingest", rooms=("ingest",), kinds=("file",)),
    )
    def raw_trace(context: dg.AssetExecutionContext, project: dg.ResourceParam[Project]) -> pl.DataFrame:
        trace_id = context.partition_key
        return raw_trace_row(
            source_of(project.raw, trace_id),
            trace_id=trace_id,
            raw_dir=project.raw,
            entry=configs.traces.entry(trace_id),
        )

    @dg.multi_asset(
        name="ingest",
        partitions_def=traces,
        outs={
            table.name: dg.AssetOut(**declared(table, group="ingest", rooms=("ingest",)))
            for table in (TRACE_JOBS, TRACE_REJECTS, INGEST_REPORT)
        },
    )
    def ingest_trace(
        context: dg.AssetExecutionContext, raw_trace: pl.DataFrame, project: dg.ResourceParam[Project]
    ) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        source = raw_trace.row(0, named=True)
        found = ingest(
            project.raw / source["source_file"],
            **{
                key: source[key]
                for key in ("trace_id", "source_file", "capacity_procs", "timezone", "is_synthetic")
            },
        )
        sha256 = found.report["sha256"].item()
        if sha256 != source["sha256"]:
            raise EvidenceError(
                found=f"SHA-256 {sha256[:12]}",
                needed=f"{source['sha256'][:12]}, which raw_trace recorded",
                where=f"data/raw/{source['source_file']}",
                next_step="The file was replaced: materialize raw_trace again.",
            )
        for name, counts in found.breakdown.items():
            shown = pl.DataFrame(list(counts.items()), schema=["what", "count"], orient="row")
            context.add_output_metadata(
                {name: dg.MetadataValue.md(markdown_table(shown))}, INGEST_REPORT.name
            )
        return found.jobs, found.rejects, found.report

    return [raw_trace, ingest_trace]
