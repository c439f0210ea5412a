"""Cumulative distributions on a logarithmic axis, zeros in a place of their own.

In:  samples.   Out: a Drawing that shows, for each value, the share of jobs at or below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcopt_assets.plots.style import (
    LEGEND_ROW_INCHES,
    OBSERVED,
    Drawing,
    add_legend,
    draw,
    legend_columns,
    line,
)

FloatArray = npt.NDArray[np.float64]
POINTS_MAX = 320
HEIGHT_INCHES = 3.1
ZERO_AT = -0.7
# Where zeros stand on an axis of powers of ten that begins at 10^0: beside it, behind a gap.
ZEROS_WIDE = 0.4
SHORTEST_AXIS = 10.0
TICKS_BETWEEN_BELOW = 200
SIZE_TICKS_MAX = 13
# More labels of up to nine characters would touch.
TIME_TICKS = (
    (1, "1 s"),
    (10, "10 s"),
    (60, "1 min"),
    (600, "10 min"),
    (3600, "1 h"),
    (36000, "10 h"),
    (172800, "2 d"),
    (864000, "10 d"),
    (8640000, "100 d"),
)


@dataclass(frozen=True)
class Sample:
    """One distribution: its label and its values (>= 0). `is_recorded`: drawn as the record is."""

    label: str
    values: npt.NDArray[Any]
    is_recorded: bool = False


@dataclass(frozen=True)
class _Axis:
    """The value axis: powers of ten from 1 to `top`; `has_zeros` adds a place for zeros at the left."""

    label: str
    ticks: list[tuple[float, str]]
    top: float
    has_zeros: bool


def wait_distribution(samples: Sequence[Sample], *, file_name: str, title: str) -> Drawing:
    """Waits in seconds; those of zero (or less, by a log's own clock) stand apart at the left."""
    top = _top(samples)
    ticks = [(float(np.log10(at)), name) for at, name in TIME_TICKS if at <= top]
    axis = _Axis("wait (logarithmic)", [(ZERO_AT, "no wait"), *ticks], top, has_zeros=True)
    return Drawing(
        file_name,
        _curves(samples, axis, file_name, title),
        title,
        "Share of jobs whose wait is at most the value below; the dotted line marks 95 % of the jobs. "
        "Logarithmic from 1 s on; bars at the left: jobs that did not wait at all. "
        f"Exact at {POINTS_MAX} values.",
    )


def slowdown_distribution(samples: Sequence[Sample], *, file_name: str, title: str) -> Drawing:
    """Bounded slowdowns: ratios from 1 on, so there are no zeros."""
    top = _top(samples)
    between = (1, 2, 5) if top <= TICKS_BETWEEN_BELOW else (1,)
    values = [digit * 10**power for power in range(int(np.log10(top)) + 1) for digit in between]
    ticks = [(float(np.log10(value)), f"{value:,}") for value in values if value <= top]
    axis = _Axis("bounded slowdown (ratio, logarithmic)", ticks, top, has_zeros=False)
    return Drawing(
        file_name,
        _curves(samples, axis, file_name, title),
        title,
        "Share of jobs whose bounded slowdown is at most the value below; the dotted line marks 95 % of the "
        f"jobs. Logarithmic from 1 (no delay). Exact at {POINTS_MAX} values.",
    )


def runtime_distribution(samples: Sequence[Sample], *, file_name: str, title: str) -> Drawing:
    """Runtimes in seconds, recorded and requested; those of zero stand apart at the left."""
    top = _top(samples)
    ticks = [(float(np.log10(at)), name) for at, name in TIME_TICKS if at <= top]
    axis = _Axis("time (logarithmic)", [(ZERO_AT, "0 s"), *ticks], top, has_zeros=True)
    return Drawing(
        file_name,
        _curves(samples, axis, file_name, title),
        title,
        "Share of jobs whose time is at most the value below; the dotted line marks 95 % of the jobs. "
        "Logarithmic from 1 s on; bars at the left: times of less than half a second. "
        f"Exact at {POINTS_MAX} values.",
    )


def size_distribution(samples: Sequence[Sample], *, file_name: str, title: str, x_label: str) -> Drawing:
    """Sizes of jobs: whole numbers from 1 on, with powers of two as ticks. `x_label` names their unit."""
    top = _top(samples)
    powers = range(int(np.log2(top)) + 1)
    step = -(-len(powers) // SIZE_TICKS_MAX)
    ticks = [(float(np.log10(2**power)), f"{2**power:,}") for power in powers[::step]]
    axis = _Axis(f"{x_label} (logarithmic)", ticks, top, has_zeros=False)
    return Drawing(
        file_name,
        _curves(samples, axis, file_name, title),
        title,
        "Share of jobs whose size is at most the value below; the dotted line marks 95 % of the jobs. "
        f"Logarithmic from 1 on. Exact at {POINTS_MAX} values.",
    )


def cumulative(values: npt.NDArray[Any], at: FloatArray) -> FloatArray:
    """Share of `values` (not empty) at or below each of `at`."""
    return np.searchsorted(np.sort(values), at, side="right") / values.size


def _top(samples: Sequence[Sample]) -> float:
    return max([SHORTEST_AXIS, *(float(sample.values.max()) for sample in samples if sample.values.size)])


def _curves(samples: Sequence[Sample], axis: _Axis, file_name: str, title: str) -> str:
    columns = legend_columns([sample.label for sample in samples])
    powers = np.linspace(0.0, np.log10(axis.top), POINTS_MAX)
    at = 10**powers
    at[-1] = axis.top  # whatever the rounding of powers: nothing lies beyond

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        ax.axhline(0.95, color="#555555", linewidth=0.8, linestyle=(0, (1, 2)))
        colours = iter(range(len(samples)))
        for i, sample in enumerate(samples):
            look = OBSERVED if sample.is_recorded else line(next(colours))
            if sample.values.size == 0:
                continue
            style: dict[str, Any] = {"color": look.colour} | ({"dashes": look.dash} if look.dash else {})
            share = cumulative(sample.values, at)
            ax.plot(powers, share, drawstyle="steps-post", linewidth=look.width, label=sample.label, **style)
            if axis.has_zeros:
                x = ZERO_AT + ZEROS_WIDE * ((i + 0.5) / len(samples) - 0.5)
                zeros = cumulative(sample.values, np.zeros(1))[0]
                ax.plot([x, x], [0, zeros], linewidth=2.2, **style)
        if axis.has_zeros:
            ax.axvline(ZERO_AT / 2, color="#999999", linewidth=0.8)
        _dress(ax, axis)
        add_legend(ax, columns)

    rows = -(-len(samples) // columns)
    return draw(file_name, HEIGHT_INCHES + LEGEND_ROW_INCHES * (rows - 1), title, paint)


def _dress(ax: Any, axis: _Axis) -> None:
    end = float(np.log10(axis.top))
    ax.set_xticks([at for at, _ in axis.ticks], [name for _, name in axis.ticks])
    ax.set_xlim(ZERO_AT - ZEROS_WIDE if axis.has_zeros else -0.03 * end, 1.02 * end)
    ax.set_ylim(0, 1.02)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 0.95], ["0 %", "25 %", "50 %", "75 %", "95 %"])
    ax.set_xlabel(axis.label)
    ax.set_ylabel("share of jobs")
