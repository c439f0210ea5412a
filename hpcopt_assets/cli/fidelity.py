"""Is a replay of this log like what it recorded, and which policy is closest to it?"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hpcopt_assets.cli.app import app, project_and_configs
from hpcopt_assets.cli.asked import (
    CapacityOption,
    EstimatesOption,
    JsonOption,
    SinceOption,
    StepsOption,
    TauOption,
    TimezoneOption,
    TracePath,
    UnitOption,
    UntilOption,
    scenario_of,
    steps_of,
)
from hpcopt_assets.cli.reading import OPTION, capacity_of, known_of, read_estimates, stated_entry
from hpcopt_assets.contracts.vocabulary import WHOLE, CapacitySource, FidelityCriterion, Unit, Verdict
from hpcopt_assets.orchestration.terminal import cell, print_table, say

if TYPE_CHECKING:
    import polars as pl

    from hpcopt_assets.contracts.config import Policy
    from hpcopt_assets.measures.window import Span
    from hpcopt_assets.orchestration.configs import Configs
    from hpcopt_assets.simulate.scenario import Scenario

BESIDE = (FidelityCriterion.OVERALL, FidelityCriterion.OBSERVED_WITHIN_CAPACITY)


@app.command()
def fidelity(
    path: TracePath,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A built-in policy, may be given several times; all that can be replayed if absent."
        ),
    ] = None,
    capacity: CapacityOption = None,
    capacity_steps: StepsOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    unit: UnitOption = None,
    timezone: TimezoneOption = None,
    tau: TauOption = None,
    estimates: EstimatesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold replays against what a log recorded: verdicts, by quarter too, and policies by closeness.

    A window of the record begins with what ran and waited then, as in `hpcopt whatif`.
    """
    from dataclasses import replace

    from hpcopt_assets.contracts.config import MeasuresConfig
    from hpcopt_assets.fidelity.closeness import rank_closeness
    from hpcopt_assets.fidelity.judge import judge_fidelity
    from hpcopt_assets.simulate.engine import replay
    from hpcopt_assets.simulate.windows import WindowReplayer

    _, configs = project_and_configs()
    told = read_estimates(estimates)
    chosen = _chosen(configs, policy, has_estimates=told is not None)
    constants = configs.objective.measures
    if tau is not None:
        constants = MeasuresConfig.model_validate(constants.model_dump() | {"tau_s": tau})
    known = known_of(path, configs, stated_entry(unit=unit, timezone=timezone))
    machine, source = capacity_of(path, known, capacity, steps_of(capacity_steps))
    scenario = replace(scenario_of(1.0, since, until), capacity_steps=machine.steps)
    schedules = {
        each.id: replay(known.jobs, each, machine.procs, scenario, estimates=told).schedule for each in chosen
    }
    about: dict[str, Any] = {
        "trace_id": known.jobs["trace_id"][0],
        "trace_jobs": known.jobs,
        "timezone": known.timezone,
        "config": configs.fidelity,
        "window": _window(known.jobs, scenario),
        "seeded": WindowReplayer(known.jobs, chosen, machine, told)
        if configs.fidelity.quarters.seeded_start
        else None,
    }
    verdicts = judge_fidelity(
        **about,
        schedules=schedules,
        capacity=machine,
        capacity_source=CapacitySource.CONFIG if source == OPTION else CapacitySource(source),
        is_synthetic=configs.traces.entry(about["trace_id"]).is_synthetic,
        measures=constants,
    )
    ranked = {each.id: schedules[each.id] for each in chosen if not each.is_bound}
    closeness = rank_closeness(**about, schedules=ranked, verdicts=verdicts)
    if as_json:
        said = {"trace": path.name, "capacity": asdict(machine), "capacity_source": source}
        tables = {"verdicts": verdicts.to_dicts(), "closeness": closeness.to_dicts()}
        say(json.dumps(said | {"timezone": known.timezone, "tau_s": constants.tau_s} | tables, indent=2))
        return
    words = {Unit.PROCS: "processors", Unit.NODES: "nodes"}[known.unit]
    window = "" if about["window"] is None else ", the window asked for"
    say(f"{path.name} on {machine.largest:,} {words} ({source}){window}, tau {constants.tau_s} s")
    _say_verdicts(verdicts, named=policy or ())
    _say_closeness(closeness)
    _say_quarters(verdicts, closeness)


