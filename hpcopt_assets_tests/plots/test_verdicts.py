"""A grid of verdicts: a sign in every cell, so that no colour is needed to read it."""

import re

import pytest

from hpcopt_assets.plots.verdicts import CHARACTERS, verdict_grid

LOOKS = {"PASS": ("P", "#a6dcc8"), "FAIL": ("F", "#f3c19b")}


def grid(cells, rows, columns):
    return verdict_grid(
        cells,
        rows=rows,
        columns=columns,
        looks=LOOKS,
        file_name="v.svg",
        title="t",
        caption="c",
        x_label="quarter",
    ).svg


def signs(svg):
    """Signs of the cells, in the order in which they are drawn: row by row."""
    return re.findall(r">([PF?])</text>", svg)


def test_every_cell_has_the_sign_of_its_word():
    svg = grid([["PASS", "FAIL"], ["FAIL", "FAIL"]], ["easy", "fifo"], ["Q1", "Q2"])
    assert signs(svg) == ["P", "F", "F", "F"]
    for name in ("easy", "fifo", "Q1", "Q2", "quarter"):
        assert f">{name}<" in svg
    assert svg.count("#a6dcc8") == 1
    assert svg.count("#f3c19b") == 3


def test_a_word_without_a_look_stands_as_it_is():
    assert ">odd<" in grid([["odd"]], ["a"], ["b"])


@pytest.mark.parametrize(("characters", "is_turned"), [(CHARACTERS, False), (CHARACTERS + 1, True)])
def test_names_that_do_not_fit_side_by_side_are_turned(characters, is_turned):
    names = ["column0", "c" * (characters - len("column0"))]
    svg = grid([["PASS", "FAIL"]], ["a"], names)
    name = re.search(r"<text[^>]*>column0<", svg)
    assert name is not None
    assert ("rotate(-60" in name[0]) == is_turned


def test_the_same_drawing_gives_the_same_bytes():
    assert grid([["PASS"]], ["a"], ["b"]) == grid([["PASS"]], ["a"], ["b"])
