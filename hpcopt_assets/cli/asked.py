"""Options that several commands have: how a log is read, what is asked of machine and arrivals."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcopt_assets.contracts.columns import PROCS_MAX, TIME_MAX_S
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.vocabulary import Dialect, TraceFormat, Unit

if TYPE_CHECKING:
    from hpcopt_assets.simulate.scenario import Scenario

TracePath = Annotated[
    Path, typer.Argument(help="A raw trace (a log, or a folder of logs) or a trace_jobs.parquet.")
]
FormatOption = Annotated[
    TraceFormat | None, typer.Option("--format", help="Found from the content if absent.")
]
TimezoneOption = Annotated[str | None, typer.Option(help="IANA name of the log's local times.")]
FieldsOption = Annotated[
    str | None, typer.Option(help="Field names of a headerless sacct dump, separated by commas.")
]
DialectOption = Annotated[Dialect | None, typer.Option(help="Whose PBS log it is, where it does not tell.")]
CapacityOption = Annotated[
    int | None, typer.Option(min=1, max=PROCS_MAX, help="Processors; what the trace states if absent.")
]
UnitOption = Annotated[
    Unit | None,
    typer.Option(help="What a job occupies: processors, or whole nodes. The registry's if absent."),
]
TauOption = Annotated[
    int | None, typer.Option(min=1, max=TIME_MAX_S, help="Seconds; configs/objective.yaml's if absent.")
]
StepsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--capacity-step",
        metavar="INSTANT=N",
        help="From then on the machine has that size; may be given several times.",
    ),
]
ScaleOption = Annotated[float, typer.Option("--arrival-scale", help="Gaps between releases divided by this.")]
SinceOption = Annotated[
    str | None, typer.Option(help="Count jobs released from then on; what runs and waits then is there.")
]
UntilOption = Annotated[str | None, typer.Option(help="Count jobs released before then.")]
EstimatesOption = Annotated[
    Path | None,
    typer.Option(help="runtime_estimates.parquet of the trace, for policies that believe forecasts."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def instant_s(text: str | None, option: str) -> int | None:
    """Seconds since 1970 of a date and time with its offset, or such a number itself."""
    if text is None:
        return None
    if text.lstrip("-").isdecimal() and abs(int(text)) <= TIME_MAX_S:
        return int(text)
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            raise ValueError
    except ValueError as error:
        raise InputError(
            repr(text),
            "seconds since 1970, or a date and time with its offset such as 2024-01-31T08:00:00+01:00",
            option,
            "Correct it.",
        ) from error
    return int(at.timestamp())


def steps_of(texts: list[str] | None) -> tuple[tuple[int, int], ...]:
    """Capacity steps, in ascending order of time."""
    steps = []
    for text in texts or ():
        at, _, size = text.rpartition("=")
        if not at or not size.isdecimal() or int(size) > PROCS_MAX:
            raise InputError(
                repr(text), f"INSTANT=N, N from 0 to {PROCS_MAX}", "--capacity-step", "Correct it."
            )
        steps.append((instant_s(at, "--capacity-step") or 0, int(size)))
    return tuple(sorted(steps))


def scenario_of(arrival_scale: float, since: str | None, until: str | None) -> Scenario:
    """What is asked of the arrivals."""
    from hpcopt_assets.simulate.scenario import Scenario

    return Scenario(
        arrival_scale=arrival_scale,
        since_s=instant_s(since, "--since"),
        until_s=instant_s(until, "--until"),
    )
