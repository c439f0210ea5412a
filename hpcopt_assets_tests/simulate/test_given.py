"""Schedules that somebody else made, as replay_schedule.

Broken on purpose, and who noticed: jobs told apart by id alone; a job not placed left without its reason;
another trace's submissions accepted.
"""

import polars as pl
import pytest

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.given import given_schedule
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.strategies import EASY

JOBS = trace(
    [job(1, 0, 2, 10, 20, user="u"), job(2, 5, 2, 10, None), job(3, 5, 2, None), job(4, 6, None, 5)],
)
STARTS = pl.DataFrame({"job_id": ["2", "1"], "start_s": [10, 0], "end_s": [14, 10]})


def test_jobs_are_placed_and_the_others_never_start():
    found = given_schedule(JOBS, STARTS, "theirs")
    validate(REPLAY_SCHEDULE, found)
    columns = ("job_id", "start_s", "wait_s", "runtime_s", "limit_s", "estimate_s", "left_out")
    assert found.select(columns).rows() == [
        ("1", 0, 0, 10, 20, None, None),
        ("2", 10, 5, 4, 20, None, None),
        ("3", None, None, None, None, None, "never_started"),
        ("4", None, None, None, None, None, "never_started"),
    ]
    assert set(found["policy"]) == {"theirs"}


def test_a_replay_that_was_written_is_the_same_but_for_what_was_believed():
    replayed = replay(JOBS, EASY, 2).schedule
    written = replayed.select("job_id", "attempt", "submit_s", "start_s", "end_s", "procs").reverse()
    found = given_schedule(JOBS.reverse(), written, "p")
    unknown = ("policy", "estimate_s", "estimate_source", "left_out")
    assert found.drop(unknown).equals(replayed.drop(unknown))


def test_attempts_are_told_apart_by_their_number_alone():
    jobs = trace([job(7, 0, 1, 10, attempt=1), job(7, 50, 1, 10, attempt=2)])
    starts = pl.DataFrame({"job_id": ["7", "7"], "attempt": [2, 1], "start_s": [60, 0], "end_s": [70, 10]})
    assert given_schedule(jobs, starts, "p")["start_s"].to_list() == [0, 60]
    with pytest.raises(InputError, match="several times"):
        given_schedule(jobs, starts.filter(pl.col("attempt") == 2).drop("attempt"), "p")


@pytest.mark.parametrize(
    ("starts", "words"),
    [
        (pl.concat([STARTS, STARTS]), "placed twice"),
        (STARTS.with_columns(job_id=pl.lit("9") + pl.col("job_id")), "job 92 that the trace does not have"),
        (STARTS.with_columns(submit_s=0), "job 2 with another submit_s"),
        (STARTS.with_columns(procs=3), "job 1 with another procs"),
        (STARTS.with_columns(start_s=0), "job 2 before its release"),
        (STARTS.with_columns(end_s=pl.col("start_s") - 1), "its end before its start"),
        (STARTS[:1].with_columns(job_id=pl.lit("4")), "of unknown processors"),
    ],
)
def test_what_does_not_fit_the_trace_is_refused(starts: pl.DataFrame, words: str):
    with pytest.raises(InputError, match=words):
        given_schedule(JOBS, starts, "schedule.csv")
