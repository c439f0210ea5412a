"""Where things are: the project's folders, from one root.

In:  the environment.   Out: `Project`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hpcopt_assets.contracts.errors import ConfigError

ACROSS = "credibility"
# The folder of the dossier over all traces.
HOME_VARIABLE = "HPCOPT_HOME"
CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Project:
    """The folders of one installation: configs to read, traces to take in, tables and documents made."""

    home: Path

    @property
    def configs(self) -> Path:
        """YAML files of decisions."""
        return self.home / "configs"

    @property
    def raw(self) -> Path:
        """Where traces are dropped."""
        return self.home / "data" / "raw"

    @property
    def store(self) -> Path:
        """Parquet of every table."""
        return self.home / "data" / "store"

    @property
    def dossiers(self) -> Path:
        """One folder of documents a trace."""
        return self.home / "data" / "dossiers"

    @property
    def dossiers_with_names(self) -> Path:
        """Those that name users and files, made where that is asked; for the site alone."""
        return self.home / "data" / "dossiers_with_names"

    @property
    def profiles(self) -> Path:
        """One folder of figures a trace."""
        return self.home / "data" / "profiles"

    @property
    def placement(self) -> Path:
        """A placement model, its bundle and figures."""
        return self.home / "data" / "placement"

    @property
    def forecasts(self) -> Path:
        """One folder of figures a trace."""
        return self.home / "data" / "forecasts"

    @property
    def stress(self) -> Path:
        """One folder of figures a trace."""
        return self.home / "data" / "stress"

    @property
    def duckdb(self) -> Path:
        """The catalog of views over the store."""
        return self.home / "data" / "hpcopt.duckdb"

    @property
    def export_key(self) -> Path:
        """The key of pseudonyms in dossiers and bundles; it stays here."""
        return self.home / "data" / ".export_key"

    @property
    def dagster_home(self) -> Path:
        """Runs, event log and schedules of Dagster."""
        return self.home / ".dagster"

    @property
    def credibility(self) -> Path:
        """The page to open for all traces."""
        return self.dossiers / ACROSS / "dossier.html"

    def dossier_of(self, trace_id: str) -> Path:
        """The page to open for a trace; ConfigError for a trace that has the name of all of them."""
        if trace_id == ACROSS:
            raise ConfigError(
                found=f"a trace of the name {ACROSS!r}",
                needed="another name: this one is that of the dossier over all traces",
                where="data/raw",
                next_step="Rename its file.",
            )
        return self.dossiers / trace_id / "dossier.html"


def find_project(environment: Mapping[str, str] = os.environ) -> Project:
    """The project named by HPCOPT_HOME, else the checkout this package is installed from.

    Raises ConfigError where neither holds a `configs` folder.
    """
    named = environment.get(HOME_VARIABLE)
    home = Path(named).expanduser().resolve() if named else CHECKOUT
    if not (home / "configs" / "policies.yaml").is_file():
        raise ConfigError(
            found="no configs/policies.yaml",
            needed="a project folder with configs/ and data/",
            where=str(home),
            next_step=f"Set {HOME_VARIABLE} to a clone of the project, or install from it (pip install -e).",
        )
    return Project(home)
