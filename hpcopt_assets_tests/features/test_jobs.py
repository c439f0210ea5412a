"""Features of jobs: what was known at the submission, and nothing that came later.

Broken on purpose, and who noticed: an end after the submission counts (F2, the naive recount, the laws);
a tie does not count (F2, recount); shares count jobs submitted later but released earlier (held jobs, laws);
time since the submission before taken in trace order (held jobs, laws); a running job's runtime used (laws).
"""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.forecast_tables import FEATURES_OF, HISTORY, JOB_FEATURES, QUEUE_STATE
from hpcopt_assets.contracts.forecast_words import Inputs
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.features.jobs import job_features
from hpcopt_assets_tests.builders import job, trace


def features(rows, timezone=None):
    return job_features(trace(rows), timezone)


def of(frame: pl.DataFrame, job_id: object) -> dict[str, object]:
    return frame.row(by_predicate=pl.col("job_id") == str(job_id), named=True)


class TestTheUsersLastTwo:
    """One user: A runs 0 to 1000, B 100 to 200; C comes at 500, D at 1000, when A ends."""

    frame = features(
        [
            job("1", 0, 1, 1000, 2000, wait_s=0, user="u"),
            job("2", 100, 1, 100, 2000, wait_s=0, user="u"),
            job("3", 500, 1, 10, 2000, wait_s=4500, user="u"),
            job("4", 1000, 1, 10, 2000, wait_s=9000, user="u"),
        ]
    )

    def test_what_runs_has_no_runtime_yet(self):
        row = of(self.frame, 3)
        assert (row["user_count"], row["user_last_s"], row["user_median_s"]) == (1, 100, 100)
        assert row["user_last2_mean_s"] is None

    def test_its_elapsed_time_may_be_seen(self):
        row = of(self.frame, 3)
        assert (row["user_running_count"], row["user_running_elapsed_s"]) == (1, 500)

    def test_an_end_at_the_submission_is_known(self):
        row = of(self.frame, 4)
        assert (row["user_count"], row["user_last2_mean_s"], row["user_last_s"]) == (2, 550, 1000)
        assert row["user_running_count"] == 0

    def test_over_the_request(self):
        row = of(self.frame, 4)
        assert (row["user_last_per_request"], row["user_last2_mean_per_request"]) == (0.5, 0.275)
        assert row["user_used_ratio"] == 0.275
        assert row["user_at_limit_ratio"] == 0


def test_hours_and_weekdays_are_the_sites():
    noon_friday_utc = 1_700_222_400
    rows = [job("1", noon_friday_utc, 1, 10)]
    assert {"hour_of_day": 12, "weekday": 5}.items() <= of(features(rows), 1).items()
    tokyo = of(features(rows, "Asia/Tokyo"), 1)
    assert (tokyo["hour_of_day"], tokyo["weekday"]) == (21, 5)


def test_a_time_zone_that_nobody_knows_is_utc():
    """A log's header may name any; the profile says so, and the forecast goes on."""
    rows = [job("1", 1_700_222_400, 1, 10, wait_s=0)]
    assert features(rows, "Nowhere/Else").equals(features(rows))


def test_a_job_that_was_held_knows_nothing_that_came_before_its_release():
    """Held from 0 to 100: in trace order it stands behind a job that was submitted after it."""
    frame = features(
        [
            job("1", 0, 1, 10, eligible_s=100, user="u", queue="q"),
            job("2", 50, 1, 10, user="u", queue="q"),
        ]
    )
    held, later = of(frame, 1), of(frame, 2)
    assert (held["user_since_submission_s"], held["queue_share_ratio"]) == (None, 0)
    assert (later["user_since_submission_s"], later["queue_share_ratio"]) == (50, 1)


def test_a_held_job_without_a_request_takes_none_from_later_jobs():
    """In a replay, which asks at the release, the request of job 2 would stand for it."""
    held = job("1", 0, 1, 10, None, eligible_s=100)
    alone, followed = features([held]), features([held, job("2", 50, 1, 10, 7200)])
    assert of(followed, 1)["limit_s"] == of(alone, 1)["limit_s"] == 86_400


