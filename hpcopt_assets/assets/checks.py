"""Asset checks, by factory: what is stored keeps its contract, and no schedule breaks a rule.

In:  assets whose metadata names their table.   Out: blocking checks.
"""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg
import polars as pl

from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.errors import ContractError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import INVARIANT_REPORT, TABLES
from hpcopt_assets.contracts.vocabulary import Verdict
from hpcopt_assets.orchestration.io import TABLE_METADATA, markdown_table

CONTRACT_CHECK = "keeps_its_contract"


def contract_check(key: dg.AssetKey, table: Table) -> dg.AssetChecksDefinition:
    """Read the stored table back and judge every column, row rule and key; blocks what is downstream."""

    @dg.asset_check(
        name=CONTRACT_CHECK,
        asset=key,
        blocking=True,
        description=f"Columns, types, domains, key and row rules of table {table.name}.",
    )
    def keeps_its_contract(stored: pl.DataFrame) -> dg.AssetCheckResult:
        try:
            validate(table, stored)
        except ContractError as error:
            return dg.AssetCheckResult(passed=False, metadata={"failures": str(error)})
        return dg.AssetCheckResult(passed=True, metadata={"rows_count": stored.height})

    return keeps_its_contract


@dg.asset_check(
    name="no_rule_is_broken",
    asset=INVARIANT_REPORT.name,
    blocking=True,
    description="Every finished schedule keeps the rules that no schedule may break.",
)
def no_rule_is_broken(stored: pl.DataFrame) -> dg.AssetCheckResult:
    """Fail where a row says FAIL, and where there is no row at all."""
    broken = stored.filter(pl.col("verdict") == Verdict.FAIL)
    return dg.AssetCheckResult(
        passed=stored.height > 0 and broken.is_empty(),
        metadata={"rows_count": stored.height, "broken": dg.MetadataValue.md(markdown_table(broken))},
    )


def contract_checks(definitions: Iterable[dg.AssetsDefinition]) -> list[dg.AssetChecksDefinition]:
    """A contract check for every asset that stores a table."""
    return [
        contract_check(key, TABLES[metadata[TABLE_METADATA]])
        for definition in definitions
        for key, metadata in definition.metadata_by_key.items()
        if TABLE_METADATA in metadata
    ]