def _chosen(configs: Configs, named: list[str] | None, *, has_estimates: bool) -> list[Policy]:
    """The policies to replay, each once, in the file's order where none is named."""
    if named:
        return [configs.policy(policy_id) for policy_id in dict.fromkeys(named)]
    return [each for each in configs.policies.policies if has_estimates or not each.is_forecasting]


def _window(jobs: pl.DataFrame, scenario: Scenario) -> Span | None:
    """The part of the record that counts; None for all of it."""
    from hpcopt_assets.contracts.columns import TIME_MAX_S
    from hpcopt_assets.measures.window import Span

    since_s, until_s = scenario.since_s, scenario.until_s
    if since_s is None and until_s is None:
        return None
    first_s = int(jobs["release_s"].min() or 0)  # type: ignore[arg-type]
    return Span(first_s if since_s is None else since_s, TIME_MAX_S if until_s is None else until_s)


def _say_verdicts(verdicts: pl.DataFrame, named: tuple[str, ...] | list[str]) -> None:
    """What each criterion measured over everything; the reason of policies that were asked for by name."""
    whole = verdicts.filter(period=WHOLE)
    criteria = [name for name in FidelityCriterion if name not in BESIDE]
    rows = []
    for policy in whole["policy"].unique(maintain_order=True):
        found = {row["criterion"]: row for row in whole.filter(policy=policy).iter_rows(named=True)}
        marks = {Verdict.PASS: "", Verdict.FAIL: " FAIL", Verdict.NOT_ASSESSED: " (not assessed)"}
        told = [
            f"{cell(found[name]['measured'])}{marks[Verdict(found[name]['verdict'])]}" for name in criteria
        ]
        rows.append([policy, found[FidelityCriterion.OVERALL]["verdict"], *told])
    print_table(["policy", "like the record?", *criteria], rows)
    possible = whole.filter(criterion=FidelityCriterion.OBSERVED_WITHIN_CAPACITY.value).row(0, named=True)
    say(f"Record within the machine: {possible['verdict']}: {possible['reason']}.")
    for row in whole.filter(criterion=FidelityCriterion.OVERALL.value).iter_rows(named=True):
        if row["policy"] in named:
            say(f"{row['policy']}: {row['reason']}")


def _say_closeness(closeness: pl.DataFrame) -> None:
    """The ranking over everything, and what the first place does not mean."""
    rows = closeness.filter(period=WHOLE).rows(named=True)
    print_table(
        ["rank", "policy", "distance", "like the record?"],
        [[cell(row["rank"]), row["policy"], cell(row["distance"]), row["fidelity"]] for row in rows],
    )
    for row in rows[:1]:
        say(f"{row['policy']}: {row['reason']}.")


def _say_quarters(verdicts: pl.DataFrame, closeness: pl.DataFrame) -> None:
    """For each quarter who is closest, and what becomes of every policy's verdict."""
    overall = verdicts.filter(criterion=FidelityCriterion.OVERALL.value)
    rows = []
    for period in overall["period"].unique(maintain_order=True).to_list()[1:]:
        said = dict(overall.filter(period=period)["verdict"].value_counts().iter_rows())
        ranked = closeness.filter(period=period)
        closest = ranked.filter(rank=1)
        rows.append(
            [
                period,
                str(ranked["jobs_count"][0]) if ranked.height else "-",
                ", ".join(closest["policy"]) or "-",
                cell(closest["distance"][0]) if closest.height else "-",
                ", ".join(f"{said[word]} {word}" for word in Verdict if word in said),
            ]
        )
    print_table(["quarter", "jobs", "closest", "distance", "verdicts"], rows)
