"""What if the machine were larger, jobs came faster, or another policy ran it?"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from hpcopt_assets.cli.app import app, project_and_configs
from hpcopt_assets.cli.asked import (
    CapacityOption,
    EstimatesOption,
    JsonOption,
    ScaleOption,
    SinceOption,
    StepsOption,
    TauOption,
    TracePath,
    UnitOption,
    UntilOption,
    scenario_of,
    steps_of,
)
from hpcopt_assets.cli.reading import capacity_of, known_of, read_estimates, stated_entry
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.orchestration.terminal import cell, plural, print_table, say

if TYPE_CHECKING:
    from hpcopt_assets.measures.capacity import Capacity
    from hpcopt_assets.simulate.whatif import Comparison

SHOWN = (
    *("mean_wait_s", "p95_wait_s", "max_wait_s", "mean_bsld", "p95_bsld", "utilisation_ratio"),
    *("throughput_per_hour", "makespan_s", "starved_ratio", "jain_service", "backfilled_count"),
)


@app.command()
def whatif(
    path: TracePath,
    policy: Annotated[str | None, typer.Option(help="A built-in policy; the baseline if absent.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="What it is compared with; configs/objective.yaml's if absent.")
    ] = None,
    capacity: CapacityOption = None,
    capacity_factor: Annotated[
        float | None,
        typer.Option(min=0.001, max=1000.0, help="The machine's size times this, instead of --capacity."),
    ] = None,
    capacity_steps: StepsOption = None,
    arrival_scale: ScaleOption = 1.0,
    since: SinceOption = None,
    until: UntilOption = None,
    unit: UnitOption = None,
    tau: TauOption = None,
    estimates: EstimatesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a policy on another machine, or with faster arrivals, with the baseline as recorded.

    Over the jobs that both replays ran, in the steady window. A window of the record holds for both.
    """
    from hpcopt_assets.contracts.config import MeasuresConfig
    from hpcopt_assets.contracts.vocabulary import Window
    from hpcopt_assets.simulate.whatif import Setting, compare

    _, configs = project_and_configs()
    if capacity is not None and capacity_factor is not None:
        raise InputError("--capacity and --capacity-factor", "one of them", "the options", "Leave one away.")
    reference = configs.policy(baseline or configs.objective.claims.baseline)
    chosen = configs.policy(policy) if policy else reference
    constants = configs.objective.measures
    if tau is not None:
        constants = MeasuresConfig.model_validate(constants.model_dump() | {"tau_s": tau})
    known = known_of(path, configs, stated_entry(unit=unit))
    recorded, source = capacity_of(path, known, None if known.machine else capacity, ())
    asked = _asked(recorded, capacity, capacity_factor, steps_of(capacity_steps))
    window = scenario_of(1.0, since, until)
    found = compare(
        known.jobs,
        Setting(reference, recorded, window),
        Setting(chosen, asked, scenario_of(arrival_scale, since, until)),
        config=constants,
        window=Window.STEADY,
        estimates=read_estimates(estimates),
    )
    if as_json:
        told = {"baseline_policy": reference.id, "policy": chosen.id, "capacity_source": source}
        machines = {"baseline_capacity": asdict(recorded), "capacity": asdict(asked)}
        say(json.dumps(told | machines | {"arrival_scale": arrival_scale} | asdict(found), indent=2))
        return
    faster = "" if arrival_scale == 1.0 else f", arrivals x {arrival_scale:g}"
    heads = [f"{reference.id} on {_size(recorded)}", f"{chosen.id} on {_size(asked)}{faster}"]
    count = plural(found.jobs_count, "job")
    say(f"{path.name}: {count} that both ran, steady window, tau {constants.tau_s} s")
    print_table(["measure", *heads, "change"], [_row(found, key) for key in SHOWN])
    for head, excluded in zip(
        heads, (found.excluded_from_baseline, found.excluded_from_changed), strict=True
    ):
        reasons = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in excluded.items())
        say(f"Not in {head}: {reasons or 'none'}.")
    if since is not None:
        say("Utilisation is that of the window's own jobs: what ran or waited before holds processors, too.")


def _asked(
    recorded: Capacity, given: int | None, factor: float | None, steps: tuple[tuple[int, int], ...]
) -> Capacity:
    """The machine that is asked about; a factor enlarges its steps too."""
    from hpcopt_assets.measures.capacity import Capacity

    if given is not None:
        return Capacity(given, steps)
    if factor is not None:
        scaled = tuple((at_s, round(procs * factor)) for at_s, procs in recorded.steps)
        return Capacity(round(recorded.procs * factor), steps or scaled)
    return Capacity(recorded.procs, steps or recorded.steps)


def _size(capacity: Capacity) -> str:
    return " -> ".join(f"{procs:,}" for procs in (capacity.procs, *(procs for _, procs in capacity.steps)))


def _row(found: Comparison, key: str) -> list[str]:
    before, after = found.baseline[key], found.changed[key]
    change = f"{(after - before) / before:+.1%}" if before and after is not None else "-"
    return [key, cell(before), cell(after), change]
