"""Weeks drawn anew: what is measured of a drawing is what the drawn weeks' jobs have, one after another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.claims.weeks import SECONDS_PER_DAY, Weeks
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.fairness import jain_index, mean_by_user
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.slowdown import bounded_slowdown
from hpcopt_assets.measures.window import Span
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import CHECKOUT

CONFIGS = load_configs(CHECKOUT / "configs")
MEASURES = CONFIGS.objective.measures.model_copy(update={"min_jobs_per_user": 2})
INTERVALS = CONFIGS.robustness.intervals.model_copy(update={"draws": 20, "min_blocks": 2})
WEEK_S = 7 * SECONDS_PER_DAY


def schedule(
    release_s: np.ndarray, wait_s: np.ndarray, user: np.ndarray | None = None, runtime_s: int = 100
) -> Schedule:
    ones = np.ones(release_s.size, dtype=np.int64)
    users = 0 * ones if user is None else user
    return Schedule(release_s, release_s + wait_s, runtime_s * ones, ones, users, 0)


jobs = st.lists(
    st.tuples(st.integers(0, 6 * WEEK_S - 1), st.integers(0, 400_000), st.integers(-1, 2)),
    min_size=3,
    max_size=40,
)


@given(jobs)
@settings(deadline=None)
def test_drawn_measures_are_those_of_the_drawn_weeks_jobs(rows):
    release_s, wait_s, user = (np.array(column, dtype=np.int64) for column in zip(*sorted(rows), strict=True))
    made, span = schedule(release_s, wait_s, user), Span(0, 6 * WEEK_S)
    weeks = Weeks.of(release_s, span, INTERVALS)
    found = weeks.measures(made, np.ones(release_s.size, dtype=bool), Capacity(4), MEASURES)
    if not weeks.is_enough:
        assert found == {}
        return
    bsld = bounded_slowdown(wait_s, made.runtime_s, MEASURES.tau_s)
    for row, draws in enumerate(weeks.blocks.draws.astype(int)):
        times = draws[weeks.blocks.of]
        drawn_bsld, drawn_user = np.repeat(bsld, times), np.repeat(user, times)
        assert found["mean_wait_s"][row] == pytest.approx(np.repeat(wait_s, times).mean())
        assert found["mean_bsld"][row] == pytest.approx(drawn_bsld.mean())
        assert found["p95_bsld"][row] == pytest.approx(np.percentile(drawn_bsld, 95))
        by_user = mean_by_user(drawn_bsld, drawn_user, 2)
        fair = jain_index(by_user)
        assert found["jain_service"][row] == pytest.approx(np.nan if fair is None else fair, nan_ok=True)
        assert found["worst_user_bsld"][row] == pytest.approx(max(by_user, default=np.nan), nan_ok=True)


def test_utilisation_is_that_of_the_drawn_weeks():
    """A busy first week and an idle second one: a drawing of both twice as often as one, and so on."""
    release_s = np.array([0, WEEK_S])
    busy = Schedule(
        release_s, release_s, np.array([WEEK_S // 2, 1]), np.array([2, 2]), np.zeros(2, np.int64), 0
    )
    weeks = Weeks.of(release_s, Span(0, 2 * WEEK_S), INTERVALS)
    found = weeks.measures(busy, np.ones(2, dtype=bool), Capacity(2), MEASURES)["utilisation_ratio"]
    shares = np.array([0.5, 1 / WEEK_S])
    assert found == pytest.approx(weeks.blocks.draws @ shares / 2)
    assert len(set(found)) == 3


def test_jobs_from_before_the_window_use_the_machine_in_it():
    early = Schedule(
        np.array([-10, 0, WEEK_S]),
        np.array([0, 0, WEEK_S]),
        np.array([WEEK_S, 1, 1]),
        np.array([1, 1, 1]),
        np.zeros(3, np.int64),
        0,
    )
    weeks = Weeks.of(early.release_s[1:], Span(0, 2 * WEEK_S), INTERVALS)
    found = weeks.measures(early, early.release_s >= 0, Capacity(2), MEASURES)["utilisation_ratio"]
    assert found.max() == pytest.approx((WEEK_S + 1) / (2 * WEEK_S))


def test_the_largest_weeks_drawn_too_often_are_found_all_the_same():
    """All long waits in one week of twenty: drawn four times, more than the usual top of them matter."""
    release_s = np.sort(np.arange(2000) * (20 * WEEK_S // 2000))
    wait_s = np.where(release_s < WEEK_S, 10_000 + release_s % 977, release_s % 991)
    made = schedule(release_s, wait_s)
    many = INTERVALS.model_copy(update={"draws": 300})
    weeks = Weeks.of(release_s, Span(0, 20 * WEEK_S), many)
    found = weeks.measures(made, np.ones(2000, dtype=bool), Capacity(4), MEASURES)["p95_wait_s"]
    slow = [
        np.percentile(np.repeat(wait_s, draws[weeks.blocks.of]), 95)
        for draws in weeks.blocks.draws.astype(int)
    ]
    assert found == pytest.approx(slow)
    assert weeks.blocks.draws.max() >= 5


def test_weeks_without_submissions_are_no_blocks():
    release_s = np.array([0, 5 * WEEK_S, 5 * WEEK_S + 1])
    weeks = Weeks.of(release_s, Span(0, 6 * WEEK_S), INTERVALS)
    assert weeks.spans == (Span(0, WEEK_S), Span(5 * WEEK_S, 6 * WEEK_S))
