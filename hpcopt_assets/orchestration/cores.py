"""How many cores this process may use.

In:  the operating system.   Out: a number.
"""

from __future__ import annotations

import os


def cores(asked: int | str) -> int:
    """`asked`, or for `all` as many as this process may run on (not as many as there are)."""
    if isinstance(asked, int):
        return asked
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS does not tell
