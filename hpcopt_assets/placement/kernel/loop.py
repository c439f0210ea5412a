"""The entry points that Python calls: one attempt after the other, or one at a time, or many draws of one.

In:  a cluster, jobs and uplink failures in order.   Out: filled rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit

from hpcopt_assets.placement.kernel.attempt import NONE, decide, place
from hpcopt_assets.placement.kernel.events import advance
from hpcopt_assets.placement.kernel.snapshots import hidden_features, observe
from hpcopt_assets.placement.kernel.state import Array, Cluster, Rows, compiled


@compiled
def look_at(c: Cluster, jobs: Array, faults: Array, attempt: int, rows: Rows, row: int) -> int:
    """Come to an attempt, write its row (if `row` is one) and decide; the plan is left in the cluster."""
    job = jobs[attempt]
    advance(c, faults, job.at_s)
    if row < 0:
        cause, _ = decide(c, job.servers, job.gpus)
        return int(cause)
    out = rows.records[row]
    observe(c, rows, row)
    if rows.hidden.shape[1]:
        hidden_features(c, job.servers, job.gpus, rows.hidden[row])
    out.attempt, out.requested_servers, out.requested_gpus = attempt, job.servers, job.gpus
    out.cause, out.matching_cause = decide(c, job.servers, job.gpus)
    return int(out.cause)


@compiled
def take_visible(c: Cluster, rows: Rows, row: int) -> None:
    """Free servers and budgets of the cluster as a row shows them."""
    facts, total = c.facts[0], 0
    for su in range(facts.sus):
        c.free_in[su] = 0
        for server in range(facts.servers_per_su):
            c.free_in[su] += 1 - rows.server_bitmap[row, su * facts.servers_per_su + server]
        total += c.free_in[su]
    facts.free = total
    for rail in range(facts.rails):
        for plane in range(facts.planes):
            c.budget[rail, plane] = rows.budget_remaining[row, rail * facts.planes + plane]


@compiled
def draw_planes(c: Cluster, leaf_utilization: Array, subsets: Array, many: Array, rng: Any) -> None:
    """Free planes of each leaf, as many as are visible, all subsets of that size equally likely."""
    facts = c.facts[0]
    for su in range(facts.sus):
        for rail in range(facts.rails):
            size = round((1.0 - leaf_utilization[su * facts.rails + rail]) * facts.planes)
            c.free_planes[rail, su] = subsets[size, int(rng.random() * many[size])]


class Entries(NamedTuple):
    """All attempts; one attempt; placing it; a decision without an attempt; the share of draws that fail."""

    run: Any
    look: Any
    place: Any
    decide: Any
    draw: Any


def compile_entries(version: str) -> Entries:
    """The entry points. Their caches on disk are looked up by what they close over: by `version`, too."""

    @njit(cache=True)
    def run(c: Cluster, jobs: Array, faults: Array, skipped: int, rows: Rows) -> int:
        """Attempt every job; rows are written of all but the first `skipped`."""
        for attempt in range(jobs.size):
            if look_at(c, jobs, faults, attempt, rows, attempt - skipped) == NONE:
                place(c, jobs[attempt].gpus, jobs[attempt].at_s + jobs[attempt].duration_s)
        return len(version)

    @njit(cache=True)
    def look(c: Cluster, jobs: Array, faults: Array, attempt: int, rows: Rows) -> int:
        """One attempt's row, in `rows` 0, and its cause."""
        return int(look_at(c, jobs, faults, attempt, rows, 0)) + 0 * len(version)

    @njit(cache=True)
    def place_last(c: Cluster, job: Any) -> int:
        """Place the job last looked at, which can be."""
        place(c, job.gpus, job.at_s + job.duration_s)
        return len(version)

    @njit(cache=True)
    def decide_only(c: Cluster, servers: int, gpus: int) -> tuple[int, int]:
        """Cause and cause of matching; the plan is left in the cluster."""
        cause, matching_cause = decide(c, servers, gpus)
        return cause + 0 * len(version), matching_cause

    @njit(cache=True)
    def draw(c: Cluster, rows: Rows, subsets: Array, many: Array, draws: int, rng: Any, failed: Array) -> int:
        """Share of draws in which a row's job cannot be placed, each decided exactly: `failed` (rows).

        Planes of each leaf are drawn from the subsets that are as large as its visible count; there are no
        idle circuits. `subsets[m, :many[m]]` are the bits of those of size m.
        """
        for row in range(failed.size):
            out, fails = rows.records[row], 0
            take_visible(c, rows, row)
            for _ in range(draws):
                draw_planes(c, rows.leaf_utilization[row], subsets, many, rng)
                fails += decide(c, out.requested_servers, out.requested_gpus)[0] != NONE
            failed[row] = fails / draws
        return len(version)

    return Entries(run, look, place_last, decide_only, draw)
