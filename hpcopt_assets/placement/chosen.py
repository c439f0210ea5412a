"""The default allocation as ONNX nodes: which SUs a job would be given, in the order of its ring.

In:  free servers of each SU, servers asked for.   Out: names of tensors.
The same rules as kernel/allocation.py, which decides; a test holds them together.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.contracts.placement_config import ClusterConfig
from hpcopt_assets.contracts.placement_words import Allocation, RingOrder
from hpcopt_assets.placement.nodes import Nodes

FAR = 2.0**20
# Beyond every key.


def chosen_ring(g: Nodes, cluster: ClusterConfig, free: str, servers: str) -> tuple[str, str, str]:
    """The SUs that the allocation chooses, in ring order.

    Out: (n, sus) indices of which the first k count; k (n, 1); whether one SU holds the job (n, 1). Where
    there are not enough servers, all SUs with a free one are chosen.
    """
    sus = cluster.sus
    index = g.places
    sign = -1.0 if Allocation(cluster.allocation) is Allocation.ROOMIEST_FIRST else 1.0
    tight = g("Add", g("Mul", free, float(sus)), index)
    tight = g("Where", g("GreaterOrEqual", free, servers), tight, FAR)
    tightest = g("ReduceMin", tight, axes=[1], keepdims=1)
    fits_one = g("Less", tightest, FAR)

    key = g("Add", g("Mul", free, sign * sus), index)
    key = g("Where", g("Greater", free, 0.5), key, FAR)
    by_policy = _sorted(g, key, sus)
    free_there = g("GatherElements", free, by_policy, axis=1)
    before = g("CumSum", free_there, g.constant(1, np.int64), exclusive=1)
    taken = g.number(g("And", g("Less", before, servers), g("Greater", free_there, 0.5)))
    spread = g("ScatterElements", g("Mul", free, 0.0), by_policy, taken, axis=1)
    chosen = g("Where", fits_one, g.number(g("Equal", tight, tightest)), spread)
    k = g("ReduceSum", chosen, [1])

    order = RingOrder(cluster.ring_orders[0])
    if order is RingOrder.ALLOCATION:
        rank = g(
            "ScatterElements",
            g("Mul", free, 0.0),
            by_policy,
            g("Add", g("Mul", free_there, 0.0), index),
            axis=1,
        )
        return (
            _sorted(g, g("Add", rank, g("Mul", g("Sub", 1.0, chosen), float(sus))), sus),
            k,
            g.number(fits_one),
        )
    ring = _sorted(g, g("Add", index, g("Mul", g("Sub", 1.0, chosen), float(sus))), sus)
    if order is RingOrder.INTERLEAVED:
        half = g("Ceil", g("Mul", k, 0.5))
        odd = g.constant((np.arange(sus) % 2)[None, :])
        place = g("Add", g.constant((np.arange(sus) // 2)[None, :]), g("Mul", odd, half))
        place = g("Where", g("Less", index, k), place, g("Add", index, float(sus)))
        ring = g("GatherElements", ring, _sorted(g, place, sus), axis=1)
    return ring, k, g.number(fits_one)


def _sorted(g: Nodes, keys: str, count: int) -> str:
    """Indices by ascending key; keys that count differ."""
    _, order = g("TopK", keys, [count], axis=1, largest=0, sorted=1, outputs=2)
    return str(order)
