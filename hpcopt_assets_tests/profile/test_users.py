"""How jobs and work are spread over users."""

import pytest
from hypothesis import given, settings

from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.profile.helpers import JOBS, profile, row, value


def test_users_by_hand():
    """Anna has 3 jobs of 10 processor-seconds; Bo has one of 70."""
    jobs = trace([*(job(i, i, 1, 10, user="anna") for i in range(3)), job(9, 9, 7, 10, user="bo")])
    found = profile(jobs)
    assert value(found, "users", "users") == 2
    largest = {of: row(found, "users", "largest_user_share", of) for of in ("jobs", "work")}
    assert [(largest[of]["value"], largest[of]["user"]) for of in largest] == [(0.75, "anna"), (0.7, "bo")]
    assert value(found, "users", "herfindahl", "jobs") == pytest.approx(0.75**2 + 0.25**2)
    assert value(found, "users", "herfindahl", "work") == pytest.approx(0.3**2 + 0.7**2)
    assert value(found, "users", "gini", "jobs") == pytest.approx(0.25)
    assert value(found, "users", "gini", "work") == pytest.approx(0.2)


def test_of_two_equal_users_the_first_to_come_is_named():
    jobs = trace([job(1, 0, 1, 10, user="zoe"), job(2, 0, 1, 10, user="anna")])
    assert row(profile(jobs), "users", "largest_user_share", "jobs")["user"] == "zoe"


def test_unknown_users_belong_to_nobody():
    jobs = trace([job(1, 0, 1, 10, user="anna"), job(2, 0, 1, 990), job(3, 0, 1, 10, user="bo")])
    found = profile(jobs)
    assert value(found, "users", "largest_user_share", "work") == 0.5
    assert row(found, "users", "users")["note"] == "1 of 3 jobs have no known user"


def test_users_without_known_work_count_with_none():
    jobs = trace([job(1, 0, 1, 10, user="anna"), job(2, 0, None, 10, user="bo")])
    assert value(profile(jobs), "users", "gini", "work") == 0.5
    nothing = profile(trace([job(1, 0, None, 10, user="anna")]))
    assert value(nothing, "users", "gini", "jobs") == 0.0
    assert "known size and runtime" in row(nothing, "users", "gini", "work")["note"]


@given(JOBS)
@settings(deadline=None, max_examples=50)
def test_concentration_stays_within_its_bounds(jobs):
    found = profile(jobs)
    n = value(found, "users", "users")
    if n is None:
        assert row(found, "users", "gini")["note"] == "no job has a known user"
        return
    for of in ("jobs", "work"):
        gini, herfindahl = (value(found, "users", measure, of) for measure in ("gini", "herfindahl"))
        if gini is not None:
            assert 0 <= gini < 1
            assert 1 / n <= herfindahl <= 1
            assert herfindahl <= value(found, "users", "largest_user_share", of) * (1 + 1e-12)
