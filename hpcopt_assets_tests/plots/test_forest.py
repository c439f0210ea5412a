"""Forest plots: every row and interval is there; what is not known, or lies beyond the axis, says so."""

import re

import pytest

from hpcopt_assets.plots.forest import Interval, Panel, Row, forest

ABSENT = Interval(None, None)
WORDS = {
    "file_name": "f.svg",
    "title": "Title & more",
    "caption": "c",
    "x_label": "change (s)",
    "value_label": "as replayed",
    "interval_labels": ("shaken", "weeks"),
}


def drawn(*panels):
    return forest(panels, **WORDS).svg


def panel(*rows, title="steady"):
    return Panel(title, rows)


def row(value, first=ABSENT, second=ABSENT, label="a"):
    return Row(label, value, first, second)


def ticks(svg):
    """The numbers along the axis."""
    return [
        float(found) for found in re.findall(r">([+-][\d.]+|0)</text>", svg.replace("\N{MINUS SIGN}", "-"))
    ]


def test_rows_panels_and_keys_are_named():
    rows = [row(-1.0, label="easy"), row(2.0, label="fifo")]
    svg = drawn(panel(*rows), panel(*rows, title="rest"))
    for text in ("easy", "fifo", "steady", "rest", "change (s)", "as replayed", "shaken", "weeks"):
        assert f">{text}<" in svg
    assert svg.count(">easy<") == 1  # panels share their rows
    assert "Title &amp; more" in svg


def bars(svg):
    """How many intervals are drawn, beside the two of the key."""
    return svg.count("stroke-width: 2.2") - 2


def test_each_interval_is_a_bar_and_half_of_one_is_none():
    assert bars(drawn(panel(row(-1.0)))) == 0
    assert bars(drawn(panel(row(-1.0, first=Interval(-1.5, -0.5))))) == 1
    assert bars(drawn(panel(row(-1.0, first=Interval(-1.5, -0.5), second=Interval(-1.5, 0.5))))) == 2
    assert bars(drawn(panel(row(-1.0, first=Interval(-1.5, None), second=Interval(None, 2.0))))) == 0


def test_what_is_not_known_says_so_and_is_no_zero():
    svg = drawn(panel(row(None)))
    assert ">not known<" in svg
    assert svg != drawn(panel(row(0.0)))


def test_one_that_rises_beyond_all_others_does_not_press_them_together():
    many = [row(-1.0 - 0.1 * i, Interval(-2.0, -0.5), Interval(-2.0, 0.5), f"r{i}") for i in range(8)]
    svg = drawn(panel(*many, row(5000.0, Interval(4000.0, 6000.0), label="worst")))
    assert ">+5,000 \N{RIGHTWARDS ARROW}<" in svg
    assert max(map(abs, ticks(svg))) <= 2


def test_what_falls_far_is_never_cut():
    many = [row(1.0, label=f"r{i}") for i in range(9)]
    svg = drawn(panel(*many, row(-400.0, label="best")))
    assert min(ticks(svg)) <= -200
    assert "\N{RIGHTWARDS ARROW}" not in svg


@pytest.mark.parametrize("rows", [[row(0.0)], [row(None)], [row(float("inf"))]])
def test_nothing_that_differs_still_has_an_axis(rows):
    assert ">0<" in drawn(panel(*rows))


def test_the_same_drawing_gives_the_same_bytes():
    assert drawn(panel(row(-1.0, Interval(-2, 0)))) == drawn(panel(row(-1.0, Interval(-2, 0))))
