"""Preprocessing as an ONNX graph: raw scalars and vectors in, what the trees see out.

In:  a cluster, the columns and scaling of its bundle.   Out: an ONNX model of standard nodes only.
Not here: trees and calibration (train.py). Every derived value is a whole number or a sum of multiples of
1/256, exact in float32, so that it depends neither on the batch nor on the order of additions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcopt_assets.contracts.placement_config import ClusterConfig
from hpcopt_assets.placement.bundles import SCALARS
from hpcopt_assets.placement.chosen import FAR, chosen_ring
from hpcopt_assets.placement.nodes import Nodes
from hpcopt_assets.placement.tables import corner_table, edge_table

BITMAP, LEAVES, BUDGET = "server_bitmap", "leaf_utilization", "budget_remaining"
FEATURES = "features"
OPSET = 15

DERIVED = (
    "servers_missing",  # asked for minus free
    "fits_one_su",
    "sus_chosen",  # k, by the default allocation
    "slack_min",  # over leaves of the ring and rails of the job: free uplinks minus those needed
    "leaves_short",  # leaves with a negative slack; with none; with one
    "leaves_tight",
    "leaves_loose",
    "edges_nats",  # -ln of the chance that every edge of every ring has a shared plane
    "edges_open_nats",  # ... that its switch still has a budget for
    "rings_nats",  # -ln of the chance that every leaf reaches both neighbours: a Markov chain
    "rings_open_nats",
    "worst_ring_nats",  # the largest of the job's rails
    "worst_ring_open_nats",
    "budget_slack_min",  # over the job's rails: circuits that the switches may still make minus edges
    "budget_slack_sum",
    "open_planes_min",  # switches of a rail that may still make a circuit
)


def preprocessing(
    cluster: ClusterConfig, columns: Sequence[str], means: npt.ArrayLike, scales: npt.ArrayLike
) -> Any:
    """From `scalars` (n, columns) and the three vectors (n, their lengths) to `features`, all float32.

    Features are (n, columns + DERIVED): the scaled scalars, then what is derived.
    """
    from onnx import TensorProto, helper

    g = Nodes(cluster.sus)
    features = g(
        "Concat",
        g("Div", g("Sub", SCALARS, g.constant(means)), g.constant(scales)),
        *_derived(g, cluster, columns),
        axis=1,
    )
    g.nodes.append(helper.make_node("Identity", [features], [FEATURES]))
    widths = {
        SCALARS: len(columns),
        BITMAP: cluster.servers,
        LEAVES: cluster.leaves,
        BUDGET: cluster.switches,
    }

    def tensor(name: str, width: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width])

    graph = helper.make_graph(
        g.nodes,
        "preprocessing",
        [tensor(name, width) for name, width in widths.items()],
        [tensor(FEATURES, len(columns) + len(DERIVED))],
        list(g.constants.values()),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


def _derived(g: Nodes, cluster: ClusterConfig, columns: Sequence[str]) -> list[str]:
    """The columns DERIVED, each (n, 1)."""
    sus, rails, planes = cluster.sus, cluster.rails, cluster.planes

    def column(name: str) -> str:
        at = list(columns).index(name)
        return str(g("Slice", SCALARS, [at], [at + 1], [1]))

    servers, gpus = column("requested_servers"), column("requested_gpus")
    bits = g("Reshape", BITMAP, [-1, sus, cluster.servers_per_su])
    free = g("Sub", float(cluster.servers_per_su), g("ReduceSum", bits, [2], keepdims=0))
    missing = g("Sub", servers, g("ReduceSum", free, [1]))
    ring, k, fits_one = chosen_ring(g, cluster, free, servers)
    edges = g("Where", g("Greater", k, 2.0), k, g("Sub", k, 1.0))

    counts = g("Round", g("Mul", g("Sub", 1.0, LEAVES), float(planes)))
    counts = g("Reshape", counts, [-1, sus, rails])
    here = g("GatherElements", counts, g("Expand", g("Unsqueeze", ring, [2]), g("Shape", counts)), axis=1)
    budget = g("Reshape", BUDGET, [-1, rails, planes])
    on_rail = g.number(g("Less", g.constant(np.arange(rails)[None, :]), gpus))  # (n, rails)
    return [
        missing,
        fits_one,
        k,
        *_slack(g, planes, here, k, on_rail),
        *_nats(g, planes, here, k, edges, on_rail, _open_planes(g, budget)),
        *_budgets(g, planes, budget, edges, on_rail),
    ]


def _slack(g: Nodes, planes: int, here: str, k: str, on_rail: str) -> list[str]:
    """Free uplinks beyond need on the ring's leaves: the least, and how many leaves are short, tight, loose.

    `here` (n, sus, rails): free uplinks of the ring's leaves in its order, of which the first k count.
    """
    need = g("Unsqueeze", g("Min", g("Sub", k, 1.0), g.constant([[2.0]])), [2])
    slack = g("Sub", here, need)
    on_ring = _first(g, k, on_rail)
    least = g("Where", g("Greater", on_ring, 0.5), slack, float(planes))
    kinds = (g("Less", slack, -0.5), g("Equal", slack, 0.0), g("Equal", slack, 1.0))
    return [
        _column(g, g("ReduceMin", least, axes=[1, 2], keepdims=0)),
        *(
            _column(g, g("ReduceSum", g("Mul", g.number(kind), on_ring), [1, 2], keepdims=0))
            for kind in kinds
        ),
    ]


def _nats(g: Nodes, planes: int, here: str, k: str, edges: str, on_rail: str, open_planes: str) -> list[str]:
    """-ln of the chances of edges and rings, summed over rails; of rings the largest of a rail, too."""
    before, following = _neighbours(g, here, k)
    is_edge, is_node = _first(g, edges, on_rail), _first(g, k, on_rail)
    has_corners = g("Greater", k, 2.0)
    edge_nats, corner_nats = (g.constant(table(planes).ravel()) for table in (edge_table, corner_table))

    def chances(how_open: str) -> tuple[str, str]:
        """Of edges and of rings, (n, rails)."""
        base = planes + 1
        edge = g("Gather", edge_nats, g.index(here, following, how_open, base=base))
        corner = g("Gather", corner_nats, g.index(before, here, following, how_open, base=base))
        of_edges = g("ReduceSum", g("Mul", edge, is_edge), [1], keepdims=0)
        of_corners = g("ReduceSum", g("Mul", corner, is_node), [1], keepdims=0)
        # A Markov chain counts every edge in two corners: it is taken out once. Two leaves have no corner.
        return of_edges, g("Where", has_corners, g("Sub", of_corners, of_edges), of_edges)

    edges_all, rings_all = chances(g("Add", g("Mul", here, 0.0), float(planes)))
    edges_open, rings_open = chances(g("Expand", g("Unsqueeze", open_planes, [1]), g("Shape", here)))
    totals = [g("ReduceSum", values, [1]) for values in (edges_all, edges_open, rings_all, rings_open)]
    worst = [_over_rails(g, "ReduceMax", values, on_rail, 0.0) for values in (rings_all, rings_open)]
    return totals + worst


def _budgets(g: Nodes, planes: int, budget: str, edges: str, on_rail: str) -> list[str]:
    """Circuits that a rail's switches may still make minus its edges, least and sum; fewest open planes.

    No plane can hold more than half of a ring's edges.
    """
    most = g("Floor", g("Mul", g("Max", edges, g.constant([[2.0]])), 0.5))
    left = g("ReduceSum", g("Min", budget, g("Unsqueeze", most, [2])), [2], keepdims=0)
    slack = g("Sub", left, edges)
    return [
        _over_rails(g, "ReduceMin", slack, on_rail, FAR),
        g("ReduceSum", g("Mul", slack, on_rail), [1]),
        _over_rails(g, "ReduceMin", _open_planes(g, budget), on_rail, float(planes)),
    ]


def _open_planes(g: Nodes, budget: str) -> str:
    """Switches of each rail that may still make a circuit, (n, rails)."""
    return str(g("ReduceSum", g.number(g("Greater", budget, 0.5)), [2], keepdims=0))


def _neighbours(g: Nodes, here: str, k: str) -> tuple[str, str]:
    """Free uplinks of the leaf before and the leaf behind each, round the ring of the first k."""
    first = g("Slice", here, [0], [1], [1])
    is_last = g("Equal", g("Unsqueeze", g.places, [2]), g("Unsqueeze", g("Sub", k, 1.0), [2]))
    last = g("ReduceSum", g("Mul", here, g.number(is_last)), [1], keepdims=1)
    behind = g("Concat", g("Slice", here, [1], [2**31], [1]), first, axis=1)
    before = g("Concat", last, g("Slice", here, [0], [-1], [1]), axis=1)
    return before, g("Where", is_last, first, behind)


def _first(g: Nodes, count: str, on_rail: str) -> str:
    """1 at the first `count` places on the job's rails, (n, sus, rails)."""
    is_among = g.number(g("Less", g.places, count))
    return str(g("Mul", g("Unsqueeze", is_among, [2]), g("Unsqueeze", on_rail, [1])))


def _over_rails(g: Nodes, reduce: str, values: str, on_rail: str, otherwise: float) -> str:
    """The least or largest of the job's rails, (n, 1)."""
    return str(g(reduce, g("Where", g("Greater", on_rail, 0.5), values, otherwise), axes=[1], keepdims=1))


def _column(g: Nodes, values: str) -> str:
    return str(g("Reshape", values, [-1, 1]))
