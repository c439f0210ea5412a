"""Sparklines: a series as a picture small enough to live inside one Markdown string.

In:  values in order.   Out: SVG text, or a Markdown image that carries it.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Sequence
from itertools import pairwise

POINTS_MAX = 48
WIDTH, HEIGHT = 141, 24
# Three units a step and whole-number coordinates: 48 points take at most 7 characters each.
MARKDOWN_MAX = 1000
# Dagster's UI shows a Markdown value inline only below this length and folds longer ones behind a link.


def sparkline_svg(values: Sequence[float]) -> str:
    """A polyline from the least to the largest value, under 700 characters.

    More than 48 values are drawn as the means of 48 consecutive groups. Values that are no finite numbers
    are left out; with none left the picture is empty, and a constant is a line at half height.
    """
    finite = [float(value) for value in values if math.isfinite(value)]
    largest = max(map(abs, finite), default=0.0) or 1.0
    shown = _group_means([value / largest for value in finite])  # so that no difference can overflow
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    span = high - low
    step = WIDTH / max(1, len(shown) - 1)
    points = " ".join(
        f"{round(step * i)},{round(HEIGHT - (HEIGHT * (value - low) / span if span else HEIGHT / 2))}"
        for i, value in enumerate(shown)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + 2}" height="{HEIGHT + 2}" '
        f'viewBox="-1 -1 {WIDTH + 2} {HEIGHT + 2}">'
        f'<polyline fill="none" stroke="#0072B2" points="{points}"/></svg>'
    )


def sparkline_markdown(values: Sequence[float], alt: str) -> str:
    """A Markdown image under 1,000 characters; `alt` is cut to what fits and loses Markdown's own signs."""
    data = base64.b64encode(sparkline_svg(values).encode()).decode()
    image = f"](data:image/svg+xml;base64,{data})"
    plain = re.sub(r"[\[\]()<>\\`\s]+", " ", alt).strip()
    return f"![{plain[: MARKDOWN_MAX - 1 - len('![') - len(image)]}{image}"


def _group_means(values: list[float]) -> list[float]:
    if len(values) <= POINTS_MAX:
        return values
    edges = [round(i * len(values) / POINTS_MAX) for i in range(POINTS_MAX + 1)]
    return [math.fsum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
