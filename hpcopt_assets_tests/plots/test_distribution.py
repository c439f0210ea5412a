"""Distributions show every job, the zeros included."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.plots.distribution import (
    POINTS_MAX,
    Sample,
    cumulative,
    slowdown_distribution,
    wait_distribution,
)


def waits(*samples: Sample) -> str:
    return wait_distribution(samples, file_name="waits.svg", title="Waits").svg


@given(values=st.lists(st.integers(0, 50), min_size=1), at=st.lists(st.integers(-1, 60), max_size=9))
def test_the_share_counts_values_at_or_below(values, at):
    found = cumulative(np.array(values), np.array(at, dtype=np.float64))
    assert found.tolist() == [sum(value <= x for value in values) / len(values) for x in at]


def test_zeros_have_their_own_place_and_the_caption_says_so():
    drawing = wait_distribution(
        [Sample("observed", np.array([0, 0, 5, 100]), is_recorded=True)], file_name="w.svg", title="Waits"
    )
    assert ">no wait<" in drawing.svg
    assert "did not wait at all" in drawing.caption
    assert "95 %" in drawing.caption
    assert str(POINTS_MAX) in drawing.caption


def test_the_zeros_bar_is_as_high_as_their_share():
    def bar(*values: int) -> float:
        path = re.search(
            r'd="M \S+ (\S+) L \S+ (\S+) "[^>]*stroke-width: 2.2', waits(Sample("a", np.array(values)))
        )
        return float(path[1]) - float(path[2])

    assert bar(0, 0) > 100
    assert bar(0, 60) == pytest.approx(bar(0, 0) / 2, abs=0.02)
    assert bar(1, 60) == 0


def test_axes_have_words_and_units():
    svg = waits(Sample("easy", np.array([0, 10, 100_000])))
    for text in ("1 s", "1 min", "10 h", "wait (logarithmic)", "share of jobs", "95 %", "easy"):
        assert f">{text}<" in svg
    assert ">2 d<" not in svg
    slow = slowdown_distribution(
        [Sample("easy", np.array([1.0, 2500.0]))], file_name="b.svg", title="Bsld"
    ).svg
    for text in ("1", "10", "1,000", "bounded slowdown (ratio, logarithmic)"):
        assert f">{text}<" in slow


def test_a_sample_without_values_is_not_in_the_legend():
    svg = waits(
        Sample("observed", np.zeros(0, dtype=np.int64), is_recorded=True), Sample("easy", np.array([3]))
    )
    assert ">observed<" not in svg
    assert ">easy<" in svg


def test_colours_do_not_move_when_the_record_is_missing():
    values = np.array([3, 4, 500])
    nothing = np.zeros(0, dtype=np.int64)
    for observed in (values, nothing):
        svg = waits(Sample("observed", observed, is_recorded=True), Sample("easy", values))
        assert "#0072b2" in svg
        assert "#d55e00" not in svg


def test_many_long_names_do_not_squeeze_the_axes():
    def width(names: list[str]) -> float:
        svg = waits(*(Sample(name, np.array([0, 5, 100])) for name in names))
        frames = re.findall(r'<path d="M (\S+) \S+ L (\S+) [^"]* z " style="fill: #ffffff"/>', svg)
        axes = frames[1]  # the first is the whole figure
        return float(axes[1]) - float(axes[0])

    assert width([f"policy_{i}_" + "x" * 30 for i in range(12)]) == pytest.approx(width(["easy"]), rel=0.05)


def test_many_jobs_and_policies_make_a_small_figure():
    rng = np.random.default_rng(1)
    samples = [
        Sample(f"policy_{i}", rng.exponential(10_000 * (i + 1), 200_000).astype(np.int64)) for i in range(12)
    ]
    assert len(waits(*samples)) < 150_000
