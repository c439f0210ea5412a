"""The whole table: within its contract for any trace, null with reasons, the same every time."""

import polars as pl
import pytest
from hypothesis import given, settings

from hpcopt_assets.contracts.errors import ContractError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import TRACE_PROFILE
from hpcopt_assets.contracts.vocabulary import ProfileMeasure, ProfileTopic
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.profile.helpers import JOBS, profile

FLURRY_ROWS = {
    (ProfileTopic.FLURRIES.value, measure.value)
    for measure in (
        ProfileMeasure.FLURRY_SHARE,
        ProfileMeasure.FLURRY_SHARE_MEANWHILE,
        ProfileMeasure.FLURRY_ALIKE_SHARE,
    )
}
# Rows that only traces with users, or with flurries, have.


def measures(table: pl.DataFrame) -> set[tuple[str, str]]:
    return set(table.select("topic", "measure").iter_rows())


@given(JOBS)
@settings(deadline=None, max_examples=50)
def test_every_measure_is_stated_or_excused(jobs: pl.DataFrame):
    """`profile` holds the table against its contract: finite numbers, nulls with a note, unique keys."""
    found = profile(jobs, timezone="Europe/Stockholm")
    assert measures(found) | FLURRY_ROWS == measures(profile(trace([]))) | FLURRY_ROWS
    assert {topic for topic, _ in measures(found)} == set(ProfileTopic.words())
    assert {measure for _, measure in measures(found)} | {m for _, m in FLURRY_ROWS} == set(
        ProfileMeasure.words()
    )


@given(JOBS)
@settings(deadline=None, max_examples=50)
def test_the_same_jobs_give_the_same_table(jobs: pl.DataFrame):
    assert profile(jobs).equals(profile(jobs))


def test_an_empty_trace_is_all_excuses():
    found = profile(trace([]))
    assert found["value"].null_count() == found.height
    assert found["note"].null_count() == 0
    assert found["evidence_count"].sum() == 0


def test_one_job_has_what_one_job_can_have():
    found = profile(trace([job(1, 0, 4, 100, 200, wait_s=0, user="anna")]))
    unknown = set(found.filter(pl.col("value").is_null()).select("topic", "measure").iter_rows())
    assert unknown == {
        *(
            (topic, measure)
            for topic in ("runtimes", "sizes", "work")
            for measure in ("tail_index", "top_share")
        ),
        *(("arrivals", measure) for measure in ("gap", "gap_variation", "hourly_dispersion")),
        ("congestion", "queue_length"),
    }


def test_a_log_without_starts_users_and_requests():
    found = profile(trace([(i, 3600 * i, 2, 60, None) for i in range(5)]))
    for topic, measure in (
        ("congestion", "queue_length"),
        ("congestion", "utilisation"),
        ("users", "users"),
        ("users", "gini"),
        ("requests", "request_over_runtime"),
        ("flurries", "flurries"),
    ):
        rows = found.filter(topic=topic, measure=measure)
        assert rows["value"].to_list() == [None]
        assert rows["note"][0]
    assert found.filter(measure="no_request_share")["value"].item() == 1.0
    assert found.filter(measure="runtime", item="p50")["value"].item() == 60


@pytest.mark.parametrize(
    "broken",
    [
        {"value": None, "note": None},
        {"value": float("nan")},
        {"value": 1.0, "lower": 2.0, "upper": 3.0},
        {"topic": "weather"},
    ],
    ids=["null_without_reason", "nan", "outside_its_interval", "foreign_topic"],
)
def test_the_contract_can_be_broken(broken: dict):
    found = profile(trace([(1, 0, 4, 100)]))[:1]
    changed = found.with_columns(
        pl.lit(new, dtype=found.schema[name]).alias(name) for name, new in broken.items()
    )
    with pytest.raises(ContractError):
        validate(TRACE_PROFILE, changed)
