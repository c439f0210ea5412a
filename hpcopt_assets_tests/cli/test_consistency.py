"""What a bundle says of itself is held against what is in it, and its dossier against the tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from hpcopt_assets.bundle.comparing import Finding, State
from hpcopt_assets.bundle.folder import readme
from hpcopt_assets.cli import recompute
from hpcopt_assets.cli.consistency import NOT_COMPUTED, SAYS_OF_ITSELF, SHAKEN
from hpcopt_assets.cli.recomputation import LONG_RECIPES, RECIPES, Recomputation
from hpcopt_assets.contracts.bundle import CONFIGS_OF_A_TRACE, Manifest, seeds_of
from hpcopt_assets.contracts.config import PoliciesConfig
from hpcopt_assets.contracts.frozen import Frozen
from hpcopt_assets.contracts.lineage import InputVersion, Materialization
from hpcopt_assets.contracts.traces_config import TracesConfig
from hpcopt_assets.orchestration.configs import load_config
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.bundle.made import ABOUT, TRACE_ID

HASH = "a" * 64
ENTRY = {"capacity_procs": 8}
PSEUDONYM = "0123456789abcdef"
FILES = (
    *("README.md", "lineage.json", "dossier/dossier.md", "dossier/dossier.html", "dossier/dossier.json"),
    "dossier/figures/a.svg",
)


@dataclass
class Work:
    """A bundle in memory, in whose place a test puts what is wrong with it."""

    folder: Path
    about: dict[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = FILES
    configs: dict[str, Frozen] = field(default_factory=dict)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    made: list[str] = field(default_factory=lambda: ["trace_jobs"])

    @property
    def policies(self) -> Frozen:
        return self.configs["policies"]

    def config(self, name: str) -> Frozen:
        return self.configs[name]

    def table(self, asset: str) -> pl.DataFrame:
        return self.tables[asset]

    @property
    def report(self) -> pl.DataFrame:
        return self.tables["ingest_report"]

    @property
    def manifest(self) -> Manifest:
        paths = {asset: f"tables/{asset}.parquet" for asset in self.made}
        files = [{"path": each, "sha256": HASH, "size_bytes": 1} for each in (*self.files, *paths.values())]
        stored = {"rows_count": 2, "data_version": HASH, "is_as_stored": True}
        tables = [stored | {"asset": asset, "table": asset, "path": path} for asset, path in paths.items()]
        about = ABOUT | {"seeds": seeds_of(self.configs), "tables": tables, "files": files} | self.about
        return Manifest.model_validate({"format": "hpcopt-bundle-1", "self_sha256": HASH} | about)

    def found(self, what: str) -> Finding:
        return SAYS_OF_ITSELF[what](cast("Recomputation", self))


@pytest.fixture
def work(tmp_path: Path) -> Work:
    configs = {name: load_config(CHECKOUT / "configs", name) for name in CONFIGS_OF_A_TRACE}
    configs["traces"] = TracesConfig.model_validate({"traces": {TRACE_ID: ENTRY}})
    hidden = {
        "user": f"user_{PSEUDONYM}",
        "group": None,
        "account": None,
        "name": f"job_{PSEUDONYM}",
        "source_file": f"file_{PSEUDONYM}",
    }
    jobs = trace([job(1, 0, 1, 10), job(2, 5, 2, 20)], TRACE_ID)
    jobs = jobs.with_columns(pl.lit(value, pl.String).alias(name) for name, value in hidden.items())
    raw = {"sha256": [HASH], "size_bytes": [3], "entry": [json.dumps(ENTRY | {"part_of": "whole"})]}
    counts = {"files_count": [1], "jobs_count": [2], "rejects_count": [0], "sha256": [HASH]}
    records = [
        Materialization("raw_trace", TRACE_ID, 1, 0.0, "run", "code", HASH, 1, ()),
        Materialization(
            "trace_jobs", TRACE_ID, 2, 0.0, "run", "code", HASH, 2, (InputVersion("raw_trace", 1, HASH),)
        ),
    ]
    (tmp_path / "lineage.json").write_text(json.dumps([asdict(record) for record in records]))
    (tmp_path / "README.md").write_text(readme(TRACE_ID, has_names=False), encoding="utf-8")
    tables = {
        "raw_trace": pl.DataFrame(raw),
        "trace_jobs": jobs,
        "trace_rejects": pl.DataFrame({"text": []}),
        "ingest_report": pl.DataFrame(counts),
    }
    return Work(tmp_path, configs=configs, tables=tables)


@pytest.mark.parametrize("what", ["other files", "configs", "names", "what was read", "lineage.json"])
def test_what_is_as_it_says_agrees(work: Work, what: str) -> None:
    assert work.found(what).state is State.AGREES, work.found(what).note


def test_a_readme_of_somebody_else_is_told(work: Work) -> None:
    (work.folder / "README.md").write_text("All is well.")
    assert work.found("other files").state is State.DIFFERS
    (work.folder / "README.md").unlink()
    assert work.found("other files").state is State.DIFFERS


@pytest.mark.parametrize("path", ["report.pdf", "configs/extra.yaml", "tables/extra.parquet"])
def test_files_that_nobody_looks_at_are_told(work: Work, path: str) -> None:
    work.files = (*work.files, path)
    found = work.found("other files")
    assert found.state is State.NOT_CHECKED
    assert path in found.note


def test_other_seeds_and_another_entry_are_told(work: Work) -> None:
    work.about = {"seeds": seeds_of(work.configs) | {"stress.scenarios.seed": 0}}
    assert "other seeds" in work.found("configs").note
    work.about = {}
    work.configs["traces"] = TracesConfig.model_validate({"traces": {TRACE_ID: {"capacity_procs": 9}}})
    assert "another entry than raw_trace" in work.found("configs").note
    work.configs["traces"] = TracesConfig.model_validate({"traces": {}})
    assert work.found("configs").state is State.DIFFERS


def test_seeds_are_found_however_deep_and_whatever_they_are_of() -> None:
    found = seeds_of({"placement": load_config(CHECKOUT / "configs", "placement")})
    assert found.keys() >= {
        "placement.generator.seed",
        "placement.generator.other_seed",
        "placement.score.seed",
    }


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("user", "bob"), ("user", f"group_{PSEUDONYM}"), ("name", f"job_{PSEUDONYM}x")),
        *(("group", f"xgroup_{PSEUDONYM}"), ("source_file", "a.swf"), ("account", "")),
    ],
)
def test_a_name_that_is_no_pseudonym_is_told(work: Work, column: str, value: str) -> None:
    first = pl.int_range(pl.len()) == 0
    shown = pl.when(first).then(pl.lit(value)).otherwise(column).alias(column)
    work.tables["trace_jobs"] = work.tables["trace_jobs"].with_columns(shown)
    found = work.found("names")
    assert found.state is State.DIFFERS
    assert f"{column} of trace_jobs" in found.note
    work.about = {"names": "kept", "key_id": None}
    assert work.found("names").state is State.AGREES


@pytest.mark.parametrize("count", ["files_count", "jobs_count", "rejects_count"])
def test_jobs_and_lines_that_went_missing_are_told(work: Work, count: str) -> None:
    work.tables["ingest_report"] = work.report.with_columns(pl.col(count) + 1)
    found = work.found("what was read")
    assert found.state is State.DIFFERS
    assert count in found.note


@pytest.mark.parametrize("asset", ["raw_trace", "ingest_report"])
def test_another_raw_file_is_told(work: Work, asset: str) -> None:
    work.tables[asset] = work.tables[asset].with_columns(sha256=pl.lit("b" * 64))
    assert work.found("what was read").state is State.DIFFERS


def test_another_raw_file_is_told_where_the_manifest_goes_along(work: Work) -> None:
    work.tables["ingest_report"] = work.report.with_columns(sha256=pl.lit("b" * 64))
    work.about = {"source_sha256": "b" * 64}
    assert "another hash" in work.found("what was read").note


@pytest.mark.parametrize(
    ("number", "changed", "said"),
    [
        (
            1,
            {"data_version": "b" * 64},
            "trace_jobs has data version aaaaaaaaaaaa, its record says otherwise",
        ),
        (0, {"data_version": "b" * 64}, "trace_jobs was made from a raw_trace that has no record"),
        (0, {"asset": "other"}, "trace_jobs was made from a raw_trace that has no record"),
        (0, {"record_id": 7}, "trace_jobs was made from a raw_trace that has no record"),
        (1, {"asset": "other"}, "trace_jobs has data version"),
    ],
)
def test_a_lineage_with_a_gap_is_told(work: Work, number: int, changed: dict[str, Any], said: str) -> None:
    path = work.folder / "lineage.json"
    records = json.loads(path.read_text())
    records[number] |= changed
    path.write_text(json.dumps(records))
    found = work.found("lineage.json")
    assert found.state is State.DIFFERS
    assert said in found.note


def test_policies_and_their_replays_are_those_of_the_configs(work: Work) -> None:
    """A policy that went missing would take its replay and its verdicts with it."""
    policies = cast("PoliciesConfig", work.configs["policies"])
    replays = [f"replay/{policy_id}" for policy_id in policies.ids]
    whole = [*replays, *RECIPES, *LONG_RECIPES, SHAKEN, *NOT_COMPUTED]
    work.made, work.about = whole, {"policies": policies.ids}
    assert work.found("what there must be").state is State.AGREES
    for asset in whole:
        work.made = [each for each in whole if each != asset]
        assert asset in work.found("what there must be").note
    work.made, work.about = whole, {"policies": policies.ids[1:]}
    assert "other policies" in work.found("what there must be").note


DRAWN = "<svg a='1'><g></g></svg>"
MADE = SimpleNamespace(
    markdown="FAIL",
    html=f"<p>FAIL</p><figure>{DRAWN}</figure><p>end</p>",
    json='{"verdict": "FAIL",\n   "file_name": "a.svg",\n   "sha256": "'
    + "a" * 64
    + '",\n "substance_sha256": "'
    + "b" * 64
    + '", "sha256": "'
    + "c" * 64
    + '"}',
    figures={"a.svg": DRAWN},
)


class TestDossier:
    @pytest.fixture
    def written(self, work: Work) -> Work:
        figures = work.folder / "dossier" / "figures"
        figures.mkdir(parents=True)
        (figures / "a.svg").write_text(DRAWN)
        (figures.parent / "dossier.md").write_text(MADE.markdown)
        (figures.parent / "dossier.html").write_text(MADE.html)
        (figures.parent / "dossier.json").write_text(MADE.json)
        work.about = {"environment": {"matplotlib": version("matplotlib")}}
        return work

    def told(self, work: Work) -> list[State]:
        checks: tuple[Callable[..., Finding], ...] = (recompute._dossier, recompute._figures)
        return [check(work, lambda: MADE).state for check in checks]

    def test_as_made(self, written: Work) -> None:
        assert self.told(written) == [State.AGREES, State.AGREES]
        written.about = {"environment": {"matplotlib": "0.1"}}
        assert self.told(written) == [State.AGREES, State.NOT_CHECKED]
        written.about = {"environment": {}}
        assert self.told(written) == [State.AGREES, State.NOT_CHECKED]

    @pytest.mark.parametrize("drawn_by", [version("matplotlib"), "0.1"])
    @pytest.mark.parametrize(
        ("name", "old", "new"),
        [
            ("dossier.md", "FAIL", "PASS"),
            ("dossier.html", "FAIL", "PASS"),
            ("dossier.html", "</svg></figure>", "</svg><svg>PASS</svg></figure>"),
            ("dossier.html", "<p>end", "<p>end<svg>PASS</svg>"),
            ("dossier.html", DRAWN, ""),
            ("dossier.json", "FAIL", "PASS"),
            ("dossier.json", "c" * 64, "d" * 64),
            ("dossier.json", "a.svg", "b.svg"),
        ],
    )
    def test_words_are_checked_whatever_drew_the_figures(
        self, written: Work, drawn_by: str, name: str, old: str, new: str
    ) -> None:
        """A manifest says which matplotlib drew them, and a forger says what suits."""
        written.about = {"environment": {"matplotlib": drawn_by}}
        path = written.folder / "dossier" / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        assert self.told(written)[0] is State.DIFFERS

    @pytest.mark.parametrize(
        ("name", "old", "new"),
        [
            ("dossier.html", "a='1'", "a='2'"),
            ("figures/a.svg", "a='1'", "a='2'"),
            ("dossier.json", "a" * 64, "e" * 64),
            ("dossier.json", "b" * 64, "e" * 64),
        ],
    )
    def test_another_drawing_is_told(self, written: Work, name: str, old: str, new: str) -> None:
        path = written.folder / "dossier" / name
        path.write_text(path.read_text().replace(old, new))
        assert self.told(written) == [State.AGREES, State.DIFFERS]
        written.about = {"environment": {"matplotlib": "0.1"}}
        assert self.told(written) == [State.AGREES, State.NOT_CHECKED]

    def test_a_file_more_and_a_file_less_are_told(self, written: Work) -> None:
        check: Callable[..., Finding] = recompute._dossier
        written.files = (*FILES, "dossier/summary.html")
        found = check(written, lambda: MADE)
        assert (found.state, found.note) == (State.DIFFERS, "dossier/summary.html is no part of it")
        written.files = FILES[:-1]
        found = check(written, lambda: MADE)
        assert (found.state, found.note) == (State.DIFFERS, "dossier/figures/a.svg is missing")
