"""Sentences: how numbers and instants stand in them, and what is said on every verdict.

In:  numbers.   Out: words.
Not here: what the closed vocabularies mean (dossier/words.py).
"""

from __future__ import annotations

from datetime import UTC, datetime

SYNTHETIC = "Synthetic trace: no machine stood behind it."
NOT_MODELLED: tuple[tuple[str, str], ...] = (
    ("Drains and failures", "the machine has all its processors all the time"),
    ("Reservations", "no processors are set aside for anybody in advance"),
    ("Dependencies", "a job is released when the log says, whatever the replay did to the job it waited for"),
    ("Priorities", "no user, group, account or queue goes before another, unless the policy says so"),
    ("Partitions", "all processors are alike and every job may use any of them"),
    ("Node boundaries", "processors are handed out one by one, memory and node sharing are not looked at"),
    ("Reactions of users", "the same jobs arrive at the same time, however long the queue"),
)
# What no replay here has, and what it has instead.
NOT_MODELLED_IN_SHORT = f"Not modelled: {', '.join(lead.lower() for lead, _ in NOT_MODELLED)}."
# Said on every overall verdict that rests on a replay.


def in_figures(value: float | None) -> str:
    """A number: four significant digits, whole and grouped from 1,000 on."""
    if value is None:
        return "unknown"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def plural(value: int, one: str, many: str | None = None) -> str:
    """`1 job`, `2 jobs`, `12,345 jobs`."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def in_utc(at_s: float, pattern: str = "%Y-%m-%d %H:%M:%S UTC") -> str:
    """Seconds since the epoch as a date and time; as they are where no calendar has them."""
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime(pattern)
    except (ValueError, OverflowError):  # beyond the year 9999
        return f"{at_s:.0f} s after 1970"
