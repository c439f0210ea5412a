"""Answers as text: what a file holds whole, a terminal shows in short."""

import base64
import json

import pyarrow as pa
import pytest

from hpcopt_assets.warehouse.answer import BRIEF_CHARACTERS, brief, to_csv, to_json, to_parquet

MODEL = bytes(range(256)) * 20
TABLE = pa.table({"name": ["p50"], "onnx": pa.array([MODEL], pa.binary()), "features": [["a", "b"]]})


def test_bytes_are_base64_in_files_and_counted_on_a_terminal():
    text = base64.b64encode(MODEL).decode()
    assert json.loads(to_json(TABLE)) == [{"name": "p50", "onnx": text, "features": ["a", "b"]}]
    assert text in to_csv(TABLE).decode()
    assert pa.BufferReader(to_parquet(TABLE)).read(4) == b"PAR1"
    assert brief(MODEL) == "5,120 bytes"


@pytest.mark.parametrize("value", [list(range(1024)), "x" * 1000])
def test_long_values_are_cut_on_a_terminal(value):
    assert len(str(brief(value))) == BRIEF_CHARACTERS + 3


@pytest.mark.parametrize("value", [None, 3, 2.5, "short", [1, 2]])
def test_short_values_are_shown_whole(value):
    assert brief(value) == ("1;2" if value == [1, 2] else value)
