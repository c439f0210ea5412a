"""One attempt to place a job: the decision, which changes nothing, and what follows from it.

In:  the cluster, a job.   Out: the cause of failure, and a plan in the cluster's `plan_*`; then its placing.
"""

from __future__ import annotations

from hpcopt_assets.contracts.placement_words import MatchingCause, PlacementCause
from hpcopt_assets.placement.kernel.allocation import allocate, arrange
from hpcopt_assets.placement.kernel.rings import IMPOSSIBLE, REALISED, realise
from hpcopt_assets.placement.kernel.state import NOBODY, Cluster, compiled

NONE, SERVERS = PlacementCause.NONE.code, PlacementCause.SERVERS.code
COUNT, MATCHING = PlacementCause.UPLINKS_COUNT.code, PlacementCause.UPLINKS_MATCHING.code
PLANES, BUDGET = MatchingCause.PLANES.code, MatchingCause.BUDGET.code


@compiled
def bits(mask: int) -> int:
    """How many bits are set."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@compiled
def edges_of(k: int) -> int:
    """Circuits that join k leaves of a rail."""
    return k if k > 2 else k - 1


@compiled
def lay_edges(c: Cluster, rail: int, k: int) -> None:
    """For each edge of the ring in `plan_ring`: planes free at both leaves, those with an idle circuit."""
    for edge in range(edges_of(k)):
        a, b = c.plan_ring[edge], c.plan_ring[(edge + 1) % k]
        c.allowed[edge] = c.free_planes[rail, a] & c.free_planes[rail, b]
        c.idle[edge] = 0
        for plane in range(c.facts[0].planes):
            if c.partner[rail, plane, a] == b and not c.used[rail, plane, a]:
                c.idle[edge] |= 1 << plane


@compiled
def decide(c: Cluster, servers: int, gpus: int) -> tuple[int, int]:
    """Cause of failure and, for `uplinks_matching`, its cause, as codes; (NONE, -1) where the job fits.

    The ring orders are tried in turn until all rails of the job can be realised in one of them.
    """
    facts = c.facts[0]
    facts.size = 0
    if servers > facts.free:
        return SERVERS, NOBODY
    k = allocate(c.free_in, servers, facts.allocation, c.plan_sus, c.plan_take)
    facts.size = k
    if k == 1:
        c.plan_ring[0] = c.plan_sus[0]
        return NONE, NOBODY
    need = min(2, k - 1)
    for i in range(k):
        for rail in range(gpus):
            if bits(c.free_planes[rail, c.plan_sus[i]]) < need:
                return COUNT, NOBODY
    base, is_possible = facts.per_interval + 1, False
    for order in c.orders:
        arrange(c.plan_sus, k, order, c.plan_ring)
        worst = REALISED
        for rail in range(gpus):
            lay_edges(c, rail, k)
            c.left[:] = c.budget[rail]
            planes = c.plan_planes[rail]
            found = realise(edges_of(k), c.allowed, c.idle, c.left, base, c.togo, c.dead, planes)
            worst = min(worst, found)
            if worst == IMPOSSIBLE:
                break
        if worst == REALISED:
            return NONE, NOBODY
        is_possible = is_possible or worst != IMPOSSIBLE
    return MATCHING, (BUDGET if is_possible else PLANES)


@compiled
def drop(c: Cluster, rail: int, plane: int, su: int) -> None:
    """Tear down an idle circuit."""
    other = c.partner[rail, plane, su]
    c.partner[rail, plane, su] = c.partner[rail, plane, other] = NOBODY
    c.facts[0].circuits_idle -= 1
    c.facts[0].made_sum_s -= c.made_s[rail, plane, su]


@compiled
def join(c: Cluster, rail: int, plane: int, a: int, b: int) -> None:
    """Give the job the circuit from a to b: the idle one that is there, or a new one."""
    facts = c.facts[0]
    if c.partner[rail, plane, a] != b:
        for su in (a, b):
            if c.partner[rail, plane, su] != NOBODY:
                drop(c, rail, plane, su)
        c.partner[rail, plane, a], c.partner[rail, plane, b] = b, a
        c.made_s[rail, plane, a] = c.made_s[rail, plane, b] = facts.now_s
        facts.made_sum_s += facts.now_s
        facts.circuits_idle += 1
        facts.made += 1
        c.budget[rail, plane] -= 1
    facts.circuits_idle -= 1
    facts.circuits_in_use += 1
    facts.taken += 2
    for su in (a, b):
        c.used[rail, plane, su] = 1
        c.free_planes[rail, su] &= ~(1 << plane)


@compiled
def place(c: Cluster, gpus: int, end_s: int) -> None:
    """Carry out the plan that `decide` left: servers, circuits, and when they are given back."""
    facts, k = c.facts[0], c.facts[0].size
    slot = c.vacant[facts.running]
    for i in range(k):
        su, missing = c.plan_sus[i], c.plan_take[i]
        c.free_in[su] -= missing
        facts.free -= missing
        server = 0
        while missing > 0:
            if c.owner[su, server] == NOBODY:
                c.owner[su, server] = slot
                missing -= 1
            server += 1
    for i in range(k):
        c.ring[slot, i] = c.plan_ring[i]
    for rail in range(gpus):
        for edge in range(edges_of(k)):
            plane = c.plan_planes[rail, edge]
            c.planes[slot, rail, edge] = plane
            join(c, rail, plane, c.plan_ring[edge], c.plan_ring[(edge + 1) % k])
    c.end_s[slot], c.size[slot], c.gpus[slot] = end_s, k, gpus
    i = facts.running
    while i > 0 and c.end_s[c.queue[i - 1]] < end_s:  # by descending end: the next to end is the last
        c.queue[i] = c.queue[i - 1]
        i -= 1
    c.queue[i] = slot
    facts.running += 1
