"""The command that shows where a dossier is. It makes none: `hpcopt run` does."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from hpcopt_assets.cli.app import app, project_and_configs
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.orchestration.terminal import complain, say


@app.command()
def dossier(
    trace: Annotated[
        str | None, typer.Argument(help="A trace's id; the dossier over all traces if none.")
    ] = None,
    is_opened: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Say where a dossier is, and open it. Nothing is made: `hpcopt run` makes dossiers."""
    from hpcopt_assets.orchestration.sources import known_traces

    project, configs = project_and_configs()
    page = project.credibility if trace is None else project.dossier_of(trace)
    if not page.is_file():
        made = sorted(path.parent.name for path in project.dossiers.glob("*/dossier.html"))
        known = known_traces(project.raw, configs.traces)
        step = f"Run `hpcopt run{f' {trace}' if trace in known else ''}`, which makes it."
        if trace is not None and trace not in known:
            step = "Name one of these, or run a trace first: `hpcopt traces` lists those in data/raw."
        raise InputError(
            found="no dossier over all traces" if trace is None else f"no dossier of {trace!r}",
            needed=f"one that was made: {', '.join(made)}" if made else "a dossier that was made",
            where=str(project.dossiers),
            next_step=step,
        )
    for path in (page, page.with_suffix(".md"), page.with_suffix(".json")):
        say(str(path))
    if is_opened and not webbrowser.open(page.as_uri()):
        complain("No browser could be opened: open the first of these yourself.")
