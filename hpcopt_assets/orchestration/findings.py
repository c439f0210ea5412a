"""What a run found, in plain words on the terminal.

In:  the store's tables of each trace.   Out: a table of policies, where to look, and what to try next.
Not here: new numbers; every cell is read from a table.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import polars as pl

from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS, FIDELITY_VERDICTS, INGEST_REPORT, REPLAY_MEASURES
from hpcopt_assets.contracts.vocabulary import (
    OBSERVED,
    CapacitySource,
    ClaimCriterion,
    FidelityCriterion,
    Unit,
    Verdict,
    Window,
)
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.io import part_path
from hpcopt_assets.orchestration.project import CHECKOUT, Project
from hpcopt_assets.orchestration.sources import known_traces
from hpcopt_assets.orchestration.terminal import plural, print_table, say

PROSE_WIDTH = 100
SAMPLE_QUERY = "SELECT trace_id, policy, p95_bsld FROM replay_measures WHERE time_window = 'steady'"
COLUMNS = ["policy", "p95 bounded slowdown", "mean wait", "utilisation", "like the record?", "verdict"]


def say_findings(project: Project, configs: Configs, trace_ids: list[str]) -> None:
    """Print the findings on each trace, then where everything is."""
    for trace_id in trace_ids:
        _say_trace(project, configs, trace_id)
    if not trace_ids:
        return
    say(f"DuckDB catalog  {project.duckdb}")
    for trace_id in trace_ids:
        say(f"Dossier         {project.dossier_of(trace_id)}")
    policy_id = configs.objective.claims.baseline
    source = known_traces(project.raw, configs.traces)[trace_ids[0]][0]
    hpcopt = _shown(Path(sys.executable).with_name("hpcopt"))
    say("\nTry next:")
    say(f'  {hpcopt} query "{SAMPLE_QUERY}"')
    say(f"  {hpcopt} replay {_shown(source)} --policy {policy_id} --overrun kill")
    say("  make ui" if Path.cwd() == CHECKOUT else f"  make -C {_shown(CHECKOUT)} ui")


def _shown(path: Path) -> str:
    """The path as one would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _say_trace(project: Project, configs: Configs, trace_id: str) -> None:
    def table(of: Table) -> pl.DataFrame:
        return pl.read_parquet(
            part_path(project.store, (of.name,), trace_id), hive_partitioning=False, glob=False
        )

    facts = table(INGEST_REPORT).row(0, named=True)
    steady = table(REPLAY_MEASURES).filter(pl.col("time_window") == Window.STEADY)
    fidelity = table(FIDELITY_VERDICTS).filter(pl.col("criterion") == FidelityCriterion.OVERALL)
    claims = table(CLAIM_VERDICTS).filter(pl.col("criterion") == ClaimCriterion.OVERALL)
    likeness = dict(fidelity.select("policy", "verdict").iter_rows())
    outcome = {row["policy"]: row for row in claims.iter_rows(named=True)}
    baseline = configs.objective.claims.baseline

    def verdict(policy_id: str) -> str:
        policy = configs.policies.get(policy_id)
        if policy_id == OBSERVED:
            return "what was recorded"
        if policy_id == baseline:
            return "the baseline"
        if policy is not None and policy.is_bound:
            return "a bound, no candidate"
        return str(outcome[policy_id]["outcome"] or Verdict.NOT_ASSESSED)

    def cells(row: dict[str, object]) -> list[str]:
        policy_id = str(row["policy"])
        return [
            policy_id,
            _real(row["p95_bsld"], "{:,.1f}"),
            _real(row["mean_wait_s"], "{:,.0f} s"),
            _real(row["utilisation_ratio"], "{:.1%}"),
            likeness.get(policy_id, ""),
            verdict(policy_id),
        ]

    is_inferred = facts["capacity_source"] == CapacitySource.OBSERVED_PEAK
    of = "nodes" if facts["capacity_unit"] == Unit.NODES else "processors"
    say(
        f"\n{trace_id}: {facts['jobs_count']:,} jobs on {facts['capacity_procs']:,} {of}"
        f"{' (inferred: the most in use at once)' if is_inferred else ''}, "
        f"{plural(facts['rejects_count'], 'line')} rejected (steady window below)"
    )
    print_table(COLUMNS, [cells(row) for row in steady.iter_rows(named=True)])
    for policy_id, row in outcome.items():
        policy = configs.policies.get(policy_id)
        if policy is not None and not policy.is_bound:
            said = textwrap.wrap(f"{policy_id}: {row['reason']}", PROSE_WIDTH, subsequent_indent="    ")
            say("\n".join(said))
    say()


def _real(value: object, pattern: str) -> str:
    return "-" if value is None else pattern.format(value)