def test_a_later_attempt_is_no_submission_of_its_own():
    """It keeps the submission of the first, and nobody could know of it then."""
    rows = [job("1", 0, 1, 10, user="u"), job("3", 20, 1, 10, user="v"), job("4", 30, 1, 10, user="u")]
    again = job("1", 0, 1, 10, eligible_s=500, user="u", attempt=2, attempt_count=2)
    plain, requeued = features(rows), features([*rows, again])
    assert requeued.filter(attempt=1).equals(plain)
    second = requeued.row(by_predicate=pl.col("attempt") == 2, named=True)
    assert (second["user_share_ratio"], second["user_since_submission_s"]) == (1, None)


def test_a_job_whose_end_is_not_told_runs_until_its_limit():
    rows = [job("1", 0, 1, None, 100, wait_s=0, user="u"), job("2", 99, 1, 5), job("3", 100, 1, 5)]
    frame = features(rows)
    assert [of(frame, i)["running_count"] for i in (2, 3)] == [1, 0]


def test_a_start_before_the_release_does_not_make_the_queue_negative():
    rows = [job("1", 50, 1, 10, wait_s=-20), job("2", 40, 1, 10, wait_s=0), job("3", 45, 1, 10, wait_s=0)]
    validate(JOB_FEATURES, features(rows))


def test_who_is_unknown_has_no_history():
    rows = [job(i, i * 100, 1, 10, wait_s=0, user=None) for i in range(3)]
    row = of(features(rows), 2)
    assert (row["user_count"], row["user_share_ratio"], row["user_since_end_s"]) == (0, None, None)


def test_a_log_without_starts_has_no_history():
    rows = [job(i, i * 100, 1, 10, user="u") for i in range(3)]
    row = of(features(rows), 2)
    assert (row["user_count"], row["queued_count"], row["running_count"]) == (0, 0, 0)
    assert row["user_since_submission_s"] == 100


def test_waiting_and_running_just_before_the_submission():
    frame = features(
        [
            job("1", 0, 4, 100, wait_s=0),  # runs when 4 comes
            job("2", 10, 2, 100, wait_s=90),  # waits when 4 comes
            job("3", 20, 8, 30, wait_s=0),  # has ended when 4 comes
            job("4", 50, 1, 10, wait_s=0),
            job("5", 50, 1, 10),  # no start: not known when it left the queue
        ]
    )
    row = of(frame, 4)
    shown = [row[name] for name in ("queued_count", "queued_procs", "running_count", "running_procs")]
    assert shown == [1, 2, 1, 4]


STARTS = st.sampled_from([None, 0, 0, 1, 5, 40])


@st.composite
def traces(draw, min_size=2, max_size=12):
    """Users, sizes and requests that recur; jobs held, never started, still running, of no runtime."""
    submit_s, rows = 0, []
    for number in range(draw(st.integers(min_size, max_size))):
        submit_s += draw(st.sampled_from([0, 0, 1, 3, 30]))
        hold_s = draw(st.sampled_from([0, 0, 0, 7, 50]))
        rows.append(
            job(
                number,
                submit_s,
                draw(st.sampled_from([1, 1, 2])),
                draw(st.sampled_from([0, 1, 2, 8, 30])),
                draw(st.sampled_from([None, 5, 60])),
                wait_s=draw(STARTS),
                eligible_s=submit_s + hold_s,
                user=draw(st.sampled_from([None, "u", "u", "v"])),
                queue=draw(st.sampled_from([None, "q", "r"])),
                name=draw(st.sampled_from([None, "n"])),
                state=draw(st.sampled_from(["COMPLETED", "COMPLETED", "RUNNING"])),
            )
        )
    return trace(rows)


@given(traces())
@settings(deadline=None, max_examples=50)
def test_every_history_equals_a_naive_recount(jobs):
    """Job by job, with nothing but loops."""
    table = job_features(jobs, None)
    rows = jobs.to_dicts()
    likes = {
        "user": lambda row: row["user"],
        "user_procs": lambda row: row["user"] and (row["user"], row["procs"]),
        "user_request": lambda row: row["user"] and (row["user"], row["requested_runtime_s"]),
        "user_procs_request": lambda row: (
            row["user"] and (row["user"], row["procs"], row["requested_runtime_s"])
        ),
        "user_name": lambda row: row["user"] and row["name"] and (row["user"], row["name"]),
    }
    for found, row in zip(table.to_dicts(), rows, strict=True):
        for prefix, like in likes.items():
            had = sorted(
                (other["end_s"], position, other["runtime_s"])
                for position, other in enumerate(rows)
                if like(row)
                and like(other) == like(row)
                and other["end_s"] is not None
                and other["state"] != "RUNNING"
                and other["end_s"] <= row["submit_s"]
            )
            runtimes = [runtime for _, _, runtime in had]
            expected = {
                "last": runtimes[-1] if runtimes else None,
                "previous": runtimes[-2] if len(runtimes) > 1 else None,
                "last2_mean": sum(runtimes[-2:]) / 2 if len(runtimes) > 1 else None,
                "last5_mean": float(np.mean(runtimes[-5:])) if runtimes else None,
                "median": float(np.median(runtimes)) if runtimes else None,
                "spread": float(np.std(runtimes)) if runtimes else None,
            }
            assert found[f"{prefix}_count"] == len(runtimes)
            for name, value in expected.items():
                same(found[f"{prefix}_{name}_s"], value)
                over = None if value is None else value / found["limit_s"]
                same(found[f"{prefix}_{name}_per_request"], over)


