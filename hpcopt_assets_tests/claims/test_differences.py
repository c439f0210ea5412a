"""What differs between two schedules, by hand."""

import polars as pl
import pytest

from hpcopt_assets.claims.differences import what_differs
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE


def schedule(*rows: tuple[str, int, int | None, int, int, str]) -> pl.DataFrame:
    """(id, release, start, runtime, procs, user)."""
    columns = [
        {
            "trace_id": "made",
            "policy": "p",
            "job_id": name,
            "attempt": 1,
            "submit_s": release,
            "release_s": release,
            "start_s": start,
            "end_s": None if start is None else start + runtime,
            "wait_s": None if start is None else start - release,
            "runtime_s": runtime,
            "procs": procs,
            "user": user,
            "left_out": "never_started" if start is None else None,
        }
        for name, release, start, runtime, procs, user in rows
    ]
    return pl.DataFrame(columns, schema=REPLAY_SCHEDULE.polars_schema())


FIRST = schedule(("1", 0, 0, 100, 2, "u"), ("2", 10, 100, 50, 2, "v"), ("3", 20, 150, 10, 1, "v"))
SECOND = schedule(("1", 0, 0, 100, 2, "u"), ("2", 10, 110, 50, 2, "v"), ("3", 20, 100, 10, 1, "v"))


def test_the_first_divergence_and_what_was_there():
    found = what_differs(FIRST, SECOND, tau_s=10)
    assert (found.jobs_count, found.same_starts_ratio, found.at_s) == (3, pytest.approx(1 / 3), 100)
    assert (found.first.started, found.second.started) == (("2",), ("3",))
    assert (found.first.queued_count, found.first.queued_procs, found.first.running_count) == (2, 3, 0)


def test_who_is_helped_and_who_is_hurt():
    found = what_differs(FIRST, SECOND, tau_s=10)
    assert found.helped.select("job_id", "gain_s", "gain_bsld").rows() == [("3", 50, 5.0)]
    assert found.hurt.select("job_id", "gain_s").rows() == [("2", -10)]
    assert found.by_user.select("user", "jobs_count", "helped_count", "hurt_count", "mean_gain_s").rows() == [
        ("v", 2, 1, 1, 20.0),
        ("u", 1, 0, 0, 0.0),
    ]
    assert found.by_size["log2_procs"].to_list() == [0, 1]


def test_the_same_schedule_has_no_divergence():
    found = what_differs(FIRST, FIRST, tau_s=10)
    assert (found.at_s, found.first, found.same_starts_ratio) == (None, None, 1.0)
    assert found.helped.is_empty()


def test_jobs_that_one_lacks_do_not_count():
    lacks = schedule(("1", 0, 0, 100, 2, "u"), ("2", 10, None, 50, 2, "v"))
    assert what_differs(FIRST, lacks, tau_s=10).jobs_count == 1
    with pytest.raises(InputError, match="no job that ran under both"):
        what_differs(FIRST, schedule(("9", 0, 0, 1, 1, "u")), tau_s=10)
