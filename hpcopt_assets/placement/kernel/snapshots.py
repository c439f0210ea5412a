"""A snapshot: what can be seen of the cluster before a decision, and what cannot.

In:  the cluster, a job.   Out: one row of `Rows`.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.placement.kernel.allocation import allocate, arrange
from hpcopt_assets.placement.kernel.attempt import bits, edges_of, lay_edges
from hpcopt_assets.placement.kernel.state import NOBODY, Array, Cluster, Rows, compiled


@compiled
def observe(c: Cluster, rows: Rows, row: int) -> None:
    """Fill a row with all that is visible of the state; the job's own columns are the caller's."""
    facts, out = c.facts[0], rows.records[row]
    out.at_s = facts.now_s
    out.free_servers = facts.free
    out.max_free_servers = c.free_in.max()
    out.mean_free_servers = facts.free / facts.sus
    with_room = 0
    for su in range(facts.sus):
        with_room += c.free_in[su] > 0
    out.sus_with_room = with_room
    out.fragmentation_ratio = 1.0 - out.max_free_servers / facts.free if facts.free else 0.0
    uplinks = facts.sus * facts.rails * facts.planes
    out.uplinks_used_ratio = facts.taken / uplinks
    out.uplinks_failed_ratio = facts.failed / uplinks
    out.jobs_running_count = facts.running
    out.circuits_in_use_count = facts.circuits_in_use
    out.circuits_idle_count = facts.circuits_idle
    circuits = facts.circuits_in_use + facts.circuits_idle
    out.circuit_age_mean_s = facts.now_s - facts.made_sum_s / circuits if circuits else 0.0
    out.circuits_made_count = facts.made
    out.interval_phase_ratio = (facts.now_s % facts.interval_s) / facts.interval_s
    out.leaf_entropy_bits = leaf_entropy(c, rows, row)
    for su in range(facts.sus):
        for server in range(facts.servers_per_su):
            is_busy = c.owner[su, server] != NOBODY
            rows.server_bitmap[row, su * facts.servers_per_su + server] = is_busy
    for rail in range(facts.rails):
        for plane in range(facts.planes):
            rows.budget_remaining[row, rail * facts.planes + plane] = c.budget[rail, plane]


@compiled
def leaf_entropy(c: Cluster, rows: Rows, row: int) -> float:
    """Shannon entropy (bits) of the leaves over numbers of free uplinks; fills in their utilisation."""
    facts = c.facts[0]
    leaves = np.zeros(facts.planes + 1)
    for su in range(facts.sus):
        for rail in range(facts.rails):
            free = bits(c.free_planes[rail, su])
            leaves[free] += 1.0
            rows.leaf_utilization[row, su * facts.rails + rail] = 1.0 - free / facts.planes
    entropy = 0.0
    for count in leaves:
        if count > 0:
            share = count / (facts.sus * facts.rails)
            entropy -= share * np.log2(share)
    return max(entropy, 0.0)


@compiled
def hidden_features(c: Cluster, servers: int, gpus: int, out: Array) -> None:
    """Eight features of planes that no scheduler of this study sees; -1 where no ring is needed.

    Over the edges of the job's rings: the fewest planes shared; edges that share 0, 1, 2; the fewest shared
    with budget (or an idle circuit), edges that share none of those; the fewest edges on a rail that an
    idle circuit joins, and the least of those plus budget minus edges.
    """
    out[:] = -1.0
    facts = c.facts[0]
    if servers > facts.free:
        return
    k = allocate(c.free_in, servers, facts.allocation, c.plan_sus, c.plan_take)
    if k == 1:
        return
    arrange(c.plan_sus, k, c.orders[0], c.plan_ring)
    out[:] = 0.0
    out[0] = out[4] = facts.planes
    out[6] = out[7] = 2**20
    for rail in range(gpus):
        lay_edges(c, rail, k)
        open_planes = joined = left = 0
        for plane in range(facts.planes):
            left += c.budget[rail, plane]
            open_planes |= (c.budget[rail, plane] > 0) << plane
        for edge in range(edges_of(k)):
            shared = bits(c.allowed[edge])
            within = bits(c.allowed[edge] & (open_planes | c.idle[edge]))
            joined += c.idle[edge] != 0
            out[0] = min(out[0], shared)
            out[4] = min(out[4], within)
            if shared < 3:
                out[1 + shared] += 1
            out[5] += within == 0
        out[6] = min(out[6], joined)
        out[7] = min(out[7], joined + left - edges_of(k))
