"""Each scenario by hand: which jobs are changed, and how."""

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.stress.arrivals import burst_shock, low_congestion
from hpcopt_assets.stress.requests import estimate_noise
from hpcopt_assets.stress.statistics import Obstacle
from hpcopt_assets.stress.tail import Stretch, heavy_tail, stretched_forecasts
from hpcopt_assets.stress.users import user_skew
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.stress.traces import column, estimates_of

MACHINE = Capacity(8)


class TestHeavyTail:
    jobs = trace(
        [job(i, 60 * i, 1 + i % 3, int(100 * 1.08**i), int(150 * 1.08**i), user="u") for i in range(101)]
    )

    def test_long_jobs_become_longer_and_short_ones_shorter_and_the_order_stays(self):
        after = heavy_tail(self.jobs, 3.0, MACHINE)
        before_s, after_s = (column(frame, "runtime_s") for frame in (self.jobs, after))
        ratio = after_s / before_s
        assert ratio[:40].max() < 0.6
        assert ratio[-3:].min() > 1.2
        assert np.ptp(ratio[:50]) < 0.01  # below the median all alike, up to whole seconds
        assert (np.diff(after_s) >= 0).all()

    def test_all_work_together_stays(self):
        after = heavy_tail(self.jobs, 3.0, MACHINE)
        work = [(column(frame, "runtime_s") * column(frame, "procs")).sum() for frame in (self.jobs, after)]
        assert work[1] == pytest.approx(work[0], rel=1e-3)

    def test_limits_of_partitions_follow(self):
        limited = self.jobs.with_columns(partition_limit_s=pl.col("runtime_s") * 2)
        after = heavy_tail(limited, 3.0, MACHINE)
        stretch = Stretch.of(limited, 3.0, MACHINE)
        wanted = stretch(column(limited, "runtime_s") * 2.0)
        assert column(after, "partition_limit_s").tolist() == np.rint(wanted).tolist()


def asking(limit_s: int) -> pl.DataFrame:
    """Jobs of all runtimes up to a limit, of which every second asks for it and the others for twice."""
    return trace([job(i, 60 * i, 1, int(1.05**i), limit_s * (1 + i % 2)) for i in range(181)])


class TestRequestsUnderAHeavyTail:
    jobs, limit_s = asking(7000), 7000

    def after(self) -> pl.DataFrame:
        both = heavy_tail(self.jobs, 1.5, MACHINE).join(self.jobs, on="job_id", suffix="_before")
        return both.filter(requested_runtime_s_before=self.limit_s)

    def test_who_asked_alike_asks_alike_whatever_runs(self):
        """Else the request would tell a policy what nobody knows when a job is submitted."""
        far_from_it = self.after().filter(pl.col("runtime_s_before") < 0.6 * self.limit_s)
        assert far_from_it.height > 80
        assert far_from_it["requested_runtime_s"].n_unique() == 1

    def test_who_runs_almost_as_long_as_asked_asks_for_as_much_as_any_such_job_could_run(self):
        near = self.after().filter(pl.col("runtime_s_before") > 0.9 * self.limit_s)
        assert near.height > 0
        whole = Stretch.of(self.jobs, 1.5, MACHINE)(np.array([float(self.limit_s)]))
        assert set(near["requested_runtime_s"]) == set(np.ceil(whole).astype(int).tolist())
        assert self.after()["requested_runtime_s"].n_unique() == 2
        assert (near["requested_runtime_s"] >= near["runtime_s"]).all()

    def test_who_asks_for_more_still_does(self):
        after = heavy_tail(self.jobs, 1.5, MACHINE)
        few, many = (after.filter(self.jobs["requested_runtime_s"] == self.limit_s * n) for n in (1, 2))
        assert many["requested_runtime_s"].min() >= few["requested_runtime_s"].max()

    def test_the_median_of_request_over_runtime_stays(self):
        after = heavy_tail(self.jobs, 1.5, MACHINE)
        ratios = [
            (frame["requested_runtime_s"] / frame["runtime_s"].clip(1)).median()
            for frame in (self.jobs, after)
        ]
        assert ratios[1] == pytest.approx(ratios[0], rel=0.01)

    def test_requests_of_jobs_of_unknown_runtime_and_of_such_that_outlive_theirs(self):
        odd = pl.concat([self.jobs, trace([job(901, 9, 1, None, 7000), job(902, 9, 1, 6000, 3000)])])
        after = heavy_tail(odd, 1.5, MACHINE)
        asked = dict(after.select("job_id", "requested_runtime_s").iter_rows())
        assert asked["901"] == asked["0"]
        assert asked["902"] < after.filter(job_id="902")["runtime_s"].item()


