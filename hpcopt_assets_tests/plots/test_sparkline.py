"""Sparklines stay small enough to be shown inline, whatever they are made of."""

import base64
import re
import string
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.plots.sparkline import MARKDOWN_MAX, POINTS_MAX, sparkline_markdown, sparkline_svg

VALUES = st.lists(st.floats(width=64), max_size=200) | st.lists(st.integers(0, 10**12), max_size=200)


def points(svg: str) -> list[tuple[int, int]]:
    drawing = ElementTree.fromstring(svg)  # noqa: S314 -- our own output
    text = drawing[0].attrib["points"]
    return [(int(x), int(y)) for x, y in (pair.split(",") for pair in text.split())]


@given(values=VALUES)
def test_a_sparkline_stays_small_and_inside_its_box(values):
    svg = sparkline_svg(values)
    assert len(svg) < 700
    assert all(0 <= x <= 141 and 0 <= y <= 24 for x, y in points(svg))


@given(values=VALUES, alt=st.text(max_size=2000))
def test_the_markdown_stays_below_what_is_shown_inline(values, alt):
    markdown = sparkline_markdown(values, alt)
    assert len(markdown) < MARKDOWN_MAX
    found = re.fullmatch(
        r"!\[([^\[\]()<>\\`\n]*)\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", markdown
    )
    assert found is not None
    assert base64.b64decode(found.group(2)).decode() == sparkline_svg(values)


def test_the_longest_sparkline_and_the_longest_alt_fit():
    values = [10**6 * (i % 2) for i in range(POINTS_MAX)]
    markdown = sparkline_markdown(values, string.ascii_letters * 20)
    assert 990 < len(markdown) < MARKDOWN_MAX
    assert string.ascii_letters in markdown


def test_the_line_goes_from_least_to_largest():
    assert points(sparkline_svg([5, 7, 6])) == [(0, 24), (70, 0), (141, 12)]
    assert points(sparkline_svg([3, 3])) == [(0, 12), (141, 12)]
    assert points(sparkline_svg([])) == []
    assert points(sparkline_svg([float("nan"), 1.0])) == [(0, 12)]


def test_many_values_are_drawn_as_means_of_groups():
    assert [y for _, y in points(sparkline_svg([0, 2] * POINTS_MAX))] == [12] * POINTS_MAX
    rising = points(sparkline_svg([i // 5 for i in range(5 * POINTS_MAX)]))
    assert rising == points(sparkline_svg(range(POINTS_MAX)))
