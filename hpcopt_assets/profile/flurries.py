"""Flurries: bursts of one user that dominate the workload for a while.

In:  submissions with their users, the limits of configs/profile.yaml.   Out: rows of the topic flurries.
Not here: removing them. Reported, they can be judged; a trace without them is another trace.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl

from hpcopt_assets.contracts.config import ProfileConfig
from hpcopt_assets.contracts.vocabulary import ProfileMeasure, ProfileTopic
from hpcopt_assets.measures.schedule import NO_USER, IntArray
from hpcopt_assets.profile.rows import ALL, Row, unknown
from hpcopt_assets.profile.users import NO_USERS, Users

_TOPIC = ProfileTopic.FLURRIES


class Flurry(NamedTuple):
    """One burst: user's code, its jobs (positions in the trace, by submission), and all jobs meanwhile.

    From its first submission to one second after its last.
    """

    user: int
    jobs: IntArray
    start_s: int
    end_s: int
    meanwhile_count: int


def find_flurries(submit_s: IntArray, user: IntArray, config: ProfileConfig) -> list[Flurry]:
    """All flurries, by start. `submit_s` and user's code (-1: unknown) per job, in any order.

    A window of `flurry_window_s` that begins with a job of a user is dominated if the user submits at least
    `flurry_min_jobs` jobs in it, and at least `flurry_min_share` of all. Dominated windows of a user that
    share a job are one flurry. That such bursts exist, of one user and alike jobs: Tsafrir and Feitelson,
    Instability in parallel job scheduling simulation: the role of workload flurries, IPDPS 2006.
    """
    everyone = np.sort(submit_s)
    order = np.lexsort((submit_s, user))
    first = np.flatnonzero(np.diff(user[order], prepend=NO_USER))  # unknown users stand before the first
    found = []
    for a, b in pairwise([*first.tolist(), order.size]):
        if b - a >= config.flurry_min_jobs:
            found += _of_one(order[a:b], submit_s, int(user[order[a]]), everyone, config)
    return sorted(found, key=lambda flurry: (flurry.start_s, flurry.user))


def flurry_rows(jobs: pl.DataFrame, users: Users, config: ProfileConfig) -> list[Row]:
    """Their number; for each its share of all jobs and of those meanwhile, and how alike its jobs are."""
    if not users.names:
        return [unknown(_TOPIC, ProfileMeasure.FLURRIES, NO_USERS)]
    found = find_flurries(jobs["submit_s"].to_numpy(), users.code, config)
    alike = _most_alike(jobs, found)
    total = sum(flurry.jobs.size for flurry in found)
    rows = [
        Row(_TOPIC, ProfileMeasure.FLURRIES, ALL, len(found), jobs.height),
        Row(_TOPIC, ProfileMeasure.FLURRY_SHARE, ALL, total / jobs.height, total),
    ]
    for number, flurry in enumerate(found, start=1):
        count = flurry.jobs.size
        for measure, value in (
            (ProfileMeasure.FLURRY_SHARE, count / jobs.height),
            (ProfileMeasure.FLURRY_SHARE_MEANWHILE, count / flurry.meanwhile_count),
            (ProfileMeasure.FLURRY_ALIKE_SHARE, alike[number - 1] / count),
        ):
            row = Row(_TOPIC, measure, f"flurry {number}", value, count)
            rows.append(
                row._replace(user=users.names[flurry.user], start_s=flurry.start_s, end_s=flurry.end_s)
            )
    return rows


def _of_one(
    own: IntArray, submit_s: IntArray, user: int, everyone: IntArray, config: ProfileConfig
) -> list[Flurry]:
    """The flurries of one user; `own` are the positions of their jobs by submission."""
    at = submit_s[own]
    until = at + config.flurry_window_s
    beyond = np.searchsorted(at, until)
    mine = beyond - np.arange(at.size)
    all_jobs = np.searchsorted(everyone, until) - np.searchsorted(everyone, at)
    begins = np.flatnonzero((mine >= config.flurry_min_jobs) & (mine >= config.flurry_min_share * all_jobs))
    if begins.size == 0:
        return []
    beyond = beyond[begins]  # ascending, as windows of one length are
    parted = np.flatnonzero(begins[1:] >= beyond[:-1]) + 1
    return [
        _flurry(own[begins[window[0]] : beyond[window[-1]]], submit_s, user, everyone)
        for window in np.split(np.arange(begins.size), parted)
    ]


def _flurry(own: IntArray, submit_s: IntArray, user: int, everyone: IntArray) -> Flurry:
    start_s, end_s = int(submit_s[own[0]]), int(submit_s[own[-1]]) + 1
    meanwhile = np.searchsorted(everyone, end_s) - np.searchsorted(everyone, start_s)
    return Flurry(user, own, start_s, end_s, int(meanwhile))


def _most_alike(jobs: pl.DataFrame, flurries: list[Flurry]) -> list[int]:
    """For each flurry, how many of its jobs have its most common size and request."""
    if not flurries:
        return []
    of = np.concatenate([np.full(flurry.jobs.size, i) for i, flurry in enumerate(flurries)])
    kinds = jobs.select("procs", "requested_runtime_s")[np.concatenate([flurry.jobs for flurry in flurries])]
    counts = kinds.with_columns(flurry=of).group_by("flurry", "procs", "requested_runtime_s").len()
    return counts.group_by("flurry").agg(pl.col("len").max()).sort("flurry")["len"].to_list()
