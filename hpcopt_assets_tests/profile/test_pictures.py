"""Figures and sparklines show what the table says, and only what there is."""

import re
from xml.etree import ElementTree

import polars as pl
import pytest
from hypothesis import given, settings

from hpcopt_assets.contracts.vocabulary import ProfileTopic, Unit
from hpcopt_assets.plots.bars import Cycle, cycle_bars
from hpcopt_assets.plots.distribution import Sample, size_distribution
from hpcopt_assets.plots.periods import Periods, share_steps
from hpcopt_assets.profile.pictures import profile_figures, profile_sparklines
from hpcopt_assets.profile.summary import topic_tables
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.profile.helpers import JOBS, MONDAY_S, profile

DAY_S = 86400


def busy(days: int = 30) -> pl.DataFrame:
    return trace(
        [
            job(i, MONDAY_S + i * 7200, 1 + i % 5, 9000, 10_000, wait_s=600 * (i % 7), user=f"u{i % 3}")
            for i in range(12 * days)
        ]
    )


def figures(jobs: pl.DataFrame, **options) -> dict[str, str]:
    return {drawing.file_name: drawing.svg for drawing in profile_figures(jobs, profile(jobs), **options)}


def texts(svg: str) -> set[str]:
    return {node.text for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314 -- our own output


def bar_heights(svg: str) -> list[float]:
    """Of every filled bar in the first series' colour, from its path: M x bottom L x bottom L x top ..."""
    paths = re.findall(r'd="M \S+ (\S+) L \S+ \S+ L \S+ (\S+) [^"]*" [^>]*style="fill: #0072b2', svg)
    return [float(bottom) - float(top) for bottom, top in paths]


def test_there_are_five_small_figures():
    made = figures(busy())
    assert list(made) == ["arrivals.svg", "runtimes.svg", "sizes.svg", "utilisation.svg", "queue_length.svg"]
    assert all(svg.startswith("<svg") and len(svg) < 100_000 for svg in made.values())
    assert made == figures(busy())


def test_a_log_without_starts_shows_no_schedule():
    jobs = trace([(i, 3600 * i, 2, 60, None) for i in range(5)])
    assert list(figures(jobs)) == ["arrivals.svg", "runtimes.svg", "sizes.svg"]
    assert list(profile_sparklines(jobs, profile(jobs))) == ["arrivals_by_hour"]
    assert figures(trace([])) == {}
    assert profile_sparklines(trace([]), profile(trace([]))) == {}


@given(JOBS)
@settings(max_examples=8, deadline=None)
def test_any_trace_can_be_drawn(jobs: pl.DataFrame):
    figures(jobs)
    profile_sparklines(jobs, profile(jobs))
    topic_tables(profile(jobs))


def test_bars_are_as_high_as_their_shares():
    shares = [0.1, 0.2, 0.0, 0.7]
    svg = cycle_bars(
        [Cycle(shares, ["a", "", "c", ""], "place")], file_name="b.svg", title="Bars", y_label="share"
    ).svg
    heights = bar_heights(svg)
    assert heights[1] / heights[0] == pytest.approx(2, abs=0.01)
    assert heights[-1] / heights[0] == pytest.approx(7, abs=0.01)
    assert {"a", "c", "place", "share", "60 %"} <= texts(svg)


def test_bars_stand_at_their_hours_and_weekdays():
    hours = [3] * 10 + [15] * 20
    jobs = trace([job(i, MONDAY_S + hour * 3600, 1, 60) for i, hour in enumerate(hours)])
    heights = bar_heights(figures(jobs)["arrivals.svg"])
    assert len(heights) == 24 + 7
    assert [i for i, height in enumerate(heights) if height > 0] == [3, 15, 24]
    assert heights[15] / heights[3] == pytest.approx(2, abs=0.01)


def test_the_axis_says_whose_hours_it_shows():
    jobs = busy()
    drawn = profile_figures(jobs, profile(jobs, timezone="Asia/Tokyo"))[0]
    assert {"hour of the day (time zone Asia/Tokyo)", "weekday", "Mo", "Su", "0", "21"} <= texts(drawn.svg)


def test_utilisation_shows_the_whole_machine_and_what_exceeds_it():
    def drawn(*shares: float) -> set[str]:
        edges = [MONDAY_S + 7 * DAY_S * i for i in range(len(shares) + 1)]
        return texts(
            share_steps(
                Periods(edges, shares), file_name="u.svg", title="t", y_label="utilisation", mean_of="mean"
            ).svg
        )

    assert {"0 %", "25 %", "50 %", "75 %", "100 %", "time (UTC)"} <= drawn(0.2, 0.9)
    assert "300 %" in drawn(0.2, 3.0)


def test_years_after_9999_are_drawn_as_days():
    far = [job(i, 10**12 + i * DAY_S, 4, 2 * DAY_S, wait_s=3600) for i in range(20)]
    made = figures(trace(far))
    for name in ("utilisation.svg", "queue_length.svg"):
        assert "days since 1970-01-01 (UTC)" in texts(made[name])


def test_sizes_have_powers_of_two_as_ticks():
    svg = size_distribution(
        [Sample("nodes of a job", pl.Series([1, 3, 1 << 24]).to_numpy())],
        file_name="s.svg",
        title="Sizes",
        x_label="nodes",
    ).svg
    assert {"1", "4", "1,024", "16,777,216", "nodes (logarithmic)"} <= texts(svg)
    assert "2" not in texts(svg)  # every second power is enough
    jobs = busy().with_columns(nodes="procs")
    assert "nodes (logarithmic)" in texts(figures(jobs, unit=Unit.NODES)["sizes.svg"])


def test_sparklines_fit_a_cell():
    jobs = busy()
    made = profile_sparklines(jobs, profile(jobs))
    assert list(made) == ["arrivals_by_hour", "utilisation_by_week", "queue_length"]
    assert all(text.startswith("![") and len(text) < 1000 for text in made.values())


def test_topic_tables_are_for_reading():
    burst = [job(1000 + i, MONDAY_S + 40 * DAY_S + i, 1, 60, 300, user="eve") for i in range(200)]
    jobs = pl.concat([busy(), trace(burst)])
    tables = topic_tables(profile(jobs))
    assert list(tables) == [*ProfileTopic.words(), "largest_flurries"]
    runtime = dict(tables["runtimes"].select("of", "value").iter_rows())
    assert runtime["p50"] == "9,000 s"
    assert runtime["all"].startswith("not known: ")
    assert tables["largest_flurries"].row(0) == (
        "eve", "2024-02-10 00:00", "2024-02-10 00:03", 200, "35.7 %", "100.0 %", "100.0 %"
    )  # fmt: skip
    assert topic_tables(profile(busy()))["largest_flurries"].is_empty()
