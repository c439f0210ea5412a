"""Degradation: the primary measure of a few policies against the severity of each scenario.

In:  stress_replays.   Out: Drawings. Numbers are read from the table.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.stress_words import StressScenario
from hpcopt_assets.plots.marks import Series, marked_lines
from hpcopt_assets.plots.style import Drawing

AS_IT_IS = "as it is"
CANDIDATES = 5
# Beside the baseline; with more, lines of one colour would have to be told apart.
MEASURE = "p95_bsld"


def stress_figures(table: pl.DataFrame) -> tuple[Drawing, ...]:
    """One figure a scenario that the trace can carry: the baseline, and the candidates that gain most."""
    drawn = (_scenario(table.filter(scenario=scenario.value), scenario) for scenario in StressScenario)
    return tuple(drawing for drawing in drawn if drawing is not None)


def _scenario(rows: pl.DataFrame, scenario: StressScenario) -> Drawing | None:
    """p95 of bounded slowdown at severity 0 (the trace as it is) to 3; gaps where a severity cannot be."""
    if rows[f"stressed_{MEASURE}"].null_count() == rows.height:
        return None
    by_severity = rows.unique("severity").sort("severity")
    series = []
    for policy in _shown(rows):
        own = rows.filter(policy=policy).sort("severity")
        values = [own[f"unstressed_{MEASURE}"][0], *own[f"stressed_{MEASURE}"]]
        series.append(Series(policy, np.array(values, dtype=np.float64)))
    statistic = by_severity["statistic"][0]
    return marked_lines(
        series,
        places=[AS_IT_IS, *(f"x {factor:g}" for factor in by_severity["asked_factor"])],
        file_name=f"{scenario}.svg",
        title=f"p95 of bounded slowdown under {scenario}",
        caption=f"Steady window. {statistic} is multiplied by the factor below, the other statistics stay. "
        f"Shown: the baseline, and the {len(series) - 1} candidates that gain most on the trace as it is; "
        "marks stand side by side for clarity.",
        x_label=f"{statistic}, times what it is",
        y_label="p95 of bounded slowdown",
    )


def _shown(rows: pl.DataFrame) -> list[str]:
    gaining = (
        rows.unique("policy")
        .filter(pl.col("policy") != pl.col("baseline"))
        .drop_nulls("unstressed_gain_ratio")
        .sort("unstressed_gain_ratio", "policy", descending=[True, False])
    )
    there = rows.filter(pl.col("policy") == pl.col("baseline"))["baseline"].head(1)
    return [*there, *gaining["policy"].head(CANDIDATES)]
