"""The catalog: typed views whether or not there are files, comments, awkward folders, read-only questions."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.tables import TABLES, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets.warehouse.catalog import View, build_catalog
from hpcopt_assets.warehouse.query import query
from hpcopt_assets_tests.builders import trace

FOLDERS = {name: (name,) for name in TABLES}


def put(store: Path, folder: str, trace: str, frame: pl.DataFrame) -> None:
    path = store / folder / f"trace={trace}" / "part.parquet"
    path.parent.mkdir(parents=True)
    frame.write_parquet(path)


def build(tmp_path: Path, store: Path, traces: set[str]) -> tuple[Path, dict[str, View]]:
    target = tmp_path / "catalog.duckdb"
    views = build_catalog(target, store=store, folders=FOLDERS, tables=TABLES, traces=frozenset(traces))
    return target, {view.name: view for view in views}


@pytest.mark.parametrize("name", ["store", "it's [a] st*re?"])
def test_views_span_traces_and_work_from_any_directory(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / name
    put(store, "trace_jobs", "a", trace([(1, 0, 1, 10)]))
    put(store, "trace_jobs", "b", trace([(1, 0, 1, 10), (2, 1, 1, 10)]))
    monkeypatch.chdir(tmp_path)
    catalog, views = build(tmp_path, store.relative_to(tmp_path), {"a", "b", "c"})
    monkeypatch.chdir("/")
    assert query(catalog, "SELECT count(*) AS n FROM trace_jobs").to_pylist() == [{"n": 3}]
    assert views["trace_jobs"] == View("trace_jobs", 3, ("trace_jobs/trace=c",))


def test_a_table_without_files_is_an_empty_view_of_the_right_types(tmp_path: Path) -> None:
    catalog, views = build(tmp_path, tmp_path / "store", {"a"})
    assert views["trace_jobs"].rows_count == 0
    described = query(catalog, "DESCRIBE trace_jobs").to_pylist()
    assert [row["column_name"] for row in described] == list(TRACE_JOBS.names)
    assert {row["column_name"]: row["column_type"] for row in described}["gpus"] == "BIGINT"
    assert query(catalog, "SELECT sum(gpus) AS gpus FROM trace_jobs").to_pylist() == [{"gpus": None}]


def test_views_and_columns_carry_their_meaning(tmp_path: Path) -> None:
    catalog, _ = build(tmp_path, tmp_path / "store", set())
    views = query(catalog, "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal").to_pylist()
    assert {row["view_name"]: row["comment"] for row in views} == {t.name: t.means for t in TABLES.values()}
    columns = query(
        catalog, "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'trace_rejects'"
    ).to_pylist()
    assert {row["column_name"]: row["comment"] for row in columns} == {
        column.name: column.description for column in TRACE_REJECTS.columns
    }


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DROP VIEW trace_jobs", "one SELECT"),
        ("INSERT INTO trace_jobs SELECT * FROM trace_jobs", "one SELECT"),
        ("SELECT 1; DROP VIEW trace_jobs", "2 statements"),
        ("DROP VIEW trace_jobs", "1 statement, the first of kind DROP"),
        ("ATTACH 'other.duckdb'", "one SELECT"),
        ("", "0 statements"),
        ("SELEC 1", "Parser Error"),
        ("SELECT * FROM no_such_table", "no_such_table"),
    ],
)
def test_anything_but_one_reading_statement_is_refused(tmp_path: Path, sql: str, words: str) -> None:
    catalog, _ = build(tmp_path, tmp_path / "store", set())
    before = catalog.read_bytes()
    with pytest.raises(InputError, match=words):
        query(catalog, sql)
    assert catalog.read_bytes() == before


def test_columns_of_one_name_are_numbered(tmp_path: Path) -> None:
    catalog, _ = build(tmp_path, tmp_path / "store", set())
    both = query(catalog, "SELECT * FROM trace_jobs AS a JOIN trace_rejects AS b USING (source_line)")
    assert len(set(both.column_names)) == len(both.column_names)
    assert {"trace_id", "trace_id_1"} <= set(both.column_names)
    assert query(catalog, "SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS a").to_pylist() == [
        {"a": 1, "a_2": 2, "a_1": 3, "a_3": 4}
    ]


def test_a_missing_catalog_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="hpcopt run"):
        query(tmp_path / "none.duckdb", "SELECT 1")
