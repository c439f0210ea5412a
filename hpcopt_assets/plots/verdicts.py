"""A grid of verdicts: one cell for each of many things and periods, told apart by sign and shade.

In:  words.   Out: a Drawing. The sign says the verdict; the shade only helps to find it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hpcopt_assets.plots.style import INK, Drawing, draw

CELL_INCHES, HEAD_INCHES = 0.24, 0.9
TURNED_INCHES = 0.07
# How far down a character of a turned name reaches.
CHARACTERS = 62
# Of all names of columns: so many fit side by side, else they are turned.


def verdict_grid(
    cells: Sequence[Sequence[str]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    looks: Mapping[str, tuple[str, str]],
    file_name: str,
    title: str,
    caption: str,
    x_label: str,
) -> Drawing:
    """`cells[i][j]` is the word of row i and column j; `looks` maps words to signs and shades."""
    is_wide = sum(map(len, columns)) > CHARACTERS

    def paint(figure: Any) -> None:
        from matplotlib.patches import Rectangle

        ax = figure.subplots()
        for i, row in enumerate(cells):
            for j, word in enumerate(row):
                sign, shade = looks.get(word, (word, "#ffffff"))
                ax.add_patch(Rectangle((j - 0.47, i - 0.45), 0.94, 0.9, facecolor=shade, edgecolor="#999999"))
                ax.text(j, i, sign, ha="center", va="center", color=INK, fontsize=8)
        turned = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"} if is_wide else {}
        ax.set_xticks(range(len(columns)), columns, **turned)
        ax.set_yticks(range(len(rows)), rows)
        ax.set_xlim(-0.5, len(columns) - 0.5)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        ax.set_xlabel(x_label)

    names = TURNED_INCHES * max(map(len, columns)) if is_wide else 0.0
    height = HEAD_INCHES + CELL_INCHES * len(rows) + names
    return Drawing(file_name, draw(file_name, height, title, paint), title, caption)
