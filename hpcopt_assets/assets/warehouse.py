"""Asset of warehouse: the DuckDB catalog over every table, swapped in whole."""

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import OWNER
from hpcopt_assets.contracts.tables import TABLES
from hpcopt_assets.orchestration.files import beside
from hpcopt_assets.orchestration.io import TABLE_METADATA, markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.provenance import code_version
from hpcopt_assets.warehouse.catalog import build_catalog

ONE_WRITER = "duckdb"


def warehouse_assets(upstream: list[dg.AssetsDefinition]) -> list[dg.AssetsDefinition]:
    """The catalog over the tables of `upstream`; it scans the store, so these only draw its edges."""
    folders: dict[str, tuple[str, ...]] = dict.fromkeys(TABLES, ())
    whole: set[str] = set()
    for definition in upstream:
        for key, metadata in definition.metadata_by_key.items():
            if TABLE_METADATA in metadata:
                folders[metadata[TABLE_METADATA]] += ("/".join(key.path),)
                if definition.partitions_def is None:
                    whole.add("/".join(key.path))

    @dg.asset(
        deps=[key for definition in upstream for key in definition.keys],
        group_name="publish",
        owners=[OWNER],
        kinds={"duckdb"},
        pool=ONE_WRITER,
        code_version=code_version(("warehouse",), ()),
        description="Views over every table of every trace, with comments: data/hpcopt.duckdb.",
    )
    def duckdb_catalog(
        context: dg.AssetExecutionContext, project: dg.ResourceParam[Project]
    ) -> dg.MaterializeResult[None]:
        known = frozenset(context.instance.get_dynamic_partitions(traces.name or ""))
        with beside(project.duckdb) as target:
            target.unlink()  # DuckDB refuses an empty file; it makes its own
            views = build_catalog(
                target,
                store=project.store,
                folders=folders,
                tables=TABLES,
                traces=known,
                whole=frozenset(whole),
            )
        shown = pl.DataFrame(
            [(view.name, view.rows_count, ", ".join(view.missing)) for view in views],
            schema=["view", "rows", "missing"],
            orient="row",
        )
        return dg.MaterializeResult(
            metadata={
                "dagster/uri": dg.MetadataValue.path(str(project.duckdb)),
                "views": dg.MetadataValue.md(markdown_table(shown)),
                "traces_count": len(known),
            }
        )

    return [duckdb_catalog]
