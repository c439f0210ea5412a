"""What differs between two schedules, by hand.

Broken on purpose, and who noticed: the first schedule's runtime in both slowdowns; jobs joined without their
attempt; jobs of one alone left uncounted; unknown users among those with few jobs.
"""

import polars as pl
import pytest

from hpcopt_assets.claims.differences import Difference, what_differs
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import MEASURES, replay_of

JOBS = trace(
    [
        job(1, 0, 2, 100, user="u"),
        job(2, 10, 2, 50, user="v"),
        job(3, 20, 1, 10, user="v"),
    ]
)
FIRST, SECOND = replay_of(JOBS, [0, 100, 150], "p"), replay_of(JOBS, [0, 110, 100], "q")

BEFORE = pl.when(pl.col("start_s").is_null()).then(pl.lit("before_window"))


def differ(first: pl.DataFrame, second: pl.DataFrame, min_jobs: int = 1) -> Difference:
    config = MEASURES.model_copy(update={"min_jobs_per_user": min_jobs})
    return what_differs(first, second, capacity=Capacity(2), config=config, procs_bands=(1, 8))


def test_the_first_divergence_and_what_was_there():
    found = differ(FIRST, SECOND)
    assert (found.jobs_count, found.same_starts_ratio) == (3, pytest.approx(1 / 3))
    parting = found.parting
    assert parting is not None
    assert (parting.at_s, parting.same_before_count) == (100, 1)
    assert parting.started.select("place", "job_id", "first_start_s", "second_start_s").rows() == [
        (1, "2", 100, 110),
        (2, "3", 150, 100),
    ]
    assert (parting.queued_count, parting.queued_procs) == (2, 3)
    assert (parting.first.free_procs, parting.first.running_count) == (2, 0)
    assert parting.account.filter(pl.col("at_s") <= 110).rows() == [
        (100, "ended", "1", 1, 2, True, True, 0, 1),
        (100, "started", "2", 1, 2, True, False, 0, 1),
        (100, "started", "3", 1, 1, False, True, 0, 1),
        (110, "ended", "3", 1, 1, False, True, 0, 0),
        (110, "started", "2", 1, 2, False, True, 0, 0),
    ]


def test_who_is_helped_and_who_is_hurt():
    found = differ(FIRST, SECOND)
    columns = ("job_id", "first_wait_s", "second_wait_s", "gain_s", "first_bsld", "second_bsld", "gain_bsld")
    assert found.helped.select(columns).rows() == [("3", 130, 80, 50, 14.0, 9.0, 5.0)]
    assert found.hurt.select("job_id", "gain_s").rows() == [("2", -10)]
    assert found.by_user.rows() == [
        ("user", "v", 1, 2, 1, 1, 20.0, pytest.approx((5 - 0.2) / 2)),
        ("user", "u", 1, 1, 0, 0, 0.0, 0.0),
    ]
    assert found.by_size.select("band", "jobs_count", "mean_gain_s").rows() == [
        ("1", 1, 50.0),
        ("2-8", 2, -5.0),
    ]


def test_users_with_few_jobs_are_one_group_and_unknown_users_another():
    jobs = trace(
        [job(i, i, 1, 10, user=user) for i, user in enumerate(["u", "u", "v", "w", None, None, None])]
    )
    first, second = replay_of(jobs, [10] * 7), replay_of(jobs, [10, 10, 12, 14, 10, 10, 40])
    found = differ(first, second, min_jobs=2)
    columns = ("kind", "user", "users_count", "jobs_count", "hurt_count", "mean_gain_s")
    assert found.by_user.select(columns).rows() == [
        ("user", "u", 1, 2, 0, 0.0),
        ("few_jobs", None, 2, 2, 2, -3.0),
        ("unknown_user", None, 0, 3, 1, -10.0),
    ]


def test_the_same_schedule_has_no_divergence_whatever_the_order_of_its_rows():
    found = differ(FIRST, FIRST.reverse())
    assert (found.parting, found.same_starts_ratio) == (None, 1.0)
    assert found.helped.is_empty()
    assert found.hurt.is_empty()
    turned = differ(FIRST.reverse(), SECOND.reverse())
    assert turned.by_user.equals(differ(FIRST, SECOND).by_user)
    assert turned.parting is not None
    assert turned.parting.started["job_id"].to_list() == ["2", "3"]


def test_jobs_that_one_lacks_are_counted_and_part_the_schedules():
    never = replay_of(JOBS, [0, 100, None])
    found = differ(FIRST, never)
    assert (found.jobs_count, found.same_starts_ratio, found.neither_count) == (2, 1.0, 0)
    assert (found.only_first, found.only_second) == ({"never_started": 1}, {})
    assert found.parting is not None
    assert (found.parting.at_s, found.parting.started["second_start_s"].to_list()) == (150, [None])
    assert differ(FIRST, FIRST.filter(pl.col("job_id") != "3")).only_first == {"absent": 1}
    assert differ(never, never).neither_count == 1


def test_attempts_of_one_id_are_jobs_of_their_own():
    jobs = trace([job(7, 0, 1, 10, attempt=1, user="u"), job(7, 5, 1, 10, attempt=2, user="u")])
    found = differ(replay_of(jobs, [0, 30]), replay_of(jobs, [0, 5]))
    assert found.jobs_count == 2
    assert found.helped.select("job_id", "attempt", "gain_s").rows() == [("7", 2, 25)]


def test_a_job_that_is_killed_under_one_has_its_own_runtime_there():
    jobs = trace([job(1, 0, 1, 400)])
    killed = trace([job(1, 0, 1, 100)])
    found = differ(replay_of(jobs, [100]), replay_of(killed, [50]))
    assert found.helped.select("gain_s", "first_bsld", "second_bsld").rows() == [(50, 1.25, 1.5)]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (replay_of(trace([job(9, 0, 1, 1)]), [0]), "no job that ran under both"),
        (replay_of(JOBS, [None] * 3), "no job that ran under both"),
        (FIRST.clear(), "no job that ran under both"),
        (SECOND.with_columns(trace_id=pl.lit("other")), "schedules of made and other"),
        (SECOND.with_columns(pl.col("release_s") - 1), "job 1 with release_s 0 in one and -1"),
        (
            replay_of(JOBS, [None, 110, 100]).with_columns(left_out=BEFORE),
            "when a window of the record began",
        ),
        (SECOND.with_columns(pl.col("procs") + 1), "job 1 with procs 2 in one and 3"),
    ],
)
def test_schedules_that_are_not_of_the_same_jobs_are_refused(second: pl.DataFrame, words: str):
    with pytest.raises(InputError, match=words):
        differ(FIRST, second)
