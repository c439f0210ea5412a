"""Curves and tables of shares: everything from 0 to 1.

In:  shares.   Out: Drawings: curves in the unit square, side by side; a table of shares as shaded cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcopt_assets.plots.style import INK, Drawing, draw, legend_columns, line

PANEL_INCHES = 3.3
CELL_INCHES, HEAD_INCHES = 0.42, 0.75
POINTS_MAX = 200
# A curve of more would look the same.
DARK = 0.55
# From this share on a cell's number is white.
MARKS = ("o", "s", "D", "^")


@dataclass(frozen=True)
class Curve:
    """A line through points; `x` ascends. With `marks`, each point is drawn."""

    label: str
    x: npt.NDArray[Any]
    y: npt.NDArray[Any]
    marks: bool = False


@dataclass(frozen=True)
class Spot:
    """A single point."""

    label: str
    x: float
    y: float


@dataclass(frozen=True)
class Square:
    """One panel: curves and spots, and where chance alone would be, from corner to corner or not at all."""

    x_label: str
    y_label: str
    curves: Sequence[Curve]
    spots: Sequence[Spot] = field(default=())
    bars: Sequence[float] = field(default=())
    # Heights of bars of equal width from 0 to 1.
    has_diagonal: bool = True


def unit_squares(squares: Sequence[Square], *, file_name: str, title: str, caption: str) -> Drawing:
    """Panels side by side; what has one label looks the same in all and stands once in the legend."""
    labels = list(
        dict.fromkeys(
            label
            for square in squares
            for label in [*(c.label for c in square.curves), *(s.label for s in square.spots)]
        )
    )
    columns = legend_columns(labels)

    def paint(figure: Any) -> None:
        for ax, square in zip(figure.subplots(1, len(squares), squeeze=False)[0], squares, strict=True):
            if square.has_diagonal:
                ax.plot([0, 1], [0, 1], color="#555555", linewidth=0.9, linestyle=(0, (1, 2)))
            if len(square.bars):
                width = 1 / len(square.bars)
                edges = np.arange(len(square.bars)) * width
                ax.bar(edges, square.bars, width=0.9 * width, align="edge", color=line(0).colour)
            for curve in square.curves:
                look = line(labels.index(curve.label))
                some = np.unique(np.linspace(0, curve.x.size - 1, POINTS_MAX).astype(int))
                style: dict[str, Any] = {"dashes": look.dash} if look.dash else {}
                ax.plot(
                    curve.x[some],
                    curve.y[some],
                    color=look.colour,
                    linewidth=look.width,
                    label=curve.label,
                    marker="o" if curve.marks else None,
                    markersize=4,
                    **style,
                )
            for spot in square.spots:
                at = labels.index(spot.label)
                mark = MARKS[at % len(MARKS)]
                ax.plot(spot.x, spot.y, mark, color=line(at).colour, markersize=6, label=spot.label)
            ax.set_aspect("equal")
            ax.set_xlim(-0.02, 1.02)
            ax.set_ylim(-0.02, 1.02)
            ax.set_xlabel(square.x_label)
            ax.set_ylabel(square.y_label)
        named = {
            name: handle
            for ax in figure.axes
            for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        figure.legend(named.values(), named.keys(), loc="outside upper left", ncols=columns, borderaxespad=0)

    return Drawing(file_name, draw(file_name, PANEL_INCHES + 0.3, title, paint), title, caption)


def share_table(
    shares: npt.NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    file_name: str,
    title: str,
    caption: str,
    x_label: str,
    y_label: str,
) -> Drawing:
    """Shares (rows, columns) as cells, the darker the larger; NaN is an empty cell."""

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        ax.imshow(shares, cmap="Blues", vmin=0, vmax=1.2, aspect="auto")
        for i, j in np.argwhere(~np.isnan(shares)):
            colour = "#ffffff" if shares[i, j] > DARK else INK
            ax.text(j, i, f"{100 * shares[i, j]:.1f} %", ha="center", va="center", color=colour)
        ax.set_xticks(range(len(columns)), columns)
        ax.set_yticks(range(len(rows)), rows)
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        ax.set_xlabel(x_label)
        ax.set_ylabel(y_label)

    height = HEAD_INCHES + CELL_INCHES * len(rows)
    return Drawing(file_name, draw(file_name, height, title, paint), title, caption)
