"""Every measure by hand, in both windows, and that nothing is ever NaN."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.contracts.measure_columns import MEASURE_KEYS
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.summary import measure
from hpcopt_assets_tests.schedules import MEASURES, schedule

KEYS = {"window_start_s", "window_end_s", *MEASURE_KEYS}
HOUR = 3600


def measured(made, window=Window.WHOLE, capacity=Capacity(2), **changes):  # noqa: B008 -- frozen
    config = MEASURES.model_copy(update=changes)
    return measure(made, capacity=capacity, config=config, window=window)


def test_starvation_shows_beside_the_mean():
    """Eight two-processor jobs on two processors, shortest first against first come, first served."""
    runtimes = [10, 50, 10, 10, 10, 10, 10, 10]
    releases = [0, 1, 9, 18, 27, 36, 45, 54]
    shortest = [0, 70, 10, 20, 30, 40, 50, 60]
    fifo = [0, 10, 60, 70, 80, 90, 100, 110]
    sjf, fcfs = (
        measured(schedule(zip(releases, starts, runtimes, [2] * 8, strict=True)))
        for starts in (shortest, fifo)
    )
    assert (sjf["mean_wait_s"], sjf["max_wait_s"]) == (11.25, 69)
    assert (fcfs["mean_wait_s"], fcfs["max_wait_s"]) == (41.25, 56)
    assert (sjf["backfilled_count"], fcfs["backfilled_count"]) == (6, 0)
    assert sjf["utilisation_ratio"] == fcfs["utilisation_ratio"] == 1.0


def test_every_measure_by_hand():
    made = schedule(
        [(0, 0, 100, 2), (10, 100, 90, 1), (20, 20 + 3 * 86400, 10, 1), (30, 40, 20, 2)],
        [0, 0, 1, -1],
        left_out=3,
    )
    found = measured(made, min_jobs_per_user=2)
    assert set(found) == KEYS
    end_s = 20 + 3 * 86400 + 10
    assert (found["window_start_s"], found["window_end_s"], found["makespan_s"]) == (0, end_s, end_s)
    assert (found["jobs_count"], found["left_out_count"]) == (4, 3)
    waits = [0, 10, 90, 259200]
    assert found["mean_wait_s"] == sum(waits) / 4
    assert found["p50_wait_s"] == 50
    assert found["p95_wait_s"] == pytest.approx(90 + 0.85 * (259200 - 90))
    assert found["p99_wait_s"] == pytest.approx(90 + 0.97 * (259200 - 90))
    assert found["max_wait_s"] == 259200
    slowdowns = [1.0, 2.0, 25921.0, 1.5]
    assert found["mean_bsld"] == sum(slowdowns) / 4
    assert (found["p50_bsld"], found["max_bsld"]) == (1.75, 25921.0)
    assert found["starved_ratio"] == 0.25
    assert found["utilisation_ratio"] == pytest.approx((200 + 90 + 10 + 40) / (2 * end_s))
    assert found["throughput_per_hour"] == pytest.approx(4 * HOUR / end_s)
    assert found["backfilled_count"] == 1
    assert (found["jain_service"], found["worst_user_bsld"]) == (1.0, 1.5)
    assert found["jain"] == pytest.approx(300**2 / (2 * (290**2 + 10**2)))
    assert found["fairness_dev"] == pytest.approx(290 / 300 - 0.5)


def test_a_wait_of_exactly_the_limit_is_not_starved():
    assert measured(schedule([(0, 172_800, 1, 1)]))["starved_ratio"] == 0.0
    assert measured(schedule([(0, 172_801, 1, 1)]))["starved_ratio"] == 1.0


def test_the_steady_window_by_hand():
    """Forty jobs, one every 10 s, each of 15 s on one of two processors; the third is the first to count."""
    made = schedule((10 * i, 10 * i, 15, 1) for i in range(40))
    found = measured(made, Window.STEADY)
    assert (found["window_start_s"], found["window_end_s"]) == (20, 391)
    assert found["jobs_count"] == 38
    # The window holds 5 s of job 1, jobs 2 to 37 whole, 11 s of job 38 and 1 s of job 39.
    assert found["utilisation_ratio"] == pytest.approx((5 + 36 * 15 + 11 + 1) / (2 * 371))
    assert found["makespan_s"] == 390 + 15 - 20
    assert found["throughput_per_hour"] == pytest.approx(38 * HOUR / 385)


def test_the_steady_window_begins_with_all_jobs_of_that_instant_and_holds_the_last():
    releases = [0] * 10 + [50] * 10 + [99]
    found = measured(
        schedule((release, release, 1, 1) for release in releases), Window.STEADY, steady_skip_ratio=0.6
    )
    assert (found["window_start_s"], found["window_end_s"], found["jobs_count"]) == (50, 100, 11)


def test_the_steady_window_is_cut_in_time():
    """Forty jobs, one every 10 s: the window of [20, 391) is cut at 20 + 0.6 * 371, rounded down."""
    made = schedule((10 * i, 10 * i, 15, 1) for i in range(40))
    steady, first, rest = (measured(made, w) for w in (Window.STEADY, Window.SELECTION, Window.CONFIRMATION))
    assert (first["window_start_s"], first["window_end_s"]) == (20, 242)
    assert (rest["window_start_s"], rest["window_end_s"]) == (242, 391)
    assert (first["jobs_count"], rest["jobs_count"]) == (23, 15)
    assert first["jobs_count"] + rest["jobs_count"] == steady["jobs_count"]
    # The first part holds 5 s of job 1, jobs 2 to 22 whole, 12 s of job 23 and 2 s of job 24.
    assert first["utilisation_ratio"] == pytest.approx((5 + 21 * 15 + 12 + 2) / (2 * 222))


def test_a_window_without_jobs_has_its_bounds_and_no_values():
    made = schedule([(0, 0, 5, 1)] * 3 + [(1000, 1000, 5, 1)])
    found = measured(made, Window.CONFIRMATION, steady_skip_ratio=0.0, selection_time_ratio=0.9)
    assert (found["window_start_s"], found["window_end_s"], found["jobs_count"]) == (900, 1001, 1)
    empty = measured(schedule([(5, 5, 0, 1)] * 3), Window.SELECTION)
    assert (empty["window_start_s"], empty["window_end_s"], empty["jobs_count"]) == (5, 5, 0)
    assert empty["mean_bsld"] is None


def test_a_job_that_overtook_one_from_before_the_window_is_counted_in_it():
    made = schedule([(0, 100, 5, 1), (10, 20, 5, 1), (20, 30, 5, 1)])
    assert measured(made, Window.STEADY, steady_skip_ratio=0.4)["backfilled_count"] == 2


def test_growing_queues_show_in_steady_utilisation_only():
    """Fifty unit jobs released in 50 s on one processor, started one after another, or with idle seconds."""
    packed = schedule((i, 2 * i, 2, 1) for i in range(50))
    idle = schedule((i, 3 * i, 2, 1) for i in range(50))
    whole = [measured(made, capacity=Capacity(1))["utilisation_ratio"] for made in (packed, idle)]
    steady = [measured(made, Window.STEADY, Capacity(1))["utilisation_ratio"] for made in (packed, idle)]
    assert whole == pytest.approx([1.0, 100 / 149])
    assert steady == pytest.approx([1.0, 32 / 48], abs=0.02)


@pytest.mark.parametrize("window", list(Window))
def test_no_jobs_means_no_values(window: Window):
    found = measured(schedule([], left_out=7), window)
    assert set(found) == KEYS
    counts = {"jobs_count": 0, "left_out_count": 7, "backfilled_count": 0}
    assert {key: value for key, value in found.items() if value is not None} == counts


def test_no_user_no_fairness():
    found = measured(schedule([(0, 0, 5, 1)] * 20))
    assert [found[key] for key in ("jain_service", "worst_user_bsld", "fairness_dev", "jain")] == [None] * 4


def test_no_time_no_rates():
    found = measured(schedule([(5, 5, 0, 1)] * 3))
    assert (found["makespan_s"], found["utilisation_ratio"], found["throughput_per_hour"]) == (0, None, None)
    assert (
        measured(schedule([(9, 0, 3, 1)]))["makespan_s"] is None
    )  # by this log's clock it ended before it began


def test_the_largest_jobs_of_the_contract_do_not_wrap():
    found = measured(schedule([(0, 0, 2**40, 2**24)] * 3, [0, 1, 1]), capacity=Capacity(2**24))
    assert found["utilisation_ratio"] == pytest.approx(3.0)
    assert found["jain"] == pytest.approx(9 / (2 * 5))


job = st.tuples(
    st.integers(0, 50), st.integers(-5, 10**7), st.integers(0, 10**6), st.integers(1, 8), st.integers(-1, 3)
)


@given(st.lists(job, max_size=12), st.sampled_from(Window), st.floats(0, 1))
def test_every_value_is_a_finite_number_or_unknown(jobs: list[tuple[int, ...]], window: Window, skip: float):
    jobs.sort()
    made = schedule(((r, r + w, t, p) for r, w, t, p, _ in jobs), [user for *_, user in jobs])
    found = measured(made, window, steady_skip_ratio=skip, min_jobs_per_user=1)
    assert set(found) == KEYS
    assert all(
        type(value) in (int, float) and math.isfinite(value) for value in found.values() if value is not None
    )
    start_s, end_s = (found[name] or 0 for name in ("window_start_s", "window_end_s"))
    has_end = window in (Window.SELECTION, Window.CONFIRMATION)
    assert found["jobs_count"] == sum(start_s <= r and (not has_end or r < end_s) for r, *_ in jobs)
    for key in ("jain", "jain_service", "fairness_dev", "starved_ratio"):
        assert found[key] is None or 0.0 <= found[key] <= 1.0


def test_percentiles_interpolate_linearly():
    waits = np.arange(0, 101)
    found = measured(schedule((0, wait, 1, 1) for wait in waits))
    assert (found["p50_wait_s"], found["p95_wait_s"], found["p99_wait_s"]) == (50, 95, 99)
    found = measured(schedule((0, wait, 1, 1) for wait in (0, 10)))
    assert found["p95_wait_s"] == 9.5
