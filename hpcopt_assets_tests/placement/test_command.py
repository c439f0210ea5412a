"""The command says what the published script says, refuses before it says anything, and explains."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.placement.__main__ import main
from hpcopt_assets.placement.command import Asked, predict_lines
from hpcopt_assets.placement.predict import open_predictor
from hpcopt_assets_tests.placement.foreign import BITS, MEAN, SCALE, bundle, expected, model, rows, write

ROW = re.compile(r"^\d+ (not failed|failed) proba=[01]\.\d{6}$")


@pytest.fixture
def three(tmp_path):
    return write(tmp_path, model(), bundle(), rows(5))


def flags(paths, *more):
    return [
        *(f"--{name}={path}" for name, path in zip(("onnx", "bundle", "parquet"), paths, strict=True)),
        *more,
    ]


def test_the_output_is_that_of_the_published_script(three, capsys):
    assert main(flags(three, "--label_col", "l1_failed", "--threshold", "0.5")) == 0
    frame = rows(5)
    chance, truth = expected(frame), frame["l1_failed"].to_list()
    said = chance >= 0.5
    lines = [
        f"{i} {'failed' if s else 'not failed'} proba={p:.6f}"
        for i, (s, p) in enumerate(zip(said, chance, strict=True))
    ]
    hits = sum(s and t for s, t in zip(said, truth, strict=True))
    right = sum(s == t for s, t in zip(said, truth, strict=True)) / 5
    f1 = 2 * hits / (sum(said) + sum(truth))
    metrics = (
        f"accuracy={right:.6f} precision={hits / sum(said):.6f} recall={hits / sum(truth):.6f} f1={f1:.6f}"
    )
    assert capsys.readouterr().out.splitlines() == [*lines, f"Metrics on loaded rows: {metrics}"]


def test_the_word_predict_may_stand_or_not_and_n_limits_the_rows(three, capsys):
    main(["predict", *flags(three, "--n", "2")])
    first = capsys.readouterr().out
    main(flags(three, "--n", "2"))
    assert capsys.readouterr().out == first
    assert len(first.splitlines()) == 2
    assert all(ROW.match(line) for line in first.splitlines())


def test_the_threshold_is_the_bundles_unless_given(tmp_path, capsys):
    paths = write(tmp_path, model(), bundle(threshold=0.0), rows(5))
    main(flags(paths))
    assert "not failed" not in capsys.readouterr().out
    main(flags(paths, "--threshold", "1.0"))
    assert capsys.readouterr().out.count("not failed") == 5


def test_a_chance_at_the_threshold_is_a_failure_and_rounding_decides_nothing(three, capsys):
    chance = open_predictor(*three[:2]).chances(rows(5), "rows").failed
    for threshold, word in ((chance[0], "failed"), (np.nextafter(chance[0], 2), "not failed")):
        main(flags(three, "--n", "1", "--threshold", repr(float(threshold))))
        assert capsys.readouterr().out.startswith(f"0 {word} proba=")


def test_metrics_without_a_yes_are_zero_and_no_error(tmp_path, capsys):
    paths = write(tmp_path, model(), bundle(), rows(5).with_columns(l1_failed=pl.lit(0)))
    main(flags(paths, "--threshold", "1", "--label_col", "l1_failed"))
    assert capsys.readouterr().out.splitlines()[-1] == (
        "Metrics on loaded rows: accuracy=1.000000 precision=0.000000 recall=0.000000 f1=0.000000"
    )


@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32, pl.Int8, pl.UInt64, pl.Boolean])
def test_labels_may_be_numbers_of_any_type(tmp_path, capsys, dtype):
    paths = write(tmp_path, model(), bundle(), rows(5))
    main(flags(paths, "--label_col", "l1_failed"))
    plain = capsys.readouterr().out
    rows(5).with_columns(pl.col("l1_failed").cast(pl.Int8).cast(dtype)).write_parquet(paths[2])
    assert main(flags(paths, "--label_col", "l1_failed")) == 0
    assert capsys.readouterr().out == plain


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ([0.0, 1.0, float("nan"), 0.0, 1.0], "nan in row 2"),
        ([0.0, 1.0, 0.0, 0.5, 1.0], "0.5 in row 3"),
        ([0, 1, 0, 1, 2], "2 in row 4"),
        ([True, None, True, True, True], "None in row 1"),
        (["yes"] * 5, "type String"),
    ],
)
def test_a_label_that_is_none_is_refused_by_its_row(tmp_path, capsys, labels, found):
    paths = write(tmp_path, model(), bundle(), rows(5).with_columns(l1_failed=pl.Series(labels)))
    assert main(flags(paths, "--label_col", "l1_failed")) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"column l1_failed: {found}" in said.err


def test_it_runs_as_a_module_of_its_own(three):
    done = subprocess.run(
        [sys.executable, "-m", "hpcopt_assets.placement", "predict", *flags(three, "--n", "1")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ROW.match(done.stdout.strip())


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"n": -1}, "--n -1"),
        ({"threshold": 2.0}, "--threshold 2.0"),
        ({"threshold": float("nan")}, "--threshold nan"),
        ({"label_col": "nowhere"}, "no column nowhere"),
        ({"label_col": "free_servers"}, "free_servers"),
        ({"onnx": "missing"}, "no such file"),
    ],
)
def test_what_is_asked_wrongly_is_refused_before_anything_is_said(three, tmp_path, change, named):
    asked = Asked(*three)
    asked = Asked(**(vars(asked) | change | ({"onnx": tmp_path / "missing"} if "onnx" in change else {})))
    with pytest.raises(InputError, match=re.escape(named)):
        next(predict_lines(asked))


def test_errors_go_to_standard_error_with_exit_code_2(three, capsys):
    three[2].write_bytes(b"no parquet")
    assert main(flags(three)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("hpcopt: ")
    assert "no parquet" in said.err


def test_explained_rows_name_a_cause_and_what_moved_them(made, capsys):
    main(flags((made.onnx, made.bundle, made.parquet), "--n", "400", "--explain"))
    lines = capsys.readouterr().out.splitlines()
    pattern = re.compile(r"^\d+ (not )?failed proba=\S+ cause=(\w+) moved_by=(\w+:[+-][\d.]+,?){3}$")
    assert all(pattern.match(line) for line in lines)
    causes = {row: line.split("cause=")[1].split()[0] for row, line in enumerate(lines) if " failed" in line}
    truth = made.snapshots["failure_cause"].head(400)
    short = [row for row in range(400) if truth[row] == "servers"]
    assert short
    assert all(causes[row] == "servers" for row in short)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {
            "scaler_mean": [0, 0, 0, 0, *MEAN],
            "scaler_scale": [1, 1, 1, 1, *SCALE],
            "input_order": ["server_bitmap", "scalars"],
        },
    ],
)
def test_what_moved_a_row_is_what_the_score_would_be_without_it(tmp_path, capsys, told):
    main(flags(write(tmp_path, model(), bundle(**told), rows(5)), "--explain"))
    frame = rows(5)
    usual = {"free_servers": MEAN[0], "requested_servers": MEAN[1]}
    others = {name: frame.with_columns(pl.lit(value).alias(name)) for name, value in usual.items()}
    others["server_bitmap"] = frame.with_columns(server_bitmap=pl.Series(np.zeros((5, BITS), np.uint8)))
    changes = {name: expected(frame) - expected(other) for name, other in others.items()}
    for row, line in enumerate(capsys.readouterr().out.splitlines()):
        assert "cause=" not in line  # this model tells none
        ranked = sorted(changes, key=lambda name: -abs(changes[name][row]))
        assert line.split("moved_by=")[1] == ",".join(f"{name}:{changes[name][row]:+.3f}" for name in ranked)


@pytest.mark.parametrize("module", ["hpcopt_assets.placement", "hpcopt_assets.cli placement"])
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path, module):
    paths = write(tmp_path, model(), bundle(), rows(6000))  # more than a pipe holds
    command = [sys.executable, "-m", *module.split(), "predict", *flags(paths, "--n", "0")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asked:
        assert ROW.match(asked.stdout.readline().strip())
        asked.stdout.close()
        assert (asked.stderr.read(), asked.wait()) == ("", 0)
