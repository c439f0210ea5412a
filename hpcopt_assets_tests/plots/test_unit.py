"""Curves in the unit square and tables of shares: all of their words are drawn, the same bytes each time."""

from __future__ import annotations

import numpy as np

from hpcopt_assets.plots.unit import Curve, Spot, Square, share_table, unit_squares

LINE = np.linspace(0, 1, 1000)


def squares():
    return unit_squares(
        [
            Square("false alarms", "found", [Curve("model", LINE, LINE**0.5)], [Spot("rule", 0.0, 0.4)]),
            Square("chance", "share", [], bars=[0.2, 0.8], has_diagonal=False),
        ],
        file_name="both.svg",
        title="Both",
        caption="What is drawn.",
    )


def test_panels_share_one_legend_and_name_their_axes():
    svg = squares().svg
    for word in ("false alarms", "found", "chance", "share"):
        assert word in svg
    assert svg.count(">model<") == svg.count(">rule<") == 1
    assert "<title>Both</title>" in svg


def test_a_long_curve_is_thinned():
    assert len(squares().svg) < 20_000


def test_the_same_drawing_has_the_same_bytes():
    assert squares() == squares()


def test_a_table_shows_each_share_and_leaves_unknown_cells_empty():
    svg = share_table(
        np.array([[0.25, 0.75], [np.nan, 1.0]]),
        ["was no", "was yes"],
        ["no", "yes"],
        file_name="t.svg",
        title="T",
        caption="",
        x_label="said",
        y_label="was",
    ).svg
    assert [text in svg for text in ("25.0 %", "75.0 %", "100.0 %", "nan")] == [True, True, True, False]
