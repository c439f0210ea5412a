"""Whatever people are called, they are served alike: no replay, no measure, no stress depends on names.

A bundle's tables are computed again from pseudonyms, and must come out to the last digit.
"""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.config import MeasuresConfig, ProfileConfig
from hpcopt_assets.contracts.stress_config import StressConfig
from hpcopt_assets.contracts.stress_words import StressScenario
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.features.jobs import job_features
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.summary import measure
from hpcopt_assets.orchestration.configs import load_config
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets.profile.trace import profile_trace
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.stress.cases import stress
from hpcopt_assets.stress.statistics import Obstacle
from hpcopt_assets_tests.schedules import shipped
from hpcopt_assets_tests.simulate.strategies import ANY_POLICY, CAPACITY, forecasts, recorded_jobs

MEASURES = MeasuresConfig(
    tau_s=10,
    starved_after_s=100,
    steady_skip_ratio=0.0,
    selection_time_ratio=0.6,
    min_jobs_per_user=1,
    queue_sample_s=60,
)
PROFILE = load_config(CHECKOUT / "configs", "profile")
SCENARIOS = shipped(StressConfig).scenarios
OTHERWISE = st.permutations(["a", "m", "z"])
# What u, v, w are called instead: every order of names occurs.


def renamed(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    return frame.with_columns(user=pl.col("user").replace(dict(zip("uvw", names, strict=True))))


@settings(max_examples=100, deadline=None)
@given(jobs=recorded_jobs(min_size=2), policy=ANY_POLICY, names=OTHERWISE)
def test_replays_and_measures_are_the_same_to_the_last_digit(jobs, policy, names) -> None:
    other = renamed(jobs, names)
    told = forecasts(jobs)
    one, two = (replay(frame, policy, CAPACITY, estimates=told).schedule for frame in (jobs, other))
    assert one.drop("user").equals(two.drop("user"))
    assert renamed(one, names).equals(two)
    for first, second in ((jobs, other), (one, two)):
        for window in Window:
            measured = [
                measure(Schedule.of(frame), capacity=Capacity(CAPACITY), config=MEASURES, window=window)
                for frame in (first, second)
            ]
            assert measured[0] == measured[1]


@settings(max_examples=100, deadline=None)
@given(jobs=recorded_jobs(min_size=2), names=OTHERWISE)
def test_profiles_and_features_are_the_same_but_for_the_names(jobs, names) -> None:
    assert isinstance(PROFILE, ProfileConfig)
    profiles = [
        profile_trace(frame, trace_id="made", capacity=Capacity(CAPACITY), timezone=None, config=PROFILE)
        for frame in (jobs, renamed(jobs, names))
    ]
    assert renamed(profiles[0], names).equals(profiles[1])
    features = [job_features(frame, None) for frame in (jobs, renamed(jobs, names))]
    assert features[0].equals(features[1])


@settings(max_examples=100, deadline=None)
@given(jobs=recorded_jobs(min_size=4), names=OTHERWISE, scenario=st.sampled_from(StressScenario))
def test_stressed_traces_are_the_same_but_for_the_names(jobs, names, scenario) -> None:
    """Every user may be the one who becomes greedier, and everybody else the one who gives jobs up."""

    def stressed(frame: pl.DataFrame) -> pl.DataFrame | str:
        try:
            return stress(frame, scenario, 1.3, Capacity(CAPACITY), SCENARIOS)[0]
        except Obstacle as obstacle:
            return str(obstacle)

    one, other = stressed(jobs), stressed(renamed(jobs, names))
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
    else:
        assert renamed(one, names).equals(other)
