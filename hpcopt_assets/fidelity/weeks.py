"""The weeks in which a replay departs most from the record.

In:  the same jobs as observed and as replayed, the machine's time zone.   Out: a sentence.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.fidelity.compared import Compared
from hpcopt_assets.measures.calendar import Zone, date_name, mondays
from hpcopt_assets.measures.load import SECONDS_PER_HOUR

WEEKS_NAMED = 5
ENOUGH = 0.5
# Of all difference: then no further week is named.


def worst_weeks(compared: Compared, zone: Zone) -> str:
    """The weeks, worst first, whose jobs hold half of all absolute difference of waits, five at the most.

    A week is that of a job's release and begins on a Monday at local midnight.
    """
    seen, other = (schedule.wait_s.astype(np.float64) for schedule in (compared.observed, compared.replayed))
    difference = np.abs(other - seen)
    if not difference.any():
        return "No wait differs."
    monday, week = np.unique(mondays(compared.observed.release_s, zone), return_inverse=True)
    jobs = np.bincount(week)
    share = np.bincount(week, weights=difference) / difference.sum()
    hours = [np.bincount(week, weights=wait_s) / jobs / SECONDS_PER_HOUR for wait_s in (seen, other)]
    worst = np.argsort(-share, kind="stable")
    needed = int(np.searchsorted(np.cumsum(share[worst]), ENOUGH)) + 1
    named = worst[: min(needed, WEEKS_NAMED)]
    told = "; ".join(
        f"{date_name(int(monday[at]))} ({plural(int(jobs[at]), 'job')}, {hours[0][at]:,.2f} h observed and "
        f"{hours[1][at]:,.2f} h replayed on average)"
        for at in named
    )
    return (
        f"Waits differ most for jobs released in the week{'s' if named.size > 1 else ''} from {told}: "
        f"{share[named].sum():.0%} of all difference."
    )
