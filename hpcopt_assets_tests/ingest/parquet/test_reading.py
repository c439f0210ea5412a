"""Reading in pieces: only the columns that are needed, of whatever type, and every row accounted for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.vocabulary import RejectCode
from hpcopt_assets.ingest.parquet import columns
from hpcopt_assets.ingest.parquet.columns import find_columns
from hpcopt_assets.ingest.parquet.fdata import FIELDS, read_fdata
from hpcopt_assets.ingest.parquet.pm100 import read_pm100
from hpcopt_assets.ingest.parsed import Options, SourceFile
from hpcopt_assets_tests.ingest.parquet.helpers import (
    FDATA_SCHEMA,
    LIMITS,
    PM100_SCHEMA,
    codes,
    fdata,
    jobs_of,
    parse,
    pm100,
    write,
)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "PIECE_ROWS", 7)


def spoil(path: Path, column: str) -> None:
    """Overwrite the bytes of a column, so that reading it fails."""
    with pq.ParquetFile(path) as file:
        places = [
            (chunk.dictionary_page_offset or chunk.data_page_offset, chunk.total_compressed_size)
            for group in range(file.num_row_groups)
            for chunk in [
                file.metadata.row_group(group).column(k)
                for k in range(file.metadata.num_columns)
                if file.metadata.row_group(group).column(k).path_in_schema.startswith(column)
            ]
        ]
    with path.open("r+b") as raw:
        for start, size in places:
            raw.seek(start)
            raw.write(b"\xff" * size)


@pytest.mark.parametrize(
    ("reader", "make", "schema", "column"),
    [
        (read_fdata, fdata, FDATA_SCHEMA, "embedding"),
        (read_pm100, pm100, PM100_SCHEMA, "node_power_consumption"),
    ],
)
def test_embeddings_and_power_are_never_read(
    tmp_path: Path, reader: Any, make: Any, schema: dict[str, Any], column: str
) -> None:
    rows = [make(k, **{column: [k] * 500}) for k in range(50)]
    path = write(tmp_path / "a.parquet", rows, schema)
    whole = jobs_of(parse(reader, path))
    spoil(path, column)
    with pytest.raises((OSError, pa.ArrowException)):
        pq.read_table(path, columns=[column])
    assert jobs_of(parse(reader, path)).equals(whole)


def test_only_named_columns_are_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [fdata()], FDATA_SCHEMA)
    found = find_columns(SourceFile(path, "a.parquet"), FIELDS)
    assert {"embedding", "pclass", "qdt"}.isdisjoint(found.dtypes)
    (piece,) = found.pieces()
    assert piece.columns == ["source_line", *(f"raw:{name}" for name in found.dtypes)]


def test_a_damaged_needed_column_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [fdata(k) for k in range(50)], FDATA_SCHEMA)
    spoil(path, "adt")
    with pytest.raises(TraceError, match="the parquet data cannot be read"):
        parse(read_fdata, path)


@pytest.mark.parametrize("stated", [2, 4])
def test_a_file_with_other_rows_than_it_states_is_damaged(tmp_path: Path, stated: int) -> None:
    path = write(tmp_path / "a.parquet", [fdata(k) for k in range(3)], FDATA_SCHEMA)
    found = find_columns(SourceFile(path, "a.parquet"), FIELDS)
    with pytest.raises(TraceError, match=f"3 rows found, {stated} stated"):
        list(replace(found, rows=stated).pieces())


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1junkPAR1", b"1 2 3\n", bytes(5000)])
def test_what_is_no_parquet_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"a\.parquet"):
        parse(read_fdata, path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"gone\.parquet"):
        parse(read_fdata, tmp_path / "gone.parquet")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(place=st.floats(0, 1), noise=st.binary(min_size=1, max_size=40))
def test_noise_in_a_file_never_crashes_the_reader(
    tmp_path_factory: pytest.TempPathFactory, place: float, noise: bytes
) -> None:
    path = tmp_path_factory.mktemp("noise") / "a.parquet"
    write(path, [fdata(k) for k in range(30)], FDATA_SCHEMA)
    data = bytearray(path.read_bytes())
    start = int(place * len(data))
    data[start : start + len(noise)] = noise
    path.write_bytes(data)
    try:
        parsed = parse(read_fdata, path)
        parsed.records.collect()
    except TraceError:
        pass


@pytest.mark.usefixtures("small_pieces")
def test_rows_are_numbered_through_all_pieces_and_row_groups(tmp_path: Path) -> None:
    rows = [fdata(k, **({"adt": None} if k in (3, 17, 29) else {})) for k in range(40)]
    path = write(tmp_path / "a.parquet", rows, FDATA_SCHEMA)
    pl.read_parquet(path).write_parquet(path, row_group_size=11)
    parsed = parse(read_fdata, path)
    assert codes(parsed.refused) == dict.fromkeys((4, 18, 30), RejectCode.NO_SUBMIT_TIME)
    assert (parsed.counts.lines, parsed.counts.merged) == (40, 37)
    records = parsed.records.select("job_id", "source_line").collect()
    assert records.rows() == [(f"jid_{k}", k + 1) for k in range(40) if k not in (3, 17, 29)]


@pytest.mark.usefixtures("small_pieces")
def test_records_are_lazy_and_may_be_asked_for_in_parts(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [fdata(k, submit=k) for k in range(40)], FDATA_SCHEMA)
    records = parse(read_fdata, path).records
    whole = records.collect()
    assert records.collect().equals(whole), "a second reading differs"
    assert records.select("user", "job_id").collect().equals(whole.select("user", "job_id"))
    assert records.head(9).collect().equals(whole.head(9))
    late = pl.col("submit_s") > whole["submit_s"][19]
    assert records.filter(late).select("job_id").collect().equals(whole.filter(late).select("job_id"))
    assert records.filter(late).head(3).collect().equals(whole.filter(late).head(3))
    assert records.select(pl.len()).collect(engine="streaming").item() == 40


def test_too_many_rows_are_refused_before_they_are_read(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{k}.parquet", [fdata(k)] * 6, FDATA_SCHEMA) for k in range(2)]
    files = tuple(SourceFile(path, path.name) for path in paths)
    with pytest.raises(TraceError, match=r"rows is 12; .*at most 11\. .* max_rows in configs/ingest\.yaml"):
        read_fdata(files, Options(LIMITS.model_copy(update={"max_rows": 11})))


def test_too_large_a_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [fdata()], FDATA_SCHEMA)
    with pytest.raises(TraceError, match="max_file_bytes"):
        read_fdata(
            (SourceFile(path, "a.parquet"),), Options(LIMITS.model_copy(update={"max_file_bytes": 100}))
        )


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("jid", pa.array(["jid_1"]).dictionary_encode()),
        ("usr", pa.array([None], pa.null())),
        ("usr", pa.array(["usr_3"], pa.large_string())),
        ("usr", pa.array(["usr_3"], pa.string_view())),
        ("cnumr", pa.array([96], pa.uint8())),
        ("cnumr", pa.array([96.0], pa.float32())),
        ("cnumr", pa.array(["96"])),
        ("duration", pa.array([None], pa.null())),
        ("deldt", pa.array([None], pa.null())),
        ("ec", pa.array([0.0])),
    ],
    ids=str,
)
def test_columns_may_be_of_another_type(tmp_path: Path, column: str, values: pa.Array) -> None:
    path = write(tmp_path / "a.parquet", [fdata()], FDATA_SCHEMA)
    plain = jobs_of(parse(read_fdata, path)).drop("user")
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, values), path)
    assert jobs_of(parse(read_fdata, path)).drop("user").equals(plain)


@pytest.mark.parametrize(
    ("column", "values", "needed"),
    [
        ("cnumr", pa.array([[96]]), "a number"),
        ("adt", pa.array([True]), "an instant"),
        ("duration", pa.array([5], pa.duration("s")), "a number"),
        ("jid", pa.array([b"jid_1"]), "a text"),
    ],
    ids=str,
)
def test_a_column_that_cannot_hold_its_field_is_named(
    tmp_path: Path, column: str, values: pa.Array, needed: str
) -> None:
    path = write(tmp_path / "a.parquet", [fdata()], FDATA_SCHEMA)
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, values), path)
    with pytest.raises(TraceError, match=f"column {column} has values of type .*{needed} in each row"):
        parse(read_fdata, path)


def with_bytes(path: Path, column: str, values: list[bytes]) -> None:
    """Texts that are no UTF-8, as broken writers make them."""
    table = pq.read_table(path)
    broken = pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, broken), path)


def test_bytes_that_are_no_text_are_replaced_and_cost_a_row_only_in_the_id(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [fdata(1), fdata(2)], FDATA_SCHEMA)
    with_bytes(path, "usr", [b"caf\xe9", b"usr_4"])
    assert jobs_of(parse(read_fdata, path))["user"].to_list() == ["caf\ufffd", "usr_4"]
    with_bytes(path, "jid", [b"jid_1", b"jid_\xff"])
    parsed = parse(read_fdata, path)
    assert codes(parsed.refused) == {2: RejectCode.UNDECODABLE}
    assert jobs_of(parsed)["job_id"].to_list() == ["jid_1"]


def test_text_of_a_refused_row_is_what_was_read_of_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [fdata(adt="soon", jid="x" * 300)], FDATA_SCHEMA)
    (row,) = parse(read_fdata, path).refused
    assert (row.source_file, row.source_line) == ("a.parquet", 1)
    assert row.text == ("jid=" + "x" * 300)[:200]
    assert row.reason == "adt is soon, a time such as 2021-03-01 00:00:00+09:00 needed"
