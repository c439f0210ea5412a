"""Shapes of functions that one room needs and another has; assets/ and cli.py join them.

In:  nothing.   Out: Protocols.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.adapter import AdapterDecision

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


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


class SeededReplays(Protocol):
    """Replays of a part of the record, [since_s, until_s), from what ran and waited when it began.

    Gives the `replay_schedule` of each policy, by its id, of the jobs released in it. Raises `EvidenceError`
    where what ran exceeds the machine.
    """

    def __call__(self, since_s: int, until_s: int, /) -> Mapping[str, pl.DataFrame]: ...


class Decide(Protocol):
    """An external policy: asked at every scheduling pass of a replay, answers what starts now.

    The snapshot is a plain mapping of JSON values, made anew for every pass, after
    schemas/adapter_snapshot.json; so is the answer, after schemas/adapter_decision.json, or it is the model.
    """

    def __call__(self, snapshot: dict[str, Any], /) -> dict[str, Any] | AdapterDecision: ...
