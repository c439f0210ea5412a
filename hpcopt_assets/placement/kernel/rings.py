"""Can the ring of one rail be realised, and how? Exactly, by dynamic programming over its edges.

The edges of a ring are coloured by planes, each from a list of its own (where both leaves' uplinks are free),
neighbours differently: list edge colouring of a cycle. What an edge costs is 1, or 0 where an idle circuit
already joins the pair in that plane. With k = 2 leaves the ring is a single circuit.

In:  for each edge the bits of its planes and of its idle circuits; what is left of each switch's budget.
Out: `realise`: 0 impossible, 1 only with a larger budget, 2 possible, and then the planes.
"""

from __future__ import annotations

from hpcopt_assets.placement.kernel.state import Array, compiled

IMPOSSIBLE, OVER_BUDGET, REALISED = 0, 1, 2
NEVER = 2**30
# Beyond any number of circuits, and small enough to be added to itself.


@compiled
def realise(
    edges: int, allowed: Array, idle: Array, left: Array, base: int, togo: Array, dead: Array, planes: Array
) -> int:
    """Choose `planes[:edges]` for the edges: fewest new circuits, then the smallest planes by edge.

    Where that breaks a budget (`left`, by plane, each below `base`): the smallest planes by edge that keep
    every one. `togo` (planes, edges, planes) and `dead` (edges, planes, base^planes) are scratch; `dead` may
    hold anything but the counter in dead[0, 0, 0] must not be set back.
    """
    best, first = fewest_new(edges, allowed, idle, togo)
    if best >= NEVER:
        return IMPOSSIBLE
    trace_fewest(edges, first, idle, togo, planes)
    is_within = True
    for plane in range(left.size):
        new = 0
        for edge in range(edges):
            if planes[edge] == plane and not idle[edge] >> plane & 1:
                new += 1
        is_within = is_within and new <= left[plane]
    if is_within or search_within(edges, allowed, idle, left, base, togo, dead, planes):
        return REALISED
    return OVER_BUDGET


@compiled
def fewest_new(edges: int, allowed: Array, idle: Array, togo: Array) -> tuple[int, int]:
    """The fewest new circuits of any realisation, and the smallest plane of the first edge that has them.

    Leaves in `togo[f, i, p]` the fewest of edges i and later if the first has plane f and edge i plane p.
    """
    planes, last = togo.shape[0], edges - 1
    best, first = NEVER, -1
    for f in range(planes):
        if not allowed[0] >> f & 1:
            togo[f, 0, f] = NEVER
            continue
        low = second = 0  # the two smallest of the edge behind, and the plane of the smallest
        low_at = -1
        for edge in range(last, -1, -1):
            next_low, next_second, next_at = NEVER, NEVER, -1
            for p in range(planes):
                cost = NEVER
                is_free = allowed[edge] >> p & 1 and (edge > 0 or p == f)
                if is_free and (edge < last or edge == 0 or p != f):
                    cost = min(NEVER, 1 - (idle[edge] >> p & 1) + (second if p == low_at else low))
                togo[f, edge, p] = cost
                if cost < next_low:
                    next_low, next_second, next_at = cost, next_low, p
                elif cost < next_second:
                    next_second = cost
            low, second, low_at = next_low, next_second, next_at
        if togo[f, 0, f] < best:
            best, first = togo[f, 0, f], f
    return best, first


@compiled
def trace_fewest(edges: int, first: int, idle: Array, togo: Array, planes: Array) -> None:
    """The smallest planes by edge among the realisations with the fewest new circuits."""
    planes[0] = first
    for edge in range(1, edges):
        before = planes[edge - 1]
        rest = togo[first, edge - 1, before] - 1 + (idle[edge - 1] >> before & 1)
        p = 0
        while p == before or togo[first, edge, p] != rest:
            p += 1
        planes[edge] = p


@compiled
def search_within(
    edges: int, allowed: Array, idle: Array, left: Array, base: int, togo: Array, dead: Array, planes: Array
) -> bool:
    """The smallest planes by edge that keep every budget; False where none do.

    Depth first in order of planes. The state is the edge, its plane and what is left of every budget: one
    that led nowhere is marked in `dead` and not entered again, so each is looked at once for a first plane.
    """
    total = 0
    for plane in range(left.size):
        left[plane] = min(left[plane], max(1, edges // 2))  # no plane can hold more edges of a ring
        total += left[plane]
    for first in range(left.size):
        is_free = allowed[0] >> first & 1 and togo[first, 0, first] <= total
        if is_free and 1 - (idle[0] >> first & 1) <= left[first]:
            planes[0] = first
            if _search_behind(edges, idle, left, total, base, togo, dead, planes):
                return True
    return False


@compiled
def _search_behind(
    edges: int, idle: Array, left: Array, total: int, base: int, togo: Array, dead: Array, planes: Array
) -> bool:
    """The same for the edges behind the first, whose plane is chosen; `left` is as before where none do."""
    dead[0, 0, 0] += 1
    mark, first = dead[0, 0, 0], planes[0]
    is_new = 1 - (idle[0] >> first & 1)
    left[first] -= is_new
    total -= is_new
    edge = 1
    if edges > 1:
        planes[1] = -1
    while 0 < edge < edges:
        p = planes[edge] + 1
        while p < left.size and not _is_open(
            edge, p, first, idle, left, total, base, togo, dead, planes, mark
        ):
            p += 1
        if p < left.size:
            planes[edge] = p
            is_new = 1 - (idle[edge] >> p & 1)
            left[p] -= is_new
            total -= is_new
            edge += 1
            if edge < edges:
                planes[edge] = -1
            continue
        edge -= 1
        p = planes[edge]
        if edge > 0:
            dead[edge, p, _budgets_as_number(left, base)] = mark
        is_new = 1 - (idle[edge] >> p & 1)
        left[p] += is_new
        total += is_new
    return edge == edges


@compiled
def _is_open(
    edge: int,
    p: int,
    first: int,
    idle: Array,
    left: Array,
    total: int,
    base: int,
    togo: Array,
    dead: Array,
    planes: Array,
    mark: int,
) -> bool:
    """Whether an edge may have plane `p` after the planes chosen so far."""
    if p == planes[edge - 1] or togo[first, edge, p] > total:
        return False
    is_new = 1 - (idle[edge] >> p & 1)
    if is_new > left[p]:
        return False
    left[p] -= is_new
    state = _budgets_as_number(left, base)
    left[p] += is_new
    return bool(dead[edge, p, state] != mark)


@compiled
def _budgets_as_number(left: Array, base: int) -> int:
    """What is left of every budget, as digits of one number."""
    number = 0
    for plane in range(left.size):
        number = number * base + left[plane]
    return number