class TestForecastsUnderAHeavyTail:
    def test_quantiles_of_runtimes_become_those_of_stretched_runtimes(self):
        """A forecaster that says the quantiles of all jobs still says them."""
        jobs = asking(7000)
        runtime_s = column(jobs, "runtime_s")
        told = {f"p{part}_s": float(np.percentile(runtime_s, part, method="higher")) for part in (10, 50, 90)}
        before = estimates_of(jobs).with_columns(pl.lit(value).alias(name) for name, value in told.items())
        after = stretched_forecasts(before, jobs, 3.0, MACHINE)
        stretched_s = column(heavy_tail(jobs, 3.0, MACHINE), "runtime_s")
        for part in (10, 50, 90):
            found = after[f"p{part}_s"].unique().to_list()
            assert found == [pytest.approx(np.percentile(stretched_s, part, method="higher"), abs=0.5)]

    def test_what_is_not_known_stays_so_and_no_forecast_is_below_a_second(self):
        jobs = asking(7000)
        before = estimates_of(jobs).with_columns(
            split_p10_s=pl.when(pl.col("job_id") == "3").then(1.0), p10_s=pl.lit(1.0)
        )
        after = stretched_forecasts(before, jobs, 3.0, MACHINE)
        assert after.columns == before.columns
        assert after["split_p10_s"].is_null().equals(before["split_p10_s"].is_null())
        assert after["p10_s"].unique().to_list() == [1.0]


def test_a_tail_of_hardly_more_than_one_cannot_be_stretched():
    jobs = trace([job(i, i, 1, 10**6 + (i == 49), 2 * 10**6) for i in range(50)])
    with pytest.raises(Obstacle, match="p99 of the runtimes is hardly more than their median"):
        heavy_tail(jobs, 3.0, MACHINE)


class TestLowCongestion:
    def test_gaps_grow_and_dates_of_the_machine_move_along(self):
        jobs = trace([job(1, 100, 1, 10, wait_s=5), job(2, 130, 1, 10, eligible_s=140), job(3, 201, 1, 10)])
        after, machine = low_congestion(jobs, 0.5, Capacity(8, ((150, 4), (90, 8))))
        assert after["release_s"].to_list() == [100, 180, 302]
        assert after["submit_s"].to_list() == [100, 170, 302]
        assert after["eligible_s"].to_list() == [None, 180, None]
        assert after["start_s"].to_list() == [105, None, None]
        assert after["end_s"].to_list() == [115, None, None]
        assert machine == Capacity(8, ((200, 4), (80, 8)))

    def test_what_users_thought_between_two_jobs_is_not_known(self):
        jobs = trace([job(1, 100, 1, 10), job(2, 130, 1, 10, preceding_job_id="1", think_time_s=20)])
        after, _ = low_congestion(jobs, 0.5, MACHINE)
        assert after["think_time_s"].null_count() == 2


