"""Schedules from frames: who takes part, who is paired, and the table of all measures."""

import polars as pl
import pytest

from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import REPLAY_MEASURES
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.table import measure_all
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import MEASURES, replay_of


def made() -> pl.DataFrame:
    return trace(
        [
            job(1, 0, 2, 10, wait_s=0, user="b"),
            job(2, 5, 2, 10, wait_s=5, user="a"),
            job(3, 6, 2, None, wait_s=1, user="a"),
            job(4, 7, None, 10, wait_s=1, user="a"),
            job(5, 8, 2, 10, user="c"),
            job(6, 9, 2, 10, wait_s=0, user=None),
        ]
    )


def test_a_schedule_holds_the_jobs_that_started_and_ran():
    found = Schedule.of(made())
    assert found.start_s.tolist() == [0, 10, 9]
    assert found.wait_s.tolist() == [0, 5, 0]
    assert found.user.tolist() == [0, 1, -1]
    assert found.left_out_count == 3


def test_what_was_observed_held_what_it_was_given_and_a_replay_gives_what_was_asked_for():
    jobs = trace([job(1, 0, 2, 10, wait_s=0, allocated_procs=4), job(2, 0, 2, 10, wait_s=0)])
    replay = replay_of(jobs, [0, 0])
    assert Schedule.of(jobs).procs.tolist() == [4, 2]
    assert Schedule.of(replay).procs.tolist() == [2, 2]
    assert [made.procs.tolist() for made in Schedule.paired(jobs, replay)] == [[2, 2], [2, 2]]


def test_users_are_coded_alike_whatever_else_was_read():
    before = Schedule.of(made()).user.tolist()
    kept = [pl.Series([f"user{i}", "b"]).cast(pl.Categorical) for i in range(3)]
    assert Schedule.of(made()).user.tolist() == before
    assert len(kept) == 3


def test_pairs_are_joined_by_id_not_by_position():
    jobs = made()
    replay = replay_of(jobs.filter(pl.col("job_id").is_in(["1", "2", "6"])), [30, 20, None])
    first, second = Schedule.paired(jobs, replay.reverse())
    assert first.start_s.tolist() == [0, 10]
    assert second.start_s.tolist() == [30, 20]
    assert first.user.tolist() == second.user.tolist() == [0, 1]
    assert (first.left_out_count, second.left_out_count) == (4, 1)


def test_an_id_that_stands_twice_is_not_joined():
    jobs = made()
    replay = replay_of(jobs.head(1), [0])
    with pytest.raises(pl.exceptions.ComputeError, match="1:1"):
        Schedule.paired(jobs, pl.concat([replay, replay]))


def test_replay_measures_has_a_row_per_policy_and_window():
    jobs = made()
    replays = {
        policy: replay_of(jobs, [0, 20, None, None, 40, 30], policy)
        for policy in ("fifo_strict", "easy_backfill")
    }
    found = measure_all(
        trace_id="made", trace_jobs=jobs, schedules=replays, capacity=Capacity(2), config=MEASURES
    )
    validate(REPLAY_MEASURES, found)
    assert found.select("policy", "time_window").rows() == [
        (policy, window) for policy in ("observed", *replays) for window in Window.words()
    ]
    assert found["jobs_count"].to_list()[::4] == [3, 4, 4]
    assert found["left_out_count"].to_list()[::4] == [3, 2, 2]
    assert found.filter(pl.col("time_window") == "whole")["mean_wait_s"].to_list() == pytest.approx(
        [5 / 3, 17.0, 17.0]
    )


def test_a_trace_without_starts_has_empty_observed_rows():
    jobs = trace([(1, 0, 2, 10), (2, 5, 2, 10)])
    found = measure_all(trace_id="made", trace_jobs=jobs, schedules={}, capacity=Capacity(2), config=MEASURES)
    validate(REPLAY_MEASURES, found)
    assert found["jobs_count"].to_list() == [0] * 4
    assert found["left_out_count"].to_list() == [2] * 4
    assert found["mean_wait_s"].to_list() == [None] * 4
