"""The Typer application that commands register with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hpcopt_assets.orchestration.project import Project, find_project

if TYPE_CHECKING:
    from hpcopt_assets.orchestration.configs import Configs

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Would another scheduling policy serve our users better, and can we believe the answer?",
)


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    context.obj = debug


def project_and_configs() -> tuple[Project, Configs]:
    """The project that the command works in, and its configs."""
    from hpcopt_assets.orchestration.configs import load_configs

    project = find_project()
    return project, load_configs(project.configs)


def utf8(value: object) -> object:
    """Refuse what is not UTF-8: neither polars nor DuckDB takes it."""
    str(value).encode()
    return value
