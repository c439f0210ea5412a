"""What a run found, in plain words on the terminal.

In:  the store's tables of each trace.   Out: a table of policies, where to look, and what to try next.
Not here: new numbers; every cell is read from a table.
"""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING, FORECAST_SCORES
from hpcopt_assets.contracts.forecast_words import EstimateRun, ForecastMeasure, Predictor, Weighting
from hpcopt_assets.contracts.sentences import NOT_MODELLED_IN_SHORT
from hpcopt_assets.contracts.tables import (
    CLAIM_VERDICTS,
    FIDELITY_VERDICTS,
    INGEST_REPORT,
    REPLAY_MEASURES,
    REPLAY_SCHEDULE,
    TRACE_JOBS,
)
from hpcopt_assets.contracts.vocabulary import (
    DEMANDS,
    OBSERVED,
    WHOLE,
    CapacitySource,
    ClaimCriterion,
    FidelityCriterion,
    Outcome,
    QualityFlag,
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
HOUR_S = 3600
MANY = 0.1
# Share of jobs from which on something is no exception.
SAMPLE_QUERY = "SELECT trace_id, policy, p95_bsld FROM replay_measures WHERE time_window = 'steady'"
COLUMNS = ["policy", "p95 bounded slowdown", "mean wait", "utilisation", "like the record?", "verdict"]


def say_findings(project: Project, configs: Configs, trace_ids: list[str]) -> None:
    """Print the findings on each trace, then where everything is."""
    for trace_id in trace_ids:
        _say_trace(project, configs, trace_id)
    if not trace_ids:
        return
    say(f"DuckDB catalog  {project.duckdb}")
    if project.credibility.is_file():
        say(f"Credibility     {project.credibility} (over all traces)")
    for trace_id in trace_ids:
        say(f"Dossier         {project.dossier_of(trace_id)}")
        say(f"Profile         {project.profiles / trace_id} (figures)")
        if (project.forecasts / trace_id).is_dir():
            say(f"Forecasts       {project.forecasts / trace_id} (figures)")
        if (project.stress / trace_id).is_dir():
            say(f"Stress          {project.stress / trace_id} (figures)")
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
    return shlex.quote(str(path.relative_to(here)) if path.is_relative_to(here) else str(path))


class _Found:
    """The store's tables of one trace, read when they are asked for."""

    def __init__(self, project: Project, trace_id: str) -> None:
        self._store, self.trace_id = project.store, trace_id
        self.facts: dict[str, Any] = self.table(INGEST_REPORT).row(0, named=True)

    def table(self, of: Table, *columns: str, key: tuple[str, ...] | None = None) -> pl.DataFrame:
        """A table, or some of its columns."""
        path = part_path(self._store, key or (of.name,), self.trace_id)
        return pl.read_parquet(path, columns=list(columns) or None, hive_partitioning=False, glob=False)

    def claims(self) -> dict[str, pl.DataFrame]:
        """The rows of each candidate's claim."""
        return {str(policy): rows for (policy,), rows in self.table(CLAIM_VERDICTS).group_by("policy")}


def _say_trace(project: Project, configs: Configs, trace_id: str) -> None:
    found = _Found(project, trace_id)
    facts, claims = found.facts, found.claims()
    steady = found.table(REPLAY_MEASURES).filter(pl.col("time_window") == Window.STEADY)
    fidelity = found.table(FIDELITY_VERDICTS).filter(period=WHOLE, criterion=FidelityCriterion.OVERALL.value)
    likeness = dict(fidelity.select("policy", "verdict").iter_rows())
    is_inferred = facts["capacity_source"] == CapacitySource.OBSERVED_PEAK
    say(
        f"\n{trace_id}: {plural(facts['jobs_count'], 'job')} on {facts['capacity_procs']:,} {_unit(facts)}"
        f"{' (inferred: the most in use at once)' if is_inferred else ''}, "
        f"{plural(facts['rejects_count'], 'line')} rejected (steady window below)"
    )
    for caveat in _caveats(found, configs):
        _say_prose(f"! {caveat}")
    rows = [
        [
            row["policy"],
            _real(row["p95_bsld"], "{:,.1f}"),
            _real(row["mean_wait_s"], "{:,.0f} s"),
            _real(row["utilisation_ratio"], "{:.1%}"),
            likeness.get(row["policy"], ""),
            _verdict(row["policy"], claims, configs),
        ]
        for row in steady.iter_rows(named=True)
    ]
    print_table(COLUMNS, rows)
    for policy_id, claim in claims.items():
        overall = claim.row(by_predicate=pl.col("criterion") == ClaimCriterion.OVERALL, named=True)
        if overall["outcome"] in (Outcome.ACCEPTED, Outcome.CONDITIONAL):
            _say_prose(f"{policy_id}: {overall['reason'].removesuffix(NOT_MODELLED_IN_SHORT).strip()}")
    _say_prose(_forecasts(found))
    for told in _without_hindsight(found):
        _say_prose(told)
    _say_prose(f"{NOT_MODELLED_IN_SHORT} Each verdict with its reasons is in the dossier.")
    say()


def _verdict(policy_id: str, claims: Mapping[str, pl.DataFrame], configs: Configs) -> str:
    """What the policy is, or how its claim came out and which demands it failed."""
    policy = configs.policies.get(policy_id)
    if policy_id == OBSERVED:
        return "what was recorded"
    if policy_id == configs.objective.claims.baseline:
        return "the baseline"
    if policy is not None and policy.is_bound:
        return "knows true runtimes, no candidate"
    claim = claims[policy_id]
    outcome = claim.filter(pl.col("criterion") == ClaimCriterion.OVERALL)["outcome"].item()
    failed = claim.filter(pl.col("criterion").is_in(DEMANDS), verdict=Verdict.FAIL.value)["criterion"]
    return str(outcome or Verdict.NOT_ASSESSED) + (f": {', '.join(failed)}" if failed.len() else "")


def _caveats(found: _Found, configs: Configs) -> Iterator[str]:
    """What must be known before the numbers are believed."""
    facts = found.facts
    told = facts["job_lines_count"] + facts["rejects_count"]
    if facts["rejects_count"] > configs.ingest.warn_reject_ratio * told:
        yield (
            f"{facts['rejects_count'] / told:.1%} of the lines became no job: trace_rejects tells which and "
            "why, line by line."
        )
    if facts["observed_over_capacity_s"]:
        hours = facts["observed_over_capacity_s"] / HOUR_S
        yield (
            f"The record uses more than the machine has for {hours:,.1f} h, up to "
            f"{facts['observed_peak_procs']:,} {_unit(facts)}: is its size right?"
        )
    key = ("replay", configs.objective.claims.baseline)
    left_out = found.table(REPLAY_SCHEDULE, "left_out", key=key)["left_out"].drop_nulls()
    if left_out.len():
        reasons = left_out.value_counts(sort=True).iter_rows()
        words = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in reasons)
        yield f"Of the record's jobs, {left_out.len():,} take no part in the replays: {words}."
    flags = found.table(TRACE_JOBS, "quality_flags")["quality_flags"]

    def share(flag: QualityFlag) -> float:
        return float(flags.list.contains(flag.value).sum()) / flags.len()

    differs, recovered = share(QualityFlag.ALLOCATED_DIFFERS), share(QualityFlag.RECOVERED_FIELDS)
    if facts["capacity_unit"] == Unit.PROCS and differs > MANY:
        yield (
            f"{differs:.0%} of the jobs were given other processors than they asked for, and replays give "
            "what was asked. Where whole nodes are given, say `unit: nodes` in configs/traces.yaml."
        )
    if recovered > MANY:
        yield (
            f"{recovered:.0%} of the jobs were put together from lines that do not fit the columns: are the "
            "columns right?"
        )


