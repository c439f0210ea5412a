"""The house style: size, type, colours that survive colour blindness, and SVG that is the same every time.

In:  a function that draws on a matplotlib Figure.   Out: SVG text, without dates, fonts or links.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#222222"
FAINT = "#d9d9d9"
WIDTH_INCHES = 7.2
# The text width of an A4 page at 2 cm margins is 6.7 inches: one figure fills it without shrinking much.
LETTER_INCHES, KEY_INCHES, LEGEND_ROW_INCHES = 0.075, 0.6, 0.19
# A letter at 9 pt, a legend's key with its gaps, and one row of a legend: on the generous side.
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: small, searchable, and no font to embed
    "text.parse_math": False,  # a `$` in a trace's name is a dollar sign
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib; what text is measured with
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "path.simplify_threshold": 0.05,
}


@dataclass(frozen=True)
class Line:
    """How one series is drawn. Colour and dash differ together, so that neither is needed alone."""

    colour: str
    dash: tuple[float, ...]
    width: float


OBSERVED = Line("#000000", (), 1.5)
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
# Okabe and Ito, "Color Universal Design" (2008), without black (the record) and yellow (too pale on white).
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (6, 2, 1.5, 2))


def line(index: int) -> Line:
    """The look of the series at a position of a list: 24 differ, then they repeat."""
    turn = index // len(_COLOURS)
    return Line(_COLOURS[index % len(_COLOURS)], _DASHES[(index + turn) % len(_DASHES)], 1.3)


@dataclass(frozen=True)
class Drawing:
    """A finished figure: a file name without folder, SVG text, what it is called and what is drawn how."""

    file_name: str
    svg: str
    title: str
    caption: str


def legend_columns(labels: Sequence[str]) -> int:
    """How many labels fit side by side: a wider legend would squeeze the axes under it."""

    def width_inches(columns: int) -> float:
        rows, longer = divmod(
            len(labels), columns
        )  # the first columns are one longer, as matplotlib fills them
        starts = [rows * i + min(i, longer) for i in range(columns + 1)]
        letters = [max(map(len, labels[a:b]), default=0) for a, b in pairwise(starts)]
        return sum(letters) * LETTER_INCHES + columns * KEY_INCHES

    return next((n for n in (4, 3, 2) if width_inches(n) <= 0.9 * WIDTH_INCHES), 1)


def add_legend(ax: Any, columns: int) -> None:
    """A legend above the axes, where it hides nothing; none where there is nothing to name."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 0.98), ncols=columns, borderaxespad=0)


def draw(file_name: str, height_inches: float, title: str, paint: Callable[[Figure], None]) -> str:
    """The SVG of a figure in the house style, whatever the machine's matplotlibrc says.

    `paint` receives an empty Figure and draws on it. Same drawing, same bytes. `file_name` salts the ids
    of clip paths and markers, so that several figures can stand in one page.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        style: Any = STYLE | {"svg.hashsalt": file_name}
        matplotlib.rcParams.update(style)
        figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
        paint(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg")
    return _lean(out.getvalue(), title)


def _lean(svg: str, title: str) -> str:
    """Without prolog, metadata (date, version) and unused ids; coordinates to 0.01 pt; with a title.

    The style sheet goes too: inside a page it would speak for the whole page. What it said stands on <svg>.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r"<!--.*?-->\s*|<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("xlink:href", "href").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    svg = re.sub(r' d="[^"]*"', lambda path: re.sub(r"\s+", " ", _rounded(path.group())), svg)
    svg = re.sub(r"\n\s+", "\n", svg)
    opening, rest = svg.split(">", 1)
    return f'{opening} role="img" stroke-linejoin="round"><title>{escape(title)}</title>{rest.strip()}\n'


def _rounded(text: str) -> str:
    return re.sub(r"-?\d+\.\d+", lambda number: f"{float(number.group()):.2f}".rstrip("0").rstrip("."), text)
