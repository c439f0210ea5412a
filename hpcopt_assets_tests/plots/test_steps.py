"""What a step line shows of 200,000 jobs is what there is, and the caption says how."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.measures.usage import Steps, steps
from hpcopt_assets.plots.steps import BUCKETS_MAX, StepPanel, buckets, step_lines

DAY_S = 86400
INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(1, 5)), max_size=12)


def made(intervals: list[tuple[int, int, int]]) -> Steps:
    at, length, weight = (np.array(column, dtype=np.int64) for column in zip(*intervals, strict=True))
    return steps(at, at + length, weight)


def drawn(panels: list[StepPanel]):
    return step_lines(
        panels, file_name="queue.svg", title="Queue", y_label="jobs in the queue", recorded_label="observed"
    )


@given(intervals=INTERVALS.filter(bool), count=st.integers(1, 40), end_s=st.integers(1, 120))
def test_buckets_keep_every_second(intervals, count, end_s):
    series = made(intervals)
    cut = buckets(series, 0, end_s, count)
    assert cut.edges_s[0] == 0
    assert cut.edges_s[-1] == end_s
    assert cut.mean.size == cut.maximum.size == cut.edges_s.size - 1 <= count
    seconds = series.sample(np.arange(end_s))
    for i in range(cut.mean.size):
        inside = seconds[cut.edges_s[i] : cut.edges_s[i + 1]]
        assert cut.mean[i] == pytest.approx(inside.mean())
        assert cut.maximum[i] == inside.max()


def test_a_spike_of_a_second_survives_in_the_maximum():
    year = 365 * DAY_S
    series = made([(0, year, 1), (year // 2, 1, 99)])
    cut = buckets(series, 0, year, BUCKETS_MAX)
    assert cut.maximum.max() == 100
    assert cut.mean.max() < 1.01


def test_the_caption_says_what_is_drawn():
    series = made([(0, BUCKETS_MAX * DAY_S * 3, 1)])
    drawing = drawn([StepPanel(series, series, "replay of easy")])
    assert "mean over each 3 days" in drawing.caption
    assert "maximum" in drawing.caption
    assert f"{BUCKETS_MAX} such stretches" in drawing.caption


def test_axes_carry_dates_units_and_labels():
    start_s = 1_600_000_000
    series = made([(start_s + i * DAY_S, 3 * DAY_S, 1) for i in range(100)])
    svg = drawn([StepPanel(series, series, "replay of easy")]).svg
    for text in ("time (UTC)", "jobs in the queue", "observed", "replay of easy", "Oct", "Nov"):
        assert f">{text}<" in svg


def test_a_trace_without_a_record_shows_none():
    series = made([(0, 100, 1)])
    svg = drawn([StepPanel(None, series, "replay of easy")]).svg
    assert ">observed<" not in svg
    assert ">replay of easy<" in svg


def test_an_empty_series_can_be_drawn():
    nothing = Steps(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert drawn([StepPanel(nothing, nothing, "replay of easy")]).svg.startswith("<svg")


def test_200_000_jobs_make_a_small_figure():
    rng = np.random.default_rng(1)
    at = np.sort(rng.integers(0, 1500 * DAY_S, 200_000))
    series = [
        steps(at, at + rng.integers(0, high, at.size), np.ones(at.size, dtype=np.int64))
        for high in (DAY_S, 3 * DAY_S)
    ]
    svg = drawn([StepPanel(series[0], series[1], "a"), StepPanel(series[1], series[0], "b")]).svg
    assert len(svg) < 150_000
    assert not re.search(r"\d\.\d{3,} L", svg)