def _forecasts(found: _Found) -> str:
    """How good the forecasts of runtimes were, beside the request and the best rule without a model."""
    overall = {"fold": 0, "band": "all", "weighting": Weighting.JOB.value}
    scores = found.table(FORECAST_SCORES).filter(pl.col("versus").is_null(), **overall)
    if scores.is_empty():
        return "Forecasts of runtimes: none, for too few jobs had ended to fit a model on (feature_splits)."
    mae = {
        Predictor(name): value / HOUR_S
        for name, value in scores.filter(measure=ForecastMeasure.MAE.value)
        .select("predictor", "value")
        .iter_rows()
    }
    best = min((name for name in mae if name.is_baseline), key=lambda name: mae[name])
    coverage = scores.filter(
        measure=ForecastMeasure.COVERAGE_CAPPED.value, predictor=Predictor.MODEL.value
    ).row(0, named=True)
    return (
        f"Forecasts of runtimes: off by {mae[Predictor.MODEL]:.2f} h on average, the request by "
        f"{mae[Predictor.REQUEST]:.2f} h, the best rule ({best.replace('_', ' ')}) by {mae[best]:.2f} h; "
        f"[p10, p90] held {coverage['value']:.1%} of {plural(coverage['jobs_count'], 'job')}, meant to "
        "hold 80 %."
    )


def _without_hindsight(found: _Found) -> Iterator[str]:
    """What is left of policies that believe forecasts when none may know more than its replay could."""
    runs = found.table(ESTIMATE_ACCOUNTING).filter(pl.col("model_count") + pl.col("user_history_count") > 0)
    pairs = runs.pivot("run", index="policy", values="p95_bsld").drop_nulls()
    if pairs.is_empty() or pairs.width < len(EstimateRun) + 1:
        return
    changed = ", ".join(
        f"{row['policy']} {_real(row[EstimateRun.HISTORY_HONEST], '{:,.1f}')} instead of "
        f"{_real(row[EstimateRun.AS_REPLAYED], '{:,.1f}')}"
        for row in pairs.iter_rows(named=True)
    )
    yield (
        "! Forecasts rest on jobs that had ended in the log and may still run in a replay. Without those "
        f"that do, p95 bounded slowdown is: {changed} (estimate_accounting)."
    )


def _unit(facts: Mapping[str, Any]) -> str:
    return "nodes" if facts["capacity_unit"] == Unit.NODES else "processors"


def _say_prose(text: str) -> None:
    say("\n".join(textwrap.wrap(text, PROSE_WIDTH, subsequent_indent="    ")))


def _real(value: Any, form: str) -> str:
    return "unknown" if value is None else form.format(value)