class TestBurstShock:
    def test_the_nearest_jobs_come_into_the_busiest_window_in_their_order(self):
        """Ten windows of 100 s; in the one from 500 s there are four jobs, elsewhere two each."""
        at = sorted([0, 50, *range(110, 500, 50), 520, 540, 560, 580, *range(610, 1000, 50), 999])
        jobs = trace([job(i, at_s, 1, 10) for i, at_s in enumerate(at)])
        after = burst_shock(jobs, 2.0, MACHINE, 10)
        released = column(after, "release_s")
        assert (np.diff(released) >= 0).all()
        moved = np.flatnonzero(released != np.array(at))
        inside = np.flatnonzero((released >= 500) & (released < 600))
        assert [at[i] for i in inside] == [410, 460, 520, 540, 560, 580, 610, 660]
        assert set(moved) <= set(inside)

    def test_first_and_last_release_stay(self):
        jobs = trace([job(i, at_s, 1, 10) for i, at_s in enumerate([0, 10, 11, 12, 40, 70, 100])])
        after = burst_shock(jobs, 1.6, MACHINE, 10)
        assert column(after, "release_s").tolist()[0] == 0
        assert column(after, "release_s").tolist()[-1] == 100

    def test_neither_the_first_nor_the_last_release_comes_into_a_window_beside_it(self):
        """Else the trace would be shorter, and its load higher."""
        at = [0, *range(1, 100, 12), 940, 950, 960, 999]  # nine jobs in the first tenth, the next a lull away
        early = burst_shock(trace([job(i, at_s, 1, 10) for i, at_s in enumerate(at)]), 1.3, MACHINE, 10)
        assert column(early, "release_s")[[0, -1]].tolist() == [0, 999]
        at = [0, *range(500, 590, 30), *range(880, 900, 5), 999]
        late = burst_shock(trace([job(i, at_s, 1, 10) for i, at_s in enumerate(at)]), 1.75, MACHINE, 10)
        assert column(late, "release_s")[[0, -1]].tolist() == [0, 999]
        with pytest.raises(Obstacle, match="9 jobs in one window: the trace has no more than 7"):
            burst_shock(trace([job(i, at_s, 1, 10) for i, at_s in enumerate(at)]), 2.25, MACHINE, 10)

    def test_of_jobs_released_together_those_next_to_the_window_come(self):
        at = [0, *[30] * 6, 50, 51, 52, 53, 100]
        after = burst_shock(trace([job(i, at_s, 1, 10) for i, at_s in enumerate(at)]), 1.0, MACHINE, 10)
        assert column(after, "release_s").tolist() == at
        after = burst_shock(trace([job(i, at_s, 1, 10) for i, at_s in enumerate(at)]), 1.5, MACHINE, 10)
        # The six at 30 s are the busiest; nine are wanted: 50, 51 and 52 come.
        assert (column(after, "release_s")[1:10] < 40).all()
        assert column(after, "release_s")[10:].tolist() == [53, 100]


class TestUserSkew:
    def test_whole_users_come_and_the_last_in_part(self):
        jobs = trace(
            [
                job(i, i, 1, 10, user=user, group=f"g{user}")
                for i, user in enumerate("aaaaaaaaaabbbbbbbcccccccddddddd")
            ]
        )
        after = user_skew(jobs, 2.0, MACHINE, (1,))
        held = dict(after["user"].value_counts().iter_rows())
        assert held["a"] == 20
        assert sorted(count for user, count in held.items() if user != "a") == [4, 7]
        assert after.filter(user="a")["group"].unique().to_list() == ["ga"]
        partly = next(user for user, count in held.items() if count == 4)
        before = jobs.filter(user=partly)["job_id"].to_list()
        assert after.filter(user=partly)["job_id"].to_list() == before[3:]

    def test_of_equal_users_the_first_to_appear_becomes_the_largest(self):
        jobs = trace([job(i, i, 1, 10, user="bca"[i % 3]) for i in range(30)])
        after = user_skew(jobs, 1.5, MACHINE, (1,))
        assert dict(after["user"].value_counts().iter_rows())["b"] == 15


class TestEstimateNoise:
    jobs = trace(
        [job(i, i, 1, 100 + i, 300 + i % 50, user="u") for i in range(200)] + [job(999, 999, 1, 1, 90_000)]
    )

    def test_requests_grow_by_different_amounts_and_none_shrinks(self):
        after = estimate_noise(self.jobs, 2.0, MACHINE, (1,))
        ratio = column(after, "requested_runtime_s") / column(self.jobs, "requested_runtime_s")
        assert ratio.min() >= 1
        assert len(set(np.round(ratio, 3))) > 150
        assert column(after, "requested_runtime_s").max() == 90_000

    def test_severities_share_their_noise(self):
        mild, severe = (
            column(estimate_noise(self.jobs, factor, MACHINE, (1,)), "requested_runtime_s")
            for factor in (1.5, 4)
        )
        assert (severe >= mild).all()
        assert (severe[:200] > mild[:200]).mean() > 0.95
