"""What happens between attempts: jobs end, uplinks fail and are repaired, reconfiguration intervals begin.

In:  the cluster, uplink failures in order, an instant.   Out: the cluster as it is then.
At one instant jobs end first, then uplinks change, then a job asks.
"""

from __future__ import annotations

from hpcopt_assets.placement.kernel.attempt import drop, edges_of
from hpcopt_assets.placement.kernel.state import NOBODY, Array, Cluster, compiled


@compiled
def complete_next(c: Cluster) -> None:
    """The next job to end gives back its servers; its circuits stay, idle, unless an uplink has failed."""
    facts = c.facts[0]
    facts.running -= 1
    slot = c.queue[facts.running]
    k = c.size[slot]
    for i in range(k):
        su = c.ring[slot, i]
        for server in range(facts.servers_per_su):
            if c.owner[su, server] == slot:
                c.owner[su, server] = NOBODY
                c.free_in[su] += 1
                facts.free += 1
    for rail in range(c.gpus[slot]):
        for edge in range(edges_of(k)):
            plane = c.planes[slot, rail, edge]
            a, b = c.ring[slot, edge], c.ring[slot, (edge + 1) % k]
            facts.circuits_in_use -= 1
            facts.circuits_idle += 1
            for su in (a, b):
                c.used[rail, plane, su] = 0
                if not c.failed[rail, plane, su]:
                    c.free_planes[rail, su] |= 1 << plane
                    facts.taken -= 1
            if c.failed[rail, plane, a] or c.failed[rail, plane, b]:
                drop(c, rail, plane, a)
    c.vacant[facts.running] = slot


@compiled
def change_uplink(c: Cluster, rail: int, plane: int, su: int, is_repair: int) -> None:
    """An uplink fails, under an idle circuit (dropped) or a job's (kept) or none; or is repaired."""
    facts = c.facts[0]
    c.failed[rail, plane, su] = 1 - is_repair
    facts.failed += 1 - 2 * is_repair
    if c.used[rail, plane, su]:
        return
    facts.taken += 1 - 2 * is_repair
    if is_repair:
        c.free_planes[rail, su] |= 1 << plane
    else:
        c.free_planes[rail, su] &= ~(1 << plane)
        if c.partner[rail, plane, su] != NOBODY:
            drop(c, rail, plane, su)


@compiled
def advance(c: Cluster, faults: Array, now_s: int) -> None:
    """Bring the cluster to an instant."""
    facts = c.facts[0]
    while True:
        end_s = c.end_s[c.queue[facts.running - 1]] if facts.running else now_s + 1
        fault_s = faults[facts.next_fault].at_s if facts.next_fault < faults.size else now_s + 1
        if min(end_s, fault_s) > now_s:
            break
        if end_s <= fault_s:
            facts.now_s = end_s
            complete_next(c)
        else:
            fault = faults[facts.next_fault]
            facts.now_s = fault_s
            change_uplink(c, fault.rail, fault.plane, fault.su, fault.is_repair)
            facts.next_fault += 1
    facts.now_s = now_s
    interval = now_s // facts.interval_s
    if interval != facts.interval:
        facts.interval = interval
        facts.made = 0
        c.budget[:] = facts.per_interval
