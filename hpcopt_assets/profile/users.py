"""Users: how many there are, and how unevenly jobs and work are spread over them.

In:  each job's work and its user's code.   Out: rows of the topic users.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from hpcopt_assets.contracts.vocabulary import ProfileMeasure, ProfileTopic
from hpcopt_assets.measures.fairness import total_by_user
from hpcopt_assets.measures.inequality import gini, herfindahl, largest_share
from hpcopt_assets.measures.schedule import NO_USER, FloatArray, IntArray
from hpcopt_assets.profile.jobs import WORK
from hpcopt_assets.profile.rows import ALL, Row, unknown

NO_USERS = "no job has a known user"
_TOPIC = ProfileTopic.USERS


class Users(NamedTuple):
    """The known users in alphabetical order, and for each job the position of its user, -1 where unknown."""

    names: list[str]
    code: IntArray


def users_of(jobs: pl.DataFrame) -> Users:
    """The users of a trace."""
    names = jobs["user"].unique().drop_nulls().sort()
    places = pl.DataFrame({"user": names, "code": np.arange(names.len(), dtype=np.int64)})
    codes = jobs.select("user").join(places, on="user", how="left", maintain_order="left")["code"]
    return Users(names.to_list(), codes.fill_null(NO_USER).to_numpy())


def user_rows(jobs: pl.DataFrame, users: Users) -> list[Row]:
    """Number of users, share of the largest, concentration; of jobs and of work.

    A user none of whose jobs has a known size and runtime counts with no work.
    """
    known = int((users.code != NO_USER).sum())
    if known == 0:
        return [unknown(_TOPIC, measure, NO_USERS) for measure in (ProfileMeasure.USERS, *_MEASURES)]
    nameless = jobs.height - known
    note = f"{nameless} of {jobs.height} jobs have no known user" if nameless else None
    work = jobs.select(WORK.fill_null(0.0)).to_series().to_numpy()
    totals = {
        "jobs": total_by_user(np.ones(jobs.height), users.code),
        "work": total_by_user(work, users.code),
    }
    return [
        Row(_TOPIC, ProfileMeasure.USERS, ALL, len(users.names), known, note),
        *(
            _concentration(measure, of, held, users.names)
            for measure in _MEASURES
            for of, held in totals.items()
        ),
    ]


_MEASURES = {
    ProfileMeasure.LARGEST_USER_SHARE: largest_share,
    ProfileMeasure.HERFINDAHL: herfindahl,
    ProfileMeasure.GINI: gini,
}


def _concentration(measure: ProfileMeasure, of: str, held: FloatArray, names: list[str]) -> Row:
    value = _MEASURES[measure](held)
    if value is None:
        return Row(
            _TOPIC, measure, of, None, held.size, "no job of a known user has a known size and runtime"
        )
    is_about_one = measure is ProfileMeasure.LARGEST_USER_SHARE
    return Row(
        _TOPIC, measure, of, value, held.size, user=names[int(held.argmax())] if is_about_one else None
    )
