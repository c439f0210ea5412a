"""Replays that believe forecasts: what is believed, and what a wrong forecast may not do.

Broken on purpose, and who noticed: rounded down; not capped at the request; guard towards the wrong quantile;
joined by position instead of by job; an expired forecast that ends the job.
"""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.forecast_tables import RUNTIME_ESTIMATES
from hpcopt_assets.contracts.vocabulary import Estimate, EstimateSource
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets.simulate.engine import _has_promises, replay
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.strategies import CAPACITY, FORECASTING, forecasts, jobs, policy


def told(*rows: tuple[str, float, float, float]) -> pl.DataFrame:
    """`runtime_estimates` of jobs by the model."""
    return pl.DataFrame(
        [("made", job_id, 1, *quantiles, "model") for job_id, *quantiles in rows],
        schema={
            name: kind
            for name, kind in RUNTIME_ESTIMATES.polars_schema().items()
            if name in ("trace_id", "job_id", "attempt", "p10_s", "p50_s", "p90_s", "source")
        },
        orient="row",
    )


class TestWhatIsBelieved:
    workload = select_workload(
        trace([job("1", 0, 1, 10, 100), job("2", 0, 1, 10, 25), job("3", 0, 1, 10, 77)]),
        4,
        estimates=told(("2", 2.0, 10.2, 400.0), ("1", 2.0, 10.2, 40.0)),
    )

    def believed(self, estimate: Estimate, guard_k: float = 0.0) -> list[int]:
        return self.workload.believed_s(estimate, guard_k).tolist()

    def test_whole_seconds_rounded_up_within_the_request_which_stands_for_the_unknown(self):
        assert self.believed(Estimate.P50) == [11, 11, 77]
        assert self.believed(Estimate.P90) == [40, 25, 77]

    def test_the_guard_moves_towards_the_next_quantile(self):
        assert self.believed(Estimate.P50, 0.5) == [26, 25, 77]  # 10.2 + 14.9
        assert self.believed(Estimate.P10, 0.5) == [7, 7, 77]  # 2 + 4.1

    def test_without_forecasts(self):
        with pytest.raises(InputError, match=r"no forecasts.*runtime_estimates"):
            select_workload(trace([job("1", 0, 1, 10)]), 4).believed_s(Estimate.P50)


def test_two_estimates_of_one_job_are_refused():
    with pytest.raises(InputError, match="two estimates of job 1"):
        select_workload(trace([job("1", 0, 1, 10)]), 4, estimates=told(("1", 1, 2, 3), ("1", 1, 2, 3)))


def test_estimates_of_another_trace_are_refused():
    """Ids of one log are ids of every log."""
    foreign = told(("1", 1, 2, 3)).with_columns(trace_id=pl.lit("other"))
    with pytest.raises(InputError, match=r"estimates of other.*estimates of made"):
        select_workload(trace([job("1", 0, 1, 10)]), 4, estimates=foreign)


def test_the_schedule_says_where_each_estimate_came_from():
    frame = trace([job("1", 0, 1, 10, 50), job("2", 0, 1, 10, None), job("3", 0, 1, 10, 50)])
    rules = policy(estimate="p50", hold="p90", guard_k=0.0)
    result = replay(frame, rules, 4, estimates=told(("3", 1, 9.5, 30)))
    assert result.schedule.select("estimate_s", "estimate_source").rows() == [
        (50, "request"),
        (86_400, "fallback"),  # of jobs released before it none has a request
        (10, "model"),
    ]
    assert result.estimate_sources[EstimateSource.MODEL] == 1


def test_a_job_that_a_forecast_makes_short_is_backfilled():
    """Two processors. 1 holds one until 100; 2 wants both; 3 asks for 200 s and is forecast to take 50."""
    frame = trace([job("1", 0, 1, 100, 100), job("2", 1, 2, 10, 10), job("3", 2, 1, 40, 200)])
    estimates = told(("1", 90, 95, 100), ("2", 5, 8, 10), ("3", 30, 40, 50))
    start = {
        name: replay(frame, rules, 2, estimates=estimates).schedule["start_s"].to_list()
        for name, rules in (("easy", policy()), ("forecast", policy(estimate="p50", hold="p90", guard_k=1.0)))
    }
    assert start["easy"] == [0, 100, 110]
    assert start["forecast"] == [0, 100, 2]


def test_an_expired_forecast_neither_kills_nor_orphans_a_job():
    """Forecast to take 10 s at most, each runs for 500: all finish, nobody takes their processors."""
    frame = trace(
        [
            job("1", 0, 2, 500, 1000),
            job("2", 1, 2, 500, 1000),
            job("3", 2, 1, 500, 1000),
            job("4", 3, 4, 5, 9),
        ]
    )
    estimates = told(*((str(i), 1.0, 5.0, 10.0) for i in (1, 2, 3, 4)))
    for estimate in ("p10", "p50", "p90"):
        rules = policy(estimate=estimate, hold="p90", guard_k=0.0)
        schedule = replay(frame, rules, 4, estimates=estimates, is_strict=True).schedule
        assert schedule["runtime_s"].to_list() == [500, 500, 500, 5]
        assert (schedule["end_s"] - schedule["start_s"]).to_list() == [500, 500, 500, 5]
        assert schedule["start_s"].null_count() == 0
        assert schedule["start_s"][3] >= 500  # the head waits for them whatever was forecast


@given(jobs(min_size=2), st.sampled_from([each for each in FORECASTING if each.overrun == "extend"]))
@settings(deadline=None, max_examples=100)
def test_whatever_is_forecast_every_job_runs_to_its_end(frame, rules):
    schedule = replay(frame, rules, CAPACITY, estimates=forecasts(frame), is_strict=True).schedule
    ran = schedule.filter(pl.col("left_out").is_null())
    expected = frame.filter(pl.col("runtime_s").is_not_null() & pl.col("procs").is_not_null())
    assert ran.height == expected.height
    assert (ran["end_s"] - ran["start_s"]).sum() == expected["runtime_s"].sum()


def test_the_shipped_policies_say_how_they_believe():
    configs = load_configs(CHECKOUT / "configs")
    shipped = {
        each.id: (each.backfill_order.value, each.estimate.value, each.hold.value)
        for each in configs.policies.policies
        if each.is_forecasting
    }
    assert shipped == {
        "ml_backfill_p50": ("queue", "p50", "p90"),
        "ml_backfill_p10": ("queue", "p10", "p90"),
        "ml_backfill_strict": ("queue", "p90", "p90"),
        "ml_sjbf": ("shortest", "p50", "p90"),
    }
    assert not any(each.is_bound for each in configs.policies.policies if each.is_forecasting)


@pytest.mark.parametrize(("estimate", "guard_k"), [("p50", None), ("p90", 0.5), ("requested", 0.5)])
def test_a_guard_belongs_to_p10_and_p50(estimate, guard_k):
    plain = policy(estimate=estimate).model_dump()
    with pytest.raises(ValueError, match="guard"):
        type(policy()).model_validate(plain | {"guard_k": guard_k})


@pytest.mark.parametrize(
    ("estimate", "hold", "is_promised"),
    [("requested", "user_history", True), ("p90", "user_history", False), ("requested", "p90", True)],
)
def test_a_head_is_promised_its_start_only_where_no_job_is_held_for_longer_than_it_was_tried_with(
    estimate, hold, is_promised
):
    """A user's history may be longer than a quantile of the forecast; it is never longer than the request."""
    rules = policy(estimate=estimate, hold=hold)
    short = np.array([5])
    assert _has_promises(rules, np.array([10]), short) is is_promised
