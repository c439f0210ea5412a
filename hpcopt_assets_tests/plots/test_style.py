"""The house style is the same on every machine and at every time."""

import subprocess
import sys
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib

from hpcopt_assets.plots.style import OBSERVED, draw, legend_columns, line


def paint(figure):
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1.23456789], label="$x_1$ <b> & 'y'", marker="o")
    ax.legend()


def test_same_drawing_same_bytes():
    assert draw("a.svg", 2, "title", paint) == draw("a.svg", 2, "title", paint)


def test_nothing_of_the_moment_or_of_elsewhere_is_in_it():
    svg = draw("a.svg", 2, "A <title>", paint)
    assert svg.count("http") == 1  # the SVG namespace
    assert 'xmlns="http://www.w3.org/2000/svg"' in svg
    for foreign in ("<metadata", "<!--", "<style", "xlink", "DOCTYPE", "font-face", "base64"):
        assert foreign not in svg
    assert "<title>A &lt;title&gt;</title>" in svg


def test_text_is_text_and_never_mark_up():
    drawing = ElementTree.fromstring(draw("a.svg", 2, "t", paint))  # noqa: S314 -- our own output
    texts = [node.text for node in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert "$x_1$ <b> & 'y'" in texts


def test_ids_of_two_figures_do_not_meet():
    def ids(svg):
        drawing = ElementTree.fromstring(svg)  # noqa: S314 -- our own output
        return {node.attrib["id"] for node in drawing.iter() if "id" in node.attrib}

    first, second = (ids(draw(name, 2, "t", paint)) for name in ("a.svg", "b.svg"))
    assert first
    assert not first & second


def test_the_style_leaves_no_trace_and_takes_none(monkeypatch):
    plain = draw("a.svg", 2, "t", paint)
    monkeypatch.setitem(matplotlib.rcParams, "axes.grid", False)
    monkeypatch.setitem(matplotlib.rcParams, "lines.linewidth", 9.0)
    before = dict(matplotlib.rcParams)
    assert draw("a.svg", 2, "t", paint) == plain
    assert dict(matplotlib.rcParams) == before


def test_pyplot_and_its_global_state_are_not_used():
    program = (
        "import sys; from hpcopt_assets.plots.style import draw; "
        "draw('a.svg', 2, 't', lambda figure: figure.subplots().plot([0, 1])); "
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_legend_is_as_wide_as_fits():
    assert legend_columns(["observed", "fifo_strict", "easy_backfill", "easy_clairvoyant"]) == 4
    assert legend_columns(["x" * 20] * 9) == 3
    assert legend_columns(["x" * 60] * 2) == 1
    assert legend_columns([]) == 4


def test_lines_differ_without_their_colour_from_their_neighbours():
    looks = [line(i) for i in range(24)]
    assert len(set(looks)) == 24
    assert OBSERVED not in looks
    assert all(a.dash != b.dash for a, b in pairwise(looks))
