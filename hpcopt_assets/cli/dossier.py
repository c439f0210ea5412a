"""The command that shows where a dossier is. It makes none but one with names: `hpcopt run` does."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hpcopt_assets.cli.app import app, project_and_configs
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.orchestration.terminal import complain, say

if TYPE_CHECKING:
    from hpcopt_assets.orchestration.configs import Configs
    from hpcopt_assets.orchestration.project import Project


@app.command()
def dossier(
    trace: Annotated[
        str | None, typer.Argument(help="A trace's id; the dossier over all traces if none.")
    ] = None,
    is_opened: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    has_names: Annotated[
        bool,
        typer.Option(
            "--names", help="Make it anew with names of users and files, in data/dossiers_with_names."
        ),
    ] = False,
) -> None:
    """Say where a dossier is, and open it. `hpcopt run` makes dossiers, with pseudonyms for names."""
    project, configs = project_and_configs()
    page = _known_page(project, configs, trace)
    if has_names:
        page = _with_names(project, configs, trace, project.dossiers_with_names / page.parent.name)
        complain("This one names users and files: it is for the site alone.")
    for path in (page, page.with_suffix(".md"), page.with_suffix(".json")):
        say(str(path))
    if is_opened and not webbrowser.open(page.as_uri()):
        complain("No browser could be opened: open the first of these yourself.")


def _known_page(project: Project, configs: Configs, trace: str | None) -> Path:
    """The page that `hpcopt run` made; InputError where there is none."""
    from hpcopt_assets.orchestration.sources import known_traces

    page = project.credibility if trace is None else project.dossier_of(trace)
    if page.is_file():
        return page
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


def _with_names(project: Project, configs: Configs, trace: str | None, folder: Path) -> Path:
    """The dossier made anew from the same tables, with names; its page."""
    from datetime import UTC, datetime

    from hpcopt_assets.assets.dossier import tell_all, tell_trace
    from hpcopt_assets.dossier.files import write_dossier
    from hpcopt_assets.orchestration.instance import open_instance

    now = datetime.now(UTC)
    with open_instance(project) as instance:
        told, errors = (
            tell_all(project, configs, instance, now, None)
            if trace is None
            else tell_trace(project, configs, instance, trace, now, None)
        )
    for error in errors:
        complain(error.sentence)
    return write_dossier(folder, told).html
