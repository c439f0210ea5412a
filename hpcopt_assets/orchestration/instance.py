"""The persistent Dagster instance under .dagster/, shared by the command line and the UI.

In:  a `Project`.   Out: a `DagsterInstance`, and the folder made ready for `dagster dev`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dagster as dg

from hpcopt_assets.orchestration.files import write_beside
from hpcopt_assets.orchestration.project import Project, find_project

SETTINGS = Path(__file__).with_name("dagster.yaml")


def prepare_dagster_home(project: Project) -> Path:
    """Make .dagster/ with our settings; settings that are there already are left alone."""
    project.dagster_home.mkdir(parents=True, exist_ok=True)
    target = project.dagster_home / "dagster.yaml"
    if not target.exists():
        write_beside(target, SETTINGS.read_bytes())
    return project.dagster_home


def open_instance(project: Project) -> dg.DagsterInstance:
    """The instance of this project."""
    return dg.DagsterInstance.from_config(str(prepare_dagster_home(project)))


if __name__ == "__main__":
    # `make ui` takes its DAGSTER_HOME from here.
    sys.stdout.write(f"{prepare_dagster_home(find_project())}\n")
