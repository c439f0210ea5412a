"""Asset checks, by factory: what is stored keeps its contract, and no schedule breaks a rule.

In:  assets whose metadata names their table.   Out: blocking checks.
"""

import warnings
from collections.abc import Callable, Iterable

import dagster as dg
import polars as pl

from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.contracts.errors import ContractError
from hpcopt_assets.contracts.placement_config import ClusterConfig
from hpcopt_assets.contracts.placement_tables import PLACEMENT_SNAPSHOTS
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import INGEST_REPORT, INVARIANT_REPORT, TABLES
from hpcopt_assets.contracts.vocabulary import Verdict
from hpcopt_assets.orchestration.io import TABLE_METADATA, markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.progress import IN_WORDS

CONTRACT_CHECK = "keeps_its_contract"


def blocking_check(
    judge: Callable[[pl.DataFrame], dg.AssetCheckResult],
    *,
    name: str,
    asset: dg.AssetKey,
    description: str,
    partitions: dg.PartitionsDefinition[str] | None = traces,
) -> dg.AssetChecksDefinition:
    """A check that is handed one partition of the stored table and blocks what is downstream of it."""

    def judge_stored(stored: pl.DataFrame) -> dg.AssetCheckResult:
        return judge(stored)

    with warnings.catch_warnings():
        # Without `partitions_def` a check is handed all partitions as soon as there are two. Dagster calls
        # the parameter a preview; delete this filter when it no longer does.
        warnings.filterwarnings("ignore", "Specifying a partitions_def", dg.PreviewWarning)
        return dg.asset_check(
            name=name, asset=asset, description=description, blocking=True, partitions_def=partitions
        )(judge_stored)


def contract_check(
    key: dg.AssetKey, table: Table, partitions: dg.PartitionsDefinition[str] | None = traces
) -> dg.AssetChecksDefinition:
    """Judge every column, row rule and key of the table as it is stored."""

    def keeps_its_contract(stored: pl.DataFrame) -> dg.AssetCheckResult:
        try:
            validate(table, stored)
        except ContractError as error:
            return dg.AssetCheckResult(passed=False, metadata={"failures": str(error)})
        return dg.AssetCheckResult(passed=True, metadata={"rows_count": stored.height})

    return blocking_check(
        keeps_its_contract,
        name=CONTRACT_CHECK,
        asset=key,
        description=f"Columns, types, domains, key and row rules of table {table.name}.",
        partitions=partitions,
    )


def contract_checks(definitions: Iterable[dg.AssetsDefinition]) -> list[dg.AssetChecksDefinition]:
    """A contract check for every asset that stores a table."""
    return [
        contract_check(key, TABLES[metadata[TABLE_METADATA]], definition.partitions_def)
        for definition in definitions
        for key, metadata in definition.metadata_by_key.items()
        if TABLE_METADATA in metadata
    ]


def reject_check(limits: IngestConfig) -> dg.AssetChecksDefinition:
    """Warn where more lines than usual became no job; stop the trace where that is most of the story."""

    def few_lines_are_rejected(stored: pl.DataFrame) -> dg.AssetCheckResult:
        row = stored.row(0, named=True)
        read = (
            row["lines_count"]
            - row["header_lines_count"]
            - row["comment_lines_count"]
            - row["blank_lines_count"]
        )
        ratio = row["rejects_count"] / max(read, 1)
        is_error = ratio > limits.max_reject_ratio
        return dg.AssetCheckResult(
            passed=ratio <= limits.warn_reject_ratio,
            severity=dg.AssetCheckSeverity.ERROR if is_error else dg.AssetCheckSeverity.WARN,
            metadata={
                IN_WORDS: f"{ratio:.1%} of the data lines became no job; more than "
                f"{limits.max_reject_ratio:.0%} stop a trace (configs/ingest.yaml). The table trace_rejects "
                "tells each with its reason; `hpcopt ingest FILE --out FOLDER` writes it to look at.",
                "rejects_ratio": ratio,
                "rejects_count": row["rejects_count"],
                "warn_above_ratio": limits.warn_reject_ratio,
                "error_above_ratio": limits.max_reject_ratio,
            },
        )

    return blocking_check(
        few_lines_are_rejected,
        name="few_lines_are_rejected",
        asset=dg.AssetKey(INGEST_REPORT.name),
        description="Share of the data lines that became no job.",
    )


def invariant_check() -> dg.AssetChecksDefinition:
    """Fail where a row of the invariant report says FAIL, and where there is no row at all."""

    def no_rule_is_broken(stored: pl.DataFrame) -> dg.AssetCheckResult:
        broken = stored.filter(pl.col("verdict") == Verdict.FAIL)
        return dg.AssetCheckResult(
            passed=stored.height > 0 and broken.is_empty(),
            metadata={"rows_count": stored.height, "broken": dg.MetadataValue.md(markdown_table(broken))},
        )

    return blocking_check(
        no_rule_is_broken,
        name="no_rule_is_broken",
        asset=dg.AssetKey(INVARIANT_REPORT.name),
        description="Every finished schedule keeps the rules that no schedule may break.",
    )


def vector_check(cluster: ClusterConfig) -> dg.AssetChecksDefinition:
    """Fail where a vector of the snapshots is not as long as the configured cluster makes it."""
    lengths = {
        "server_bitmap": cluster.servers,
        "leaf_utilization": cluster.leaves,
        "budget_remaining": cluster.switches,
    }

    def vectors_fit_the_cluster(stored: pl.DataFrame) -> dg.AssetCheckResult:
        found = {name: stored[name].to_numpy().shape[1] for name in lengths}
        return dg.AssetCheckResult(passed=found == lengths, metadata={"found": found, "needed": lengths})

    return blocking_check(
        vectors_fit_the_cluster,
        name="vectors_fit_the_cluster",
        asset=dg.AssetKey(PLACEMENT_SNAPSHOTS.name),
        description="Lengths of the vectors: servers, leaves and switches of configs/placement.yaml.",
        partitions=None,
    )
