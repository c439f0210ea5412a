"""Step functions and integrals over them, against counting at every second."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.load import LateBacklog, backlog_hours, late_backlog, utilisation
from hpcopt_assets.measures.usage import queued_jobs, usage
from hpcopt_assets.measures.window import Span
from hpcopt_assets_tests.schedules import schedule

job = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 20), st.integers(1, 8))
jobs = st.lists(job, min_size=1, max_size=10).map(
    lambda found: [(r, r + w, t, p) for r, w, t, p in sorted(found)]
)


@given(jobs)
def test_series_equal_counting_at_every_second(made: list[tuple[int, int, int, int]]):
    grid = np.arange(-2, 90)
    found = schedule(made)
    assert usage(found).sample(grid).tolist() == [
        sum(p for _, start, runtime, p in made if start <= at < start + runtime) for at in grid
    ]
    assert queued_jobs(found).sample(grid).tolist() == [
        sum(release <= at < start for release, start, _, _ in made) for at in grid
    ]


@given(jobs)
def test_peak_and_excess_equal_counting_every_second(made: list[tuple[int, int, int, int]]):
    used = [sum(p for _, s, t, p in made if s <= at < s + t) for at in range(90)]
    found = usage(schedule(made))
    assert found.peak() == max(used)
    assert found.seconds_above(6) == sum(procs > 6 for procs in used)


@given(jobs, st.integers(0, 40), st.integers(1, 40))
def test_utilisation_and_backlog_equal_summing_every_second(
    made: list[tuple[int, int, int, int]], start_s: int, length_s: int
):
    span = Span(start_s, start_s + length_s)
    used = sum(p for at in range(*span) for _, s, t, p in made if s <= at < s + t)
    assert utilisation(schedule(made), Capacity(8), span) == pytest.approx(used / (8 * length_s))
    queued = sum(p * t for at in range(*span) for r, s, t, p in made if r <= at < s)
    assert backlog_hours(schedule(made), Capacity(8), [span]) == pytest.approx(
        [queued / (8 * length_s * 3600)]
    )


def test_a_window_without_length_has_no_utilisation():
    assert utilisation(schedule([(0, 0, 5, 1)]), Capacity(8), Span(3, 3)) is None


def test_late_backlog_is_that_of_the_last_third():
    """Nine jobs, one an hour, each of one machine-hour. The last three wait 0, 1 and 2 h, the others 0."""
    hour = 3600
    waits = [0] * 6 + [0, hour, 2 * hour]
    made = schedule((i * hour, i * hour + wait, hour, 4) for i, wait in enumerate(waits))
    # The third is [6 h, 8 h + 1 s): one job is queued over its second half, two in its last second.
    late = late_backlog(made, Capacity(4), 2)
    assert late.hours == pytest.approx([0.0, 1.0], abs=1e-3)
    assert late.part_hours == pytest.approx(1.0, abs=1e-3)
    assert late.growth_ratio == pytest.approx(1.0, abs=1e-3)
    assert late_backlog(schedule([]), Capacity(4), 2) is None
    assert late_backlog(schedule([(0, 0, 5, 1)] * 9), Capacity(4), 2) is None


def test_growth_counts_only_where_it_never_pauses():
    def growth(*hours: float) -> float:
        return LateBacklog(np.array(hours), 20.0).growth_ratio

    assert growth(10.0, 40.0, 90.0) == 2.0
    assert growth(10.0, 90.0, 90.0) == 0.0
    assert growth(2.0, 1.0, 90.0) == 0.0


@given(jobs, st.integers(-5, 60), st.integers(1, 40))
def test_a_part_of_a_series_is_it_within_and_nothing_outside(made, start_s: int, length_s: int):
    whole = usage(schedule(made))
    part = whole.within(start_s, start_s + length_s)
    grid = np.arange(-10, 120)
    is_inside = (grid >= start_s) & (grid < start_s + length_s)
    assert part.sample(grid).tolist() == np.where(is_inside, whole.sample(grid), 0).tolist()
    assert (np.diff(part.at_s) > 0).all()
    assert part.seconds_above(3) == (whole.sample(grid[is_inside]) > 3).sum()
