"""A second cluster, written for plainness: sets and dicts, every realisation of a ring tried.

In:  a cluster's config, jobs, uplink failures.   Out: what is seen before each decision, and the decision.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise, product

from hpcopt_assets.contracts.placement_config import ClusterConfig
from hpcopt_assets.contracts.placement_words import Allocation, MatchingCause, PlacementCause, RingOrder

Switch = tuple[int, int]
# Rail and plane.
Uplink = tuple[int, int, int]
# Rail, plane, SU.


@dataclass
class Circuit:
    rail: int
    plane: int
    ends: frozenset[int]
    made_s: int
    in_use: bool = False
    job: int | None = None

    def uplinks(self) -> set[Uplink]:
        return {(self.rail, self.plane, su) for su in self.ends}


@dataclass
class Decision:
    cause: PlacementCause
    matching: MatchingCause | None = None
    take: dict[int, int] = field(default_factory=dict)
    ring: list[int] = field(default_factory=list)
    planes: list[tuple[int, ...]] = field(default_factory=list)


def allocation(free: list[int], servers: int, policy: Allocation) -> dict[int, int]:
    """SU -> servers, in the order chosen."""
    holding = [su for su in range(len(free)) if free[su] >= servers]
    if holding:
        return {min(holding, key=lambda su: (free[su], su)): servers}
    sign = -1 if policy is Allocation.ROOMIEST_FIRST else 1
    take = {}
    for su in sorted((su for su in range(len(free)) if free[su]), key=lambda su: (sign * free[su], su)):
        take[su] = min(free[su], servers - sum(take.values()))
        if sum(take.values()) == servers:
            break
    return take


def arranged(sus: list[int], order: RingOrder) -> list[int]:
    if order is RingOrder.ALLOCATION:
        return sus
    by_index = sorted(sus)
    return by_index if order is RingOrder.ASCENDING else by_index[::2] + by_index[1::2]


def edges(ring: list[int]) -> list[tuple[int, int]]:
    if len(ring) < 3:
        return list(pairwise(ring))
    return list(zip(ring, ring[1:] + ring[:1], strict=True))


class PlainCluster:
    """State and rules of one cluster."""

    def __init__(self, config: ClusterConfig) -> None:
        self.config = config
        self.busy: dict[tuple[int, int], int] = {}  # server -> job
        self.circuits: list[Circuit] = []
        self.failed: set[Uplink] = set()
        self.made: Counter[Switch] = Counter()
        self.interval = 0

    def free(self) -> list[int]:
        held = Counter(su for su, _ in self.busy)
        return [self.config.servers_per_su - held[su] for su in range(self.config.sus)]

    def is_free(self, uplink: Uplink) -> bool:
        used = (circuit.uplinks() for circuit in self.circuits if circuit.in_use)
        return uplink not in self.failed and not any(uplink in some for some in used)

    def free_planes(self, rail: int, su: int) -> set[int]:
        return {plane for plane in range(self.config.planes) if self.is_free((rail, plane, su))}

    def standing(self, rail: int, plane: int, pair: tuple[int, int]) -> Circuit | None:
        """The idle circuit between a pair."""
        return next(
            (
                c
                for c in self.circuits
                if not c.in_use and (c.rail, c.plane, c.ends) == (rail, plane, frozenset(pair))
            ),
            None,
        )

    def decide(self, servers: int, gpus: int) -> Decision:
        free = self.free()
        if servers > sum(free):
            return Decision(PlacementCause.SERVERS)
        take = allocation(free, servers, self.config.allocation)
        sus = list(take)
        if len(sus) == 1:
            return Decision(PlacementCause.NONE, take=take, ring=sus)
        need = 1 if len(sus) == 2 else 2
        if any(len(self.free_planes(rail, su)) < need for rail in range(gpus) for su in sus):
            return Decision(PlacementCause.UPLINKS_COUNT)
        causes = set()
        for order in self.config.ring_orders:
            ring = arranged(sus, order)
            found = [self.realise(rail, edges(ring)) for rail in range(gpus)]
            if all(isinstance(planes, tuple) for planes in found):
                return Decision(PlacementCause.NONE, None, take, ring, found)
            is_possible = MatchingCause.PLANES not in found
            causes.add(MatchingCause.BUDGET if is_possible else MatchingCause.PLANES)
        matching = MatchingCause.BUDGET if MatchingCause.BUDGET in causes else MatchingCause.PLANES
        return Decision(PlacementCause.UPLINKS_MATCHING, matching)

    def realise(self, rail: int, pairs: list[tuple[int, int]]) -> tuple[int, ...] | MatchingCause:
        """Every choice of planes is tried; it sorts by planes, so the first of equals is the smallest."""
        lists = [sorted(self.free_planes(rail, a) & self.free_planes(rail, b)) for a, b in pairs]
        neighbours = edges(list(range(len(pairs)))) if len(pairs) > 1 else []
        proper = [some for some in product(*lists) if all(some[i] != some[j] for i, j in neighbours)]
        if not proper:
            return MatchingCause.PLANES

        def new(planes: tuple[int, ...]) -> Counter[int]:
            return Counter(
                plane
                for plane, pair in zip(planes, pairs, strict=True)
                if self.standing(rail, plane, pair) is None
            )

        def is_within(planes: tuple[int, ...]) -> bool:
            limit = self.config.circuits_per_interval
            return all(self.made[rail, plane] + n <= limit for plane, n in new(planes).items())

        cheapest = min(proper, key=lambda planes: new(planes).total())
        if is_within(cheapest):
            return cheapest
        return next(filter(is_within, proper), MatchingCause.BUDGET)

    def place(self, job: int, gpus: int, plan: Decision, now_s: int) -> None:
        for su, count in plan.take.items():
            vacant = [s for s in range(self.config.servers_per_su) if (su, s) not in self.busy]
            self.busy |= {(su, server): job for server in vacant[:count]}
        for rail in range(gpus if plan.planes else 0):
            for pair, plane in zip(edges(plan.ring), plan.planes[rail], strict=True):
                circuit = self.standing(rail, plane, pair)
                if circuit is None:
                    circuit = Circuit(rail, plane, frozenset(pair), now_s)
                    self.drop(lambda c, new=circuit: not c.in_use and c.uplinks() & new.uplinks())
                    self.circuits.append(circuit)
                    self.made[rail, plane] += 1
                circuit.in_use = True
                circuit.job = job

    def complete(self, job: int) -> None:
        self.busy = {server: owner for server, owner in self.busy.items() if owner != job}
        for circuit in self.circuits:
            if circuit.in_use and circuit.job == job:
                circuit.in_use = False
        self.drop(lambda c: not c.in_use and c.uplinks() & self.failed)

    def fail(self, uplink: Uplink) -> None:
        self.failed.add(uplink)
        self.drop(lambda c: not c.in_use and c.uplinks() & self.failed)

    def drop(self, goes) -> None:
        self.circuits = [c for c in self.circuits if not goes(c)]

    def seen(self) -> dict[str, object]:
        """What a snapshot shows."""
        c = self.config
        uplinks = [
            (rail, plane, su) for rail in range(c.rails) for plane in range(c.planes) for su in range(c.sus)
        ]
        return {
            "server_bitmap": [
                int((su, s) in self.busy) for su in range(c.sus) for s in range(c.servers_per_su)
            ],
            "free_planes": [
                len(self.free_planes(rail, su)) for su in range(c.sus) for rail in range(c.rails)
            ],
            "budget_remaining": [
                c.circuits_per_interval - self.made[rail, plane]
                for rail in range(c.rails)
                for plane in range(c.planes)
            ],
            "circuits_in_use_count": sum(circuit.in_use for circuit in self.circuits),
            "circuits_idle_count": sum(not circuit.in_use for circuit in self.circuits),
            "circuits_made_count": self.made.total(),
            "made_s": sorted(circuit.made_s for circuit in self.circuits),
            "uplinks_failed_ratio": len(self.failed) / len(uplinks),
            "uplinks_used_ratio": sum(not self.is_free(uplink) for uplink in uplinks) / len(uplinks),
            "jobs_running_count": len(set(self.busy.values())),
        }


def run_plainly(config: ClusterConfig, jobs, faults):
    """(seen, decision) of each attempt; jobs are (at_s, servers, gpus, duration_s), faults as in arrays."""
    cluster, out = PlainCluster(config), []
    running: dict[int, int] = {}  # job -> end
    waiting = list(faults)
    for job, (at_s, servers, gpus, duration_s) in enumerate(jobs):
        ends = [(end, 0, (i,)) for i, end in running.items() if end <= at_s]
        changes = [(fault[0], 1, fault[1:]) for fault in waiting if fault[0] <= at_s]
        waiting = [fault for fault in waiting if fault[0] > at_s]
        for _, kind, what in sorted(ends + changes, key=lambda event: event[:2]):
            if kind == 0:
                cluster.complete(what[0])
                del running[what[0]]
            elif what[3]:
                cluster.failed.discard(what[:3])
            else:
                cluster.fail(what[:3])
        if at_s // config.interval_s != cluster.interval:
            cluster.interval = at_s // config.interval_s
            cluster.made.clear()
        seen, plan = cluster.seen(), cluster.decide(servers, gpus)
        out.append((seen, plan))
        if plan.cause is PlacementCause.NONE:
            cluster.place(job, gpus, plan, at_s)
            running[job] = at_s + duration_s
    return out
