"""Policies by closeness to the record: the one that made it is found, and closest is not called alike."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.measures.distances import mean_log_ratio
from hpcopt_assets.simulate.shaken import ShakenReplayer
from hpcopt_assets.simulate.shaking import draw_shake
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.fidelity.made import (
    CAPACITY,
    CONFIGS,
    POLICIES,
    at,
    drained,
    observed,
    ranked,
    released,
    schedule,
    windows,
)
from hpcopt_assets_tests.schedules import MEASURES, replay_of

HOUR = 3600


def row(closeness: pl.DataFrame, policy: str, period: str = "whole") -> dict[str, object]:
    return closeness.filter(policy=policy, period=period).row(0, named=True)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_policy_that_made_the_record_is_closest_in_every_period(policy: str):
    _, found = ranked(observed(policy))
    assert found["period"].unique(maintain_order=True).to_list() == ["whole", "2024-Q1", "2024-Q2"]
    closest = found.filter(rank=1)
    assert closest["policy"].to_list() == [policy] * 3
    assert closest["distance"].to_list() == [0.0] * 3
    assert set(closest["fidelity"]) == {"PASS"}
    assert "its replay is like the record (fidelity PASS)" in closest["reason"][0]
    assert found.filter(period="whole")["rank"].to_list() == [1, 2, 3, 4]
    assert (found.filter(pl.col("rank") > 1)["distance"] > 0).all()


def test_closest_is_not_called_alike_where_it_fails():
    _, found = ranked(observed(drain=drained("2024-02-12", "2024-02-26")))
    closest = row(found, "easy_backfill")
    assert (closest["rank"], closest["fidelity"]) == (1, "FAIL")
    assert str(closest["reason"]).startswith("the closest of 4 policies: waits differ by a factor of ")
    assert str(closest["reason"]).endswith("; its replay is not like the record (fidelity FAIL)")


@pytest.mark.parametrize("policy", POLICIES)
def test_the_policy_that_made_a_shaken_record_is_closest(policy: str):
    replayer = ShakenReplayer(released(), [CONFIGS.policy(policy)], CAPACITY, MEASURES)
    shake = draw_shake(replayer.release_s, 0, CONFIGS.robustness.shaking)
    shaken = replayer.schedule(policy, shake.factor, shake.shift_s)
    order = np.argsort(replayer.release_s + shake.shift_s, kind="stable")
    start_s = np.empty_like(shaken.start_s)
    start_s[order] = shaken.start_s
    jobs = released().with_columns(start_s=pl.Series(start_s), allocated_procs=pl.col("procs"))
    jobs = jobs.with_columns(
        wait_s=pl.col("start_s") - pl.col("release_s"), end_s=pl.col("start_s") + pl.col("runtime_s")
    )
    _, found = ranked(jobs)
    assert row(found, policy)["rank"] == 1
    assert row(found, policy)["distance"] > 0


def test_the_distance_is_that_of_the_formula():
    jobs = observed(drain=drained("2024-02-12", "2024-02-26"))
    _, found = ranked(jobs)
    for policy in POLICIES:
        wanted = mean_log_ratio(
            schedule(policy)["wait_s"].to_numpy(),
            jobs["wait_s"].to_numpy(),
            CONFIGS.fidelity.closeness_floor_s,
        )
        assert row(found, policy)["distance"] == pytest.approx(wanted)


def test_identical_policies_share_a_rank_and_the_next_comes_after_both():
    twins = {"fifo_strict": schedule("fifo_strict")} | {
        name: schedule("easy_backfill").with_columns(policy=pl.lit(name)) for name in ("one", "other")
    }
    _, found = ranked(observed("sjf_backfill"), schedules=twins)
    for period in ("whole", "2024-Q1", "2024-Q2"):
        assert [row(found, name, period)["rank"] for name in ("one", "other", "fifo_strict")] == [1, 1, 3]
        assert row(found, "one", period)["distance"] == row(found, "other", period)["distance"]


def test_a_record_without_starts_ranks_nobody():
    _, found = ranked(released())
    assert found.height == 3 * len(POLICIES)
    assert found["rank"].null_count() == found["distance"].null_count() == found.height
    assert set(found["jobs_count"]) == {0}
    assert set(found["fidelity"]) == {"NOT_ASSESSED"}
    assert set(found["reason"]) == {"not ranked: no job ran both in the record and in the replay"}


def test_no_job_that_ran_in_both_ranks_nobody():
    """The record knows the starts of the first half, the replay those of the second."""
    made = trace(job(i, i * HOUR, 1, 60, wait_s=60 if i < 50 else None) for i in range(100))
    starts = [None if i < 50 else released_s for i, released_s in enumerate(made["release_s"])]
    verdicts, found = ranked(made, schedules={"easy_backfill": replay_of(made, starts)})
    assert found["rank"].null_count() == found.height == 2
    assert set(verdicts.filter(pl.col("criterion") != "observed_within_capacity")["verdict"]) == {
        "NOT_ASSESSED"
    }


@pytest.mark.parametrize(("jobs", "rank"), [(29, None), (30, 1)])
def test_few_jobs_rank_nobody(jobs: int, rank: int | None):
    made = trace(job(i, i * HOUR, 1, 60, wait_s=60) for i in range(jobs))
    _, found = ranked(made, schedules={"easy_backfill": replay_of(made, made["start_s"])})
    assert row(found, "easy_backfill")["rank"] == rank
    assert ("29 jobs, 30 needed" in str(row(found, "easy_backfill")["reason"])) == (rank is None)


def test_no_policy_no_row():
    jobs = observed()
    _, found = ranked(jobs, policies=())
    assert found.height == 0


def test_policies_are_compared_over_the_jobs_that_ran_under_all():
    """The first job waited a day; one policy leaves it out, which must not bring it nearer."""
    made = trace(job(i, i * HOUR, 1, 60, wait_s=24 * HOUR if i == 0 else 0) for i in range(40))
    starts = made["release_s"].to_list()
    _, found = ranked(
        made,
        schedules={
            "all": replay_of(made, starts, policy="all"),
            "fewer": replay_of(made, [None, *starts[1:]], policy="fewer"),
        },
    )
    assert set(found.filter(period="whole")["jobs_count"]) == {39}
    assert found.filter(period="whole")["rank"].to_list() == [1, 1]


def test_quarters_that_begin_as_observed_are_ranked_by_their_own_replays():
    drain = drained("2024-03-18", "2024-04-01")
    jobs = observed(drain=drain)
    _, cut = ranked(jobs)
    _, seeded = ranked(jobs, seeded=windows(jobs, POLICIES))
    assert row(cut, "easy_backfill", "2024-Q2")["distance"] > 0.1
    assert row(seeded, "easy_backfill", "2024-Q2")["distance"] == 0.0
    assert (
        row(seeded, "easy_backfill", "2024-Q2")["jobs_count"] == (jobs["release_s"] >= at("2024-04-01")).sum()
    )
    assert cut.filter(period="whole").equals(seeded.filter(period="whole"))


def test_a_quarter_that_cannot_begin_as_observed_ranks_nobody():
    from hpcopt_assets.measures.capacity import Capacity

    small, jobs = Capacity(40), observed()
    _, found = ranked(jobs, capacity=small, seeded=windows(jobs, POLICIES, small))
    second = found.filter(period="2024-Q2")
    assert second["rank"].null_count() == second.height == len(POLICIES)
    assert second["reason"].str.starts_with("not ranked: cannot begin as observed: ").all()
