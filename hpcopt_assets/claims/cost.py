"""Who pays for a gain: which jobs wait longer under the candidate than under the baseline.

In:  `Difference` of the baseline's and the candidate's schedule.   Out: phrases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from hpcopt_assets.claims.differences import FEW_JOBS, ONE_USER, UNKNOWN_USER, Difference
from hpcopt_assets.contracts.sentences import in_figures, plural

SECONDS_PER_HOUR = 3600
NOTICEABLE_S = 60
# A group whose mean wait grows by less pays nothing that it would notice.


def at_whose_cost(differ: Difference, min_jobs_per_user: int) -> list[str]:
    """Sizes whose jobs wait longer on average, and how many users do; nothing where nobody does.

    Users of fewer than `min_jobs_per_user` jobs, as `differ` has them, are told together, and so are jobs of
    unknown users. No user is named: who reads a recommendation need not know.
    """
    paying = pl.col("mean_gain_s") <= -NOTICEABLE_S
    said = [
        _longer(f"jobs of {row['band']} {'processor' if row['band'] == '1' else 'processors'}", row)
        for row in differ.by_size.filter(paying).iter_rows(named=True)
    ]
    users = differ.by_user.filter(kind=ONE_USER)
    who_pay = users.filter(paying)
    if who_pay.height:
        worst = -float(who_pay["mean_gain_s"].min())  # type: ignore[arg-type]
        said.append(
            f"{who_pay.height:,} of {plural(users.height, 'user')} with {min_jobs_per_user} jobs or more "
            f"wait longer on average, one of them by {_hours(worst)}"
        )
    others = {FEW_JOBS: f"users with fewer than {min_jobs_per_user} jobs", UNKNOWN_USER: "unknown users"}
    for kind, name in others.items():
        rows = differ.by_user.filter(paying, kind=kind)
        said += [_longer(f"jobs of {name}", row) for row in rows.iter_rows(named=True)]
    return said


def _longer(whose: str, row: Mapping[str, Any]) -> str:
    waits = f"wait {_hours(-row['mean_gain_s'])} longer on average"
    return f"{whose} {waits} ({plural(row['jobs_count'], 'job')})"


def _hours(seconds: float) -> str:
    return f"{in_figures(seconds / SECONDS_PER_HOUR)} h"
