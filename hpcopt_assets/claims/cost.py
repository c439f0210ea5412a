"""Who pays for a gain: which jobs wait longer under the candidate than under the baseline.

In:  `Difference` of the baseline's and the candidate's schedule.   Out: phrases.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.claims.differences import ONE_USER, Difference
from hpcopt_assets.contracts.sentences import in_figures, plural

SECONDS_PER_HOUR = 3600
NOTICEABLE_S = 60
# A group whose mean wait grows by less pays nothing that it would notice.


def at_whose_cost(differ: Difference) -> list[str]:
    """Sizes whose jobs wait longer on average, and how many users do; nothing where nobody does.

    No user is named: who reads a recommendation need not know.
    """
    said = [
        f"jobs of {row['band']} processors wait {_hours(-row['mean_gain_s'])} longer on average "
        f"({plural(row['jobs_count'], 'job')})"
        for row in differ.by_size.iter_rows(named=True)
        if row["mean_gain_s"] <= -NOTICEABLE_S
    ]
    users = differ.by_user.filter(kind=ONE_USER)
    paying = users.filter(pl.col("mean_gain_s") <= -NOTICEABLE_S)
    if paying.height:
        worst = -float(paying["mean_gain_s"].min())  # type: ignore[arg-type]
        said.append(
            f"{paying.height:,} of {plural(users.height, 'user')} wait longer on average, one of them by "
            f"{_hours(worst)}"
        )
    return said


def _hours(seconds: float) -> str:
    return f"{in_figures(seconds / SECONDS_PER_HOUR)} h"
