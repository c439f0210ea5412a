"""Users: Zipf-like shares, likeness within a session, and requests that people type."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.contracts.synthetic_config import SyntheticConfig
from hpcopt_assets.synthetic.users import Submissions, draw_requests, share_out
from hpcopt_assets.synthetic.workload import Workload, make_workload


@pytest.fixture(scope="module")
def drawn(config: SyntheticConfig) -> Workload:
    return make_workload(
        config.model,
        config.users,
        jobs=60_000,
        capacity_procs=128,
        offered_load=0.75,
        unix_start_s=0,
        seed=11,
    )


def test_users_have_zipf_shares(config: SyntheticConfig, drawn: Workload) -> None:
    counts = np.sort(np.bincount(drawn.user)[1:])[::-1]
    slope = np.polyfit(np.log(np.arange(1, counts.size + 1)), np.log(counts), 1)[0]
    assert counts.size == config.users.users
    assert slope == pytest.approx(-config.users.zipf_exponent, abs=0.05)


def test_sessions_are_of_like_jobs_of_one_user(config: SyntheticConfig, drawn: Workload) -> None:
    by = share_out(config.users, drawn.runtime_s, drawn.procs, np.random.default_rng(0))
    assert sorted(by.job.tolist()) == list(range(len(drawn)))
    sizes = np.bincount(by.session)
    assert sizes.mean() == pytest.approx(config.users.session_jobs, rel=0.05)

    users = [np.unique(by.user[by.session == session]).size for session in range(50)]
    assert set(users) == {1}
    log_runtime = np.log(drawn.runtime_s[by.job])
    means = np.bincount(by.session, log_runtime) / sizes
    within = np.mean((log_runtime - means[by.session]) ** 2)
    assert within < 0.3 * log_runtime.var()


def test_a_session_runs_one_application_of_its_user(config: SyntheticConfig, drawn: Workload) -> None:
    """Which no other user has, and which the user comes back to."""
    by = share_out(config.users, drawn.runtime_s, drawn.procs, np.random.default_rng(0))
    pairs = np.unique(np.stack([by.session, by.user, by.application]), axis=1)
    assert pairs.shape[1] == by.session.max() + 1
    each = config.users.applications
    assert ((by.application - 1) // each + 1).tolist() == by.user.tolist()
    assert np.unique(by.application).tolist() == list(range(1, config.users.users * each + 1))


def test_sessions_of_several_users_interleave(config: SyntheticConfig, drawn: Workload) -> None:
    by = share_out(config.users, drawn.runtime_s, drawn.procs, np.random.default_rng(0))
    is_next = np.diff(by.session) == 0
    assert 0.05 < is_next.mean() < 0.6


def test_requests_are_popular_values(config: SyntheticConfig, drawn: Workload) -> None:
    values, counts = np.unique(drawn.requested_s, return_counts=True)
    assert set(values) <= set(config.users.popular_requests_s)
    assert np.sort(counts)[::-1][:5].sum() > 0.6 * len(drawn)
    # Few values make up most of a log's requests.


def test_only_few_jobs_outlive_their_request(config: SyntheticConfig, drawn: Workload) -> None:
    over_s = (drawn.runtime_s - drawn.requested_s)[drawn.is_over_request]
    assert over_s.max() <= config.users.overrun_grace_s
    assert 0.001 < over_s.size / len(drawn) < 0.03


def test_caution_raises_requests(config: SyntheticConfig, drawn: Workload) -> None:
    """With the same favourites, a wider spread of caution asks for more or the same, never less."""
    by = share_out(config.users, drawn.runtime_s, drawn.procs, np.random.default_rng(0))
    exact_s, cautious_s = (
        draw_requests(
            config.users.model_copy(update={"over_request_sigma": sigma, "overrun_grace_s": 0}),
            by,
            drawn.runtime_s[by.job],
            np.random.default_rng(0),
        )
        for sigma in (1e-6, 1.0)
    )
    assert np.all(cautious_s >= exact_s)
    assert np.mean(cautious_s > exact_s) > 0.2


@given(
    jobs=st.lists(st.tuples(st.integers(1, 162_754), st.integers(1, 5)), min_size=1, max_size=40),
    grace_s=st.integers(0, 900),
)
def test_every_request_covers_its_job_up_to_the_grace(
    config: SyntheticConfig, jobs: list[tuple[int, int]], grace_s: int
) -> None:
    runtime_s, user = np.array(jobs, dtype=np.int64).T
    order = np.argsort(user, kind="stable")
    runtime_s, user = runtime_s[order], user[order]
    session = np.unique(user, return_inverse=True)[1]
    habits = config.users.model_copy(update={"overrun_grace_s": grace_s})
    by = Submissions(np.arange(user.size), user, session, user)
    requested_s = draw_requests(habits, by, runtime_s, np.random.default_rng(0))
    assert set(requested_s) <= set(habits.popular_requests_s)
    assert np.all(runtime_s <= requested_s + grace_s)
