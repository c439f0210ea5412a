"""What rows are fed as: numbers, vectors and words are checked first, and none is taken for another."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.placement.feeding import blocks_of
from hpcopt_assets.placement.predict import open_predictor
from hpcopt_assets_tests.placement.foreign import (
    MEAN,
    ORDER,
    bundle,
    expected,
    model,
    refused,
    rows,
    said,
    write,
)


def test_large_numbers_that_differ_by_little_stay_apart(tmp_path):
    frame = rows().with_columns(pl.col("free_servers") + 1_700_000_000)
    mean = [MEAN[0] + 1_700_000_000, MEAN[1]]
    for dtype in (np.float32, np.float64):
        found = said(tmp_path, model(dtype=dtype), bundle(scaler_mean=mean), frame)
        assert found == pytest.approx(expected(rows()), abs=1e-6)


def test_a_number_that_the_models_type_does_not_hold_is_refused(tmp_path):
    frame = rows().with_columns(free_servers=pl.Series([1.0] * 5 + [1e40]))
    assert "column free_servers: 1e+40 in row 5" in refused(tmp_path, model(), bundle(), frame)
    assert said(tmp_path, model(dtype=np.float64), bundle(), frame)[5] == 0.0


def test_a_vector_of_words_is_refused(tmp_path):
    frame = rows().with_columns(server_bitmap=pl.Series([["a", "b", "c", "d"]] * 6))
    assert "a list of 4 numbers" in refused(tmp_path, model(), bundle(), frame)


@pytest.mark.parametrize("inputs", [("x_scalar", "bitmap"), ("x",)])
def test_a_model_that_takes_one_row_at_a_time_is_given_one(tmp_path, inputs):
    frame, told = rows(), bundle(**(ORDER if len(inputs) == 1 else {}))
    found = said(tmp_path, model(inputs=inputs, batch=1), told, frame)
    assert found == pytest.approx(expected(frame), abs=1e-6)


def test_a_model_that_fails_on_rows_is_an_error_of_theirs(tmp_path):
    frame = rows().with_columns(server_bitmap=pl.Series(np.zeros((6, 5), np.uint8)))
    told = bundle(vectors={"server_bitmap": 5})
    assert "the model fails" in refused(tmp_path, model(widths=("w", "w")), told, frame)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda f: f.drop("free_servers"), "no column free_servers"),
        (lambda f: f.drop("server_bitmap"), "no column server_bitmap"),
        (lambda f: f.with_columns(free_servers=pl.lit(None, pl.Int64)), "None in row 0"),
        (lambda f: f.with_columns(free_servers=pl.lit(float("nan"))), "nan in row 0"),
        (lambda f: f.with_columns(free_servers=pl.lit(float("inf"))), "inf in row 0"),
        (lambda f: f.with_columns(free_servers=pl.lit("7")), "type String"),
        (lambda f: f.with_columns(server_bitmap=pl.lit(1)), "a list of 4 numbers"),
        (lambda f: f.with_columns(pl.col("server_bitmap").arr.to_list().list.head(3)), "3 in row 0"),
        (
            lambda f: f.with_columns(server_bitmap=pl.Series([[0.0, 1.0, float("nan"), 0.0]] * f.height)),
            "NaN, null or infinity in row 0",
        ),
        (
            lambda f: f.with_columns(
                server_bitmap=pl.Series([[0, 1, 1, 0]] * 5 + [[0, 1, None, 0]], dtype=pl.Array(pl.UInt8, 4))
            ),
            "NaN, null or infinity in row 5",
        ),
    ],
)
def test_rows_that_do_not_fit_are_refused_before_any_is_scored(tmp_path, change, named):
    message = refused(tmp_path, model(), bundle(), change(rows()))
    assert named in message
    assert "needed" in message


# --- columns of words (an encoder in the bundle) ---

WORDS = {
    "scalar_columns": ["partition", "qos"],
    "scaler_mean": None,
    "scaler_scale": None,
    "categories": {"partition": {"a": 0, "b": 1}, "qos": {"high": 3}},
}


def words(**columns: object) -> pl.DataFrame:
    return rows(3).with_columns(
        **{name: pl.Series(values, dtype=pl.String) for name, values in columns.items()}
    )


def fed_as(tmp_path, frame, **told):
    paths = write(tmp_path, model(), bundle(**WORDS, **told), frame)
    return blocks_of(frame, open_predictor(*paths[:2]).layout, "rows")["scalars"].tolist()


def test_unseen_and_missing_words_have_codes_of_their_own(tmp_path):
    frame = words(partition=["b", "zzz", None], foo=["x", "y", "z"])
    codes = fed_as(tmp_path, frame, unknown_value=-1, missing_value=-2)
    assert codes == [[1, -2], [-1, -2], [-2, -2]]


def test_without_such_codes_they_are_refused_and_never_the_first_word(tmp_path):
    with pytest.raises(InputError, match="unknown_value"):
        fed_as(tmp_path, words(partition=["b", "zzz", "a"], qos=["high"] * 3))
    with pytest.raises(InputError, match="missing_value"):
        fed_as(tmp_path, words(partition=["b", "a", "a"]))


@pytest.mark.parametrize(
    ("codes", "column", "right"),
    [
        ({"1": 0, "2": 1}, pl.Series([1.0, 2.0, None]), [0, 1, -2]),
        ({"1": 0, "2": 1}, pl.Series([1.0, 2.0, float("nan")]), [0, 1, -2]),
        ({"1": 0, "2": 1}, pl.Series([2, 3, 1]), [1, -1, 0]),
        ({"1.0": 0, "2.5": 1}, pl.Series([1.0, 2.5, 2.0]), [0, 1, -1]),
        ({"1": 0, "other": 1}, pl.Series([1.0, 2.0, 1.0]), [0, -1, 0]),
        ({"True": 5, "False": 6}, pl.Series([True, False, None]), [5, 6, -2]),
        ({"true": 5}, pl.Series([True, False, True]), [5, -1, 5]),
        ({"1": 5, "0": 6}, pl.Series([True, False, True]), [5, 6, 5]),
    ],
)
def test_numbers_and_truth_values_are_found_among_words(tmp_path, codes, column, right):
    told = bundle(**WORDS) | {
        "scalar_columns": ["partition", "free_servers"],
        "categories": {"partition": codes},
    }
    told |= {"unknown_value": -1, "missing_value": -2}
    frame = rows(3).with_columns(partition=column)
    predictor = open_predictor(*write(tmp_path, model(), told, frame)[:2])
    assert blocks_of(frame, predictor.layout, "rows")["scalars"][:, 0].tolist() == right


def test_a_column_of_numbers_under_words_is_refused_and_not_unknown(tmp_path):
    frame = words(qos=["high"] * 3).with_columns(partition=pl.Series([1.0, 2.0, 3.0]))
    with pytest.raises(InputError, match="words such as a, b"):
        fed_as(tmp_path, frame, unknown_value=-1)


@pytest.mark.parametrize("column", [pl.Series([["a"]] * 3), pl.Series([{"a": 1}] * 3), pl.Series([b"a"] * 3)])
def test_what_is_neither_word_nor_number_is_refused_and_not_unknown(tmp_path, column):
    frame = words(qos=["high"] * 3).with_columns(partition=column)
    with pytest.raises(InputError, match="words such as a, b"):
        fed_as(tmp_path, frame, unknown_value=-1)
