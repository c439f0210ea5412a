"""Marked lines: every number is there, with its interval, at its place."""

import re

import numpy as np
import pytest

from hpcopt_assets.plots.marks import Series, marked_lines

WORDS = {
    "file_name": "m.svg",
    "title": "Title & more",
    "caption": "c",
    "x_label": "fold",
    "y_label": "error (h)",
}


def test_names_labels_and_title():
    drawing = marked_lines(
        [Series("model", np.array([1.0, 2.0])), Series("rule", np.array([2.0, 3.0]))],
        places=["1", "2-8"],
        **WORDS,
    )
    for text in ("model", "rule", "2-8", "fold", "error (h)"):
        assert f">{text}<" in drawing.svg
    assert "Title &amp; more" in drawing.svg


def test_unknown_numbers_leave_a_gap_and_no_warning():
    drawing = marked_lines([Series("a", np.array([1.0, np.nan, 2.0]))], places=["x", "y", "z"], **WORDS)
    assert drawing.svg.startswith("<svg")


def test_intervals_and_targets_are_drawn():
    plain = marked_lines([Series("a", np.array([0.1, 0.2]))], places=["x", "y"], **WORDS)
    full = marked_lines(
        [Series("a", np.array([0.1, 0.2]), np.array([0.0, 0.1]), np.array([0.2, 0.3]))],
        places=["x", "y"],
        targets=[0.1, 0.9],
        is_share=True,
        **WORDS,
    )
    assert full.svg.count("<path") > plain.svg.count("<path") + 2
    assert "100 %" in full.svg


def test_time_is_shown_as_dates():
    at = np.array([1.70e9, 1.71e9, 1.72e9])
    drawing = marked_lines([Series("a", np.array([1.0, 2.0, 3.0]))], places=at, **WORDS)
    assert "time (UTC)" in drawing.svg
    assert re.search(r">(2024|Jan|Apr|Jul)", drawing.svg)


@pytest.mark.parametrize("count", [1, 6])
def test_the_same_drawing_gives_the_same_bytes(count):
    series = [Series(f"s{i}", np.arange(3.0) + i) for i in range(count)]
    first, second = (marked_lines(series, places=["a", "b", "c"], **WORDS).svg for _ in range(2))
    assert first == second
