"""What the cluster is like: arrays that say who has which server, uplink and circuit, and what is left.

In:  nothing.   Out: `Cluster`, which gathers them, record types, and `compiled`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]
compiled: Any = njit
NOBODY = -1
# No job has the server; no circuit is on the uplink.

FACTS = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("sus", "servers_per_su", "rails", "planes", "per_interval", "interval_s", "allocation"),
            *("now_s", "interval", "next_fault", "free", "failed", "taken", "running"),
            *("circuits_in_use", "circuits_idle", "made_sum_s", "made", "size", "visited"),
        )
    ]
)
# The first seven never change. `taken`: uplinks in use or failed. `made_sum_s`: sum of the instants at which
# the circuits in place were made; `made`: circuits made in this interval. `size`: SUs of the last plan.
SNAPSHOT = np.dtype(
    [
        *((name, np.int64) for name in ("attempt", "at_s", "requested_servers", "requested_gpus")),
        *((name, np.int64) for name in ("free_servers", "max_free_servers")),
        ("mean_free_servers", np.float64),
        ("sus_with_room", np.int64),
        *((name, np.float64) for name in ("fragmentation_ratio", "uplinks_used_ratio")),
        *((name, np.float64) for name in ("uplinks_failed_ratio", "leaf_entropy_bits")),
        *((name, np.int64) for name in ("jobs_running_count", "circuits_in_use_count")),
        ("circuits_idle_count", np.int64),
        ("circuit_age_mean_s", np.float64),
        ("circuits_made_count", np.int64),
        ("interval_phase_ratio", np.float64),
        *((name, np.int64) for name in ("cause", "matching_cause")),
    ]
)
# One attempt: what was asked for, the state before the decision, and the decision.


class Cluster(NamedTuple):
    """All arrays of a cluster of S SUs, L rails and P planes, with room for J running jobs.

    facts (1) FACTS; owner (S, servers): running job's slot; free_in (S); partner, used, failed, made_s
    (L, P, S): the SU at the other end, whether a job has it, whether the uplink failed, when the circuit was
    made; free_planes (L, S): bits; budget (L, P). Of running jobs, by slot: end_s (J), size (J), gpus (J),
    ring (J, S), planes (J, L, S); queue (J): slots by ascending end, vacant: slots that are free.
    plan_*: the decision last made. togo, dead: room for the search (rings.py). orders: codes.
    """

    facts: Array
    owner: Array
    free_in: Array
    partner: Array
    used: Array
    failed: Array
    made_s: Array
    free_planes: Array
    budget: Array
    end_s: Array
    size: Array
    gpus: Array
    ring: Array
    planes: Array
    queue: Array
    vacant: Array
    plan_sus: Array
    plan_take: Array
    plan_ring: Array
    plan_planes: Array
    allowed: Array
    idle: Array
    left: Array
    togo: Array
    dead: Array
    orders: Array


class Rows(NamedTuple):
    """Where snapshots go, a row each: records, bits of servers, shares of leaves, budgets, what is hidden."""

    records: Array
    server_bitmap: Array
    leaf_utilization: Array
    budget_remaining: Array
    hidden: Array
    # What no scheduler sees: features of planes, and none where the array has no columns.
