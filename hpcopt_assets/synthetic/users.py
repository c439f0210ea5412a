"""Users: who submits the model's jobs, in which order, and what runtime they ask for.

In:  `UserHabits`, the model's sizes and runtimes, a numpy generator.   Out: jobs in order, users, requests.
Not here: any change of a size or runtime: the model's distributions stay exactly as drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcopt_assets.contracts.synthetic_config import UserHabits
from hpcopt_assets.measures.schedule import IntArray

Rng = np.random.Generator


@dataclass(frozen=True)
class Submissions:
    """For each arrival in time order: the drawn job that arrives, its user (from 1), its session (from 0).

    Applications count from 1 through all users: no two users share one.
    """

    job: IntArray
    user: IntArray
    session: IntArray
    application: IntArray


def share_out(habits: UserHabits, runtime_s: IntArray, procs: IntArray, rng: Rng) -> Submissions:
    """Give each arrival a user and one of the drawn jobs, so that users repeat themselves.

    Users have Zipf-like shares of the jobs. Each submits in sessions of like jobs; sessions of several users
    interleave. Jobs stand on a line on which neighbours are alike (`_line`), each application of a user has a
    place on it, and the jobs wanted are matched with those there are by rank. Zipf shares and repetition:
    Feitelson, Workload Modeling (2015), chapter 8.
    """
    jobs = runtime_s.size
    share = np.arange(1, habits.users + 1) ** -habits.zipf_exponent
    counts = rng.multinomial(jobs, share / share.sum())
    user = np.repeat(np.arange(habits.users), counts)

    begins = rng.random(jobs) < 1.0 / habits.session_jobs
    begins[np.flatnonzero(np.diff(user, prepend=-1))] = True
    session = np.cumsum(begins) - 1
    sessions = int(session[-1]) + 1

    steps = np.cumsum(rng.exponential(habits.session_stride, jobs))
    since_begin = steps - steps[begins][session]
    order = np.argsort(rng.uniform(0, jobs, sessions)[session] + since_begin, kind="stable")

    places = rng.random((habits.users, habits.applications))
    nth = rng.integers(habits.applications, size=sessions)
    place = places[user[begins], nth]
    application = user[begins] * habits.applications + nth + 1
    wanted = place[session] + rng.normal(0.0, habits.application_spread, jobs)
    job = np.empty(jobs, dtype=np.int64)
    job[np.argsort(wanted, kind="stable")] = _line(runtime_s, procs)
    return Submissions(job[order], user[order] + 1, session[order], application[session][order])


def draw_requests(habits: UserHabits, by: Submissions, runtime_s: IntArray, rng: Rng) -> IntArray:
    """Requested runtime (s) of each arrival: a popular value, at most `overrun_grace_s` below its runtime.

    Each user has favourites among the popular values and a factor of caution. One value is typed for a whole
    session: the first favourite that covers the session's median runtime times the factor. A job that would
    run past it for longer than the grace gets the first popular value that covers it instead. Twenty values
    make up most of a log's requests: Tsafrir, Etsion and Feitelson, JSSPP 2005.
    """
    popular = np.array(habits.popular_requests_s, dtype=np.int64)
    ranks = rng.random((habits.users, popular.size)).argsort(axis=1)
    is_favourite = ranks < habits.favourite_requests
    is_favourite[:, -1] = True
    at = np.where(is_favourite, np.arange(popular.size), popular.size)
    next_favourite = np.minimum.accumulate(at[:, ::-1], axis=1)[:, ::-1]
    caution = np.exp(np.abs(rng.normal(0.0, habits.over_request_sigma, habits.users)))

    by_session = np.lexsort((runtime_s, by.session))
    begin = np.searchsorted(by.session[by_session], np.arange(by.session.max() + 1))
    count = np.diff(begin, append=runtime_s.size)
    median_s = runtime_s[by_session][begin + count // 2][by.session]

    user = by.user - 1
    covers = np.minimum(np.searchsorted(popular, caution[user] * median_s), popular.size - 1)
    typed_s = popular[next_favourite[user, covers]]
    needed_s = popular[np.searchsorted(popular, runtime_s)]
    return np.where(runtime_s <= typed_s + habits.overrun_grace_s, typed_s, needed_s)


def _line(runtime_s: IntArray, procs: IntArray) -> IntArray:
    """Indices of the jobs in an order in which neighbours have like sizes and like runtimes.

    Bands of sizes (whole log2), each run through by runtime, up in one band and down in the next.
    """
    band = np.rint(np.log2(procs)).astype(np.int64)
    return np.lexsort((np.where(band % 2 == 0, runtime_s, -runtime_s), band))
