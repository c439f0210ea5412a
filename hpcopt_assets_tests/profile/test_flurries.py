"""Bursts of one user: case A6, the definition against a slow twin, and that nothing is removed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.contracts.config import ProfileConfig
from hpcopt_assets.profile.flurries import find_flurries
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.profile.helpers import CONFIG, MONDAY_S, profile, row, value

DAY_S = 86400


def limits(window_s: int, jobs: int, share: float) -> ProfileConfig:
    return CONFIG.model_copy(
        update={"flurry_window_s": window_s, "flurry_min_jobs": jobs, "flurry_min_share": share}
    )


def a6():
    """200 one-processor jobs of user 21 within 10 minutes, among 24 others over two days."""
    others = [job(i, i * 2 * DAY_S // 24, 4, 600, 900, user=str(1 + i % 5)) for i in range(24)]
    burst = [job(1000 + i, DAY_S + 3 * i, 1, 60, 300, user="21") for i in range(200)]
    return trace([*others, *burst])


def test_a6_reports_the_burst_and_leaves_it_in():
    jobs = a6()
    found = profile(jobs)
    assert value(found, "flurries", "flurries") == 1
    burst = row(found, "flurries", "flurry_share", "flurry 1")
    assert burst["user"] == "21"
    assert burst["evidence_count"] == 200
    assert burst["value"] == pytest.approx(200 / 224)
    assert f"{burst['value']:.1%}" == "89.3%"
    assert (burst["start_s"], burst["end_s"]) == (DAY_S, DAY_S + 3 * 199 + 1)
    assert burst["end_s"] - burst["start_s"] <= 600
    assert value(found, "flurries", "flurry_share") == pytest.approx(200 / 224)
    assert value(found, "flurries", "flurry_share_meanwhile", "flurry 1") == pytest.approx(200 / 201)
    assert value(found, "flurries", "flurry_alike_share", "flurry 1") == 1.0
    assert row(found, "sizes", "size", "max")["evidence_count"] == jobs.height == 224


def test_alike_are_jobs_of_one_size_and_request():
    burst = [job(i, i, 1 + (i % 4 == 0), 60, 300, user="u") for i in range(100)]
    found = profile(trace(burst))
    assert value(found, "flurries", "flurry_alike_share", "flurry 1") == 0.75


def test_a_quiet_trace_has_none_and_says_so():
    found = profile(trace([job(i, i * DAY_S, 1, 10, user="u") for i in range(300)]))
    assert value(found, "flurries", "flurries") == 0
    assert value(found, "flurries", "flurry_share") == 0


def test_without_users_nobody_can_have_sent_a_burst():
    found = profile(trace([(i, i, 1, 10) for i in range(300)]))
    assert row(found, "flurries", "flurries")["note"] == "no job has a known user"


def test_jobs_of_unknown_users_count_among_the_others():
    config = limits(10, 3, 0.5)
    submit = np.array([0, 1, 2, 3, 4, 5, 6])
    assert find_flurries(submit, np.array([0, 0, 0, -1, -1, -1, -1]), config) == []
    (found,) = find_flurries(submit, np.array([0, 0, 0, -1, -1, -1, 0]), config)
    assert (found.user, found.jobs.tolist(), found.meanwhile_count) == (0, [0, 1, 2, 6], 7)


def test_bursts_apart_are_two_and_a_long_one_is_one():
    config = limits(100, 3, 0.5)
    submit = np.array([0, 50, 90, 140, 180, 300, 301, 399])
    found = find_flurries(submit, np.zeros(8, dtype=np.int64), config)
    assert [(flurry.start_s, flurry.end_s, flurry.jobs.size) for flurry in found] == [
        (0, 181, 5),
        (300, 400, 3),
    ]


def test_a_window_is_half_open():
    config = limits(100, 3, 0.5)
    user = np.zeros(3, dtype=np.int64)
    assert find_flurries(np.array([0, 50, 100]), user, config) == []
    assert len(find_flurries(np.array([0, 50, 99]), user, config)) == 1


SUBMISSIONS = st.lists(st.tuples(st.integers(0, 60), st.integers(-1, 2)), max_size=25)


def slow_flurries(
    submit: list[int], user: list[int], config: ProfileConfig
) -> list[tuple[int, int, int, int]]:
    """The definition read aloud: (start, user, jobs, meanwhile) of each chain of dominated windows."""
    found = []
    for who in sorted({code for code in user if code >= 0}):
        own = sorted((at, i) for i, (at, code) in enumerate(zip(submit, user, strict=True)) if code == who)
        chains: list[set[int]] = []
        for first, (begin, _) in enumerate(own):
            inside = [i for at, i in own[first:] if at < begin + config.flurry_window_s]
            everybody = sum(begin <= at < begin + config.flurry_window_s for at in submit)
            if len(inside) >= max(config.flurry_min_jobs, config.flurry_min_share * everybody):
                touching = [chain for chain in chains if chain & set(inside)]
                chains = [chain for chain in chains if not chain & set(inside)]
                chains.append(set(inside).union(*touching))
        for chain in chains:
            start, last = min(submit[i] for i in chain), max(submit[i] for i in chain)
            found.append((start, who, len(chain), sum(start <= at <= last for at in submit)))
    return sorted(found)


@given(SUBMISSIONS, st.integers(1, 20), st.integers(1, 4), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_the_fast_search_finds_what_the_definition_says(jobs, window_s: int, min_jobs: int, min_share: float):
    submit, user = ([item[i] for item in jobs] for i in (0, 1))
    config = limits(window_s, min_jobs, min_share)
    found = find_flurries(np.array(submit, dtype=np.int64), np.array(user, dtype=np.int64), config)
    assert [
        (flurry.start_s, flurry.user, flurry.jobs.size, flurry.meanwhile_count) for flurry in found
    ] == slow_flurries(submit, user, config)
    for flurry in found:
        assert {user[i] for i in flurry.jobs} == {flurry.user}
        assert (flurry.start_s, flurry.end_s - 1) == (submit[flurry.jobs[0]], submit[flurry.jobs[-1]])


def test_flurries_are_numbered_by_their_start():
    late = [job(i, MONDAY_S + 5 * DAY_S + i, 1, 10, user="a") for i in range(100)]
    early = [job(1000 + i, MONDAY_S + i, 1, 10, user="z") for i in range(100)]
    found = profile(trace([*late, *early])).filter(measure="flurry_share")
    assert found["user"].to_list() == [None, "z", "a"]
    assert found["position"].to_list() == [1, 2, 3]
