"""Which SUs a job is given servers in: one allocation for each attempt, before the network is looked at.

In:  free servers of each SU, and the policy's code.   Out: the SUs in the order chosen, and how many in each.
"""

from __future__ import annotations

from hpcopt_assets.contracts.placement_words import Allocation, RingOrder
from hpcopt_assets.placement.kernel.state import NOBODY, Array, compiled

ROOMIEST_FIRST = Allocation.ROOMIEST_FIRST.code
ALLOCATION, INTERLEAVED = RingOrder.ALLOCATION.code, RingOrder.INTERLEAVED.code


@compiled
def allocate(free_in: Array, servers: int, policy: int, sus: Array, take: Array) -> int:
    """Number k of SUs; `sus[:k]` in the order chosen, `take[:k]` servers of each. There are enough servers.

    The SU with the fewest free servers that holds the whole job; else one after the other by ascending
    (`tightest_first`) or descending (`roomiest_first`) free servers. Ties go to the smaller index.
    """
    tightest = NOBODY
    for su in range(free_in.size):
        if free_in[su] >= servers and (tightest == NOBODY or free_in[su] < free_in[tightest]):
            tightest = su
    if tightest != NOBODY:
        sus[0], take[0] = tightest, servers
        return 1
    sign = -1 if policy == ROOMIEST_FIRST else 1
    k, missing, last_key, last_su = 0, servers, -(2**30), NOBODY
    while missing > 0:
        found, found_key = NOBODY, 2**30
        for su in range(free_in.size):
            key = sign * free_in[su]
            is_later = key > last_key or (key == last_key and su > last_su)
            if free_in[su] > 0 and is_later and key < found_key:
                found, found_key = su, key
        sus[k], take[k] = found, min(missing, free_in[found])
        missing -= take[k]
        last_key, last_su = found_key, found
        k += 1
    return k


@compiled
def arrange(sus: Array, k: int, order: int, ring: Array) -> None:
    """`ring[:k]`: the chosen SUs in the order in which they stand on the ring."""
    for i in range(k):
        ring[i] = sus[i]
    if order == ALLOCATION:
        return
    for i in range(1, k):  # by index: k is small
        su, j = ring[i], i
        while j > 0 and ring[j - 1] > su:
            ring[j] = ring[j - 1]
            j -= 1
        ring[j] = su
    if order == INTERLEAVED:
        # In place: the one that belongs at each place is lifted out, those between move up by one.
        for i in range(1, (k + 1) // 2):
            su = ring[2 * i]
            for j in range(2 * i, i, -1):
                ring[j] = ring[j - 1]
            ring[i] = su