def same(found: float | None, expected: float | None) -> None:
    assert (found is None) == (expected is None)
    if expected is not None:
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)


@given(traces(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=50)
def test_the_order_of_the_rows_changes_nothing(jobs, random):
    order = list(range(jobs.height))
    random.shuffle(order)
    assert job_features(jobs[order], None).equals(job_features(jobs, None))


@given(traces(), traces(min_size=1, max_size=4), st.integers(0, 40))
@settings(deadline=None, max_examples=50)
def test_jobs_that_come_later_change_nothing(jobs, more, gap):
    """Submitted after all others, though some of these are released still later."""
    last = int(jobs["submit_s"].max())
    moved = more.with_columns(
        job_id=pl.lit("later") + pl.col("job_id"),
        **{
            name: pl.col(name) + last + 1 + gap
            for name in ("submit_s", "eligible_s", "release_s", "start_s", "end_s")
        },
    )
    with_them = job_features(pl.concat([jobs, moved]), None)
    assert with_them.filter(~pl.col("job_id").str.starts_with("later")).equals(job_features(jobs, None))


@given(traces(), st.data())
@settings(deadline=None, max_examples=50)
def test_a_runtime_not_yet_known_changes_nothing_before_it_is(jobs, data):
    """Another runtime, another end: no job submitted before either sees a difference."""
    ended = jobs.filter(pl.col("end_s").is_not_null())
    assume(ended.height > 0)
    chosen = data.draw(st.sampled_from(ended.rows(named=True)))
    runtime_s = data.draw(st.integers(0, 60))
    is_it = pl.col("job_id") == chosen["job_id"]
    altered = jobs.with_columns(
        runtime_s=pl.when(is_it).then(runtime_s).otherwise("runtime_s"),
        end_s=pl.when(is_it).then(pl.col("start_s") + runtime_s).otherwise("end_s"),
    )
    known_s = min(chosen["end_s"], chosen["start_s"] + runtime_s)
    before = pl.col("submit_s") < known_s
    assert job_features(altered, None).filter(before).equals(job_features(jobs, None).filter(before))


@given(traces())
@settings(deadline=None, max_examples=50)
def test_the_table_keeps_its_contract(jobs):
    validate(JOB_FEATURES, job_features(jobs, "Europe/Stockholm"))


def test_a_replay_sees_no_state_of_the_recorded_system():
    state = {column.name for column in QUEUE_STATE}
    assert not state & set(FEATURES_OF[Inputs.REPLAY])
    assert set(FEATURES_OF[Inputs.QUEUE_STATE]) - set(FEATURES_OF[Inputs.REPLAY]) == state
    assert {column.name for column in HISTORY} <= set(FEATURES_OF[Inputs.REPLAY])


def test_rows_taken_in_the_order_they_come_in_would_be_noticed(monkeypatch):
    """The law of the rows' order can fail: without trace order, positions decide."""
    import hpcopt_assets.features.trace as room

    monkeypatch.setattr(room, "in_trace_order", lambda jobs: jobs)
    jobs = trace([job(i, 0, 1, 10 + i, wait_s=0, user="u") for i in range(3)] + [job(9, 50, 1, 1, user="u")])
    straight, turned = (job_features(rows, None) for rows in (jobs, jobs[[2, 1, 0, 3]]))
    assert of(straight, 9)["user_count"] == of(turned, 9)["user_count"] == 3
    assert not straight.sort("job_id").equals(turned.sort("job_id"))


@pytest.mark.parametrize("rows", [[], [job("1", 0, 1, 10)]])
def test_small_traces(rows):
    assert features(rows).height == len(rows)
