"""Shapes of functions that one room needs and another has; assets/ and cli.py join them.

In:  nothing.   Out: Protocols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class PriorityReplayer(Protocol):
    """Start (s) of each job under EASY backfilling, where jobs of a lower priority number go first.

    All sequences have one entry per job, in (release, position) order. Within one priority the queue's
    order is that of position. `believed_s` is the requested runtime that the scheduler believes.
    """

    def __call__(
        self,
        *,
        release_s: Sequence[int],
        runtime_s: Sequence[int],
        procs: Sequence[int],
        believed_s: Sequence[int],
        priority: Sequence[int],
        capacity_procs: int,
    ) -> list[int]: ...
