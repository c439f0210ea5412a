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
from hpcopt_assets.contracts.vocabulary import Allocation, RingOrder
from hpcopt_assets.placement.bundles import SCALARS
from hpcopt_assets.placement.tables import corner_table, edge_table

BITMAP, LEAVES, BUDGET = "server_bitmap", "leaf_utilization", "budget_remaining"
FEATURES = "features"
OPSET = 15
FAR = 2.0**20
# Beyond every key and count.

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


class Nodes:
    """Nodes in the order they are made; each call returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, values: npt.ArrayLike, dtype: type = np.float32) -> str:
        """A named constant."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.asarray(values, dtype), name)
        return name

    def __call__(
        self, op: str, *inputs: str | float | Sequence[int], outputs: int = 1, **attributes: Any
    ) -> Any:
        """Append a node. Numbers are float constants, sequences of them int64 ones (shapes and axes)."""
        from onnx import helper

        named = [
            item
            if isinstance(item, str)
            else self.constant(item)
            if isinstance(item, int | float)
            else self.constant(item, np.int64)
            for item in inputs
        ]
        out = [f"{op}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, named, out, **attributes))
        return out[0] if outputs == 1 else out

    def number(self, truth: str) -> str:
        """0 or 1."""
        from onnx import TensorProto

        return str(self("Cast", truth, to=TensorProto.FLOAT))

    def index(self, *digits: str, base: int) -> str:
        """A flat index from digits, the first the most significant."""
        from onnx import TensorProto

        flat = digits[0]
        for digit in digits[1:]:
            flat = self("Add", self("Mul", flat, float(base)), digit)
        return str(self("Cast", flat, to=TensorProto.INT64))


def preprocessing(
    cluster: ClusterConfig, columns: Sequence[str], means: npt.ArrayLike, scales: npt.ArrayLike
) -> Any:
    """From `scalars` (n, columns) and the three vectors (n, their lengths) to `features`, all float32.

    Features are (n, columns + DERIVED): the scaled scalars, then what is derived.
    """
    from onnx import TensorProto, helper

    g = Nodes()
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
    ring, k, fits_one = _ring(g, cluster, free, servers)

    place = g.constant(np.arange(sus)[None, :])
    edges = g("Where", g("Greater", k, 2.0), k, g("Sub", k, 1.0))
    on_rail = g.number(g("Less", g.constant(np.arange(rails)[None, None, :]), g("Unsqueeze", gpus, [2])))
    on_ring = g("Mul", g("Unsqueeze", g.number(g("Less", place, k)), [2]), on_rail)  # (n, sus, rails)
    is_edge = g("Mul", g("Unsqueeze", g.number(g("Less", place, edges)), [2]), on_rail)

    counts = g("Round", g("Mul", g("Sub", 1.0, LEAVES), float(planes)))
    counts = g("Reshape", counts, [-1, sus, rails])
    shape = g("Shape", counts)
    here = g("GatherElements", counts, g("Expand", g("Unsqueeze", ring, [2]), shape), axis=1)
    is_last = g("Equal", g("Unsqueeze", place, [2]), g("Unsqueeze", g("Sub", k, 1.0), [2]))
    first = g("Slice", here, [0], [1], [1])
    following = g("Concat", g("Slice", here, [1], [sus], [1]), first, axis=1)
    following = g("Where", is_last, first, following)
    last = g("ReduceSum", g("Mul", here, g.number(is_last)), [1], keepdims=1)
    before = g("Concat", last, g("Slice", here, [0], [sus - 1], [1]), axis=1)

    need = g("Unsqueeze", g("Min", g("Sub", k, 1.0), g.constant([[2.0]])), [2])
    slack = g("Sub", here, need)
    is_on = g("Greater", on_ring, 0.5)
    slack_min = g("ReduceMin", g("Where", is_on, slack, float(planes)), axes=[1, 2], keepdims=0)

    def leaves(truth: str) -> str:
        return str(g("ReduceSum", g("Mul", g.number(truth), on_ring), [1, 2], keepdims=0))

    budget = g("Reshape", BUDGET, [-1, rails, planes])
    open_planes = g("ReduceSum", g.number(g("Greater", budget, 0.5)), [2], keepdims=0)  # (n, rails)
    each_open = g("Expand", g("Unsqueeze", open_planes, [1]), shape)
    all_open = g("Add", g("Mul", here, 0.0), float(planes))
    left = g(
        "ReduceSum",
        g(
            "Min",
            budget,
            g("Unsqueeze", g("Floor", g("Mul", g("Max", edges, g.constant([[2.0]])), 0.5)), [2]),
        ),
        [2],
        keepdims=0,
    )
    on_job = g("Squeeze", on_rail, [1])
    budget_slack = g("Sub", left, edges)
    edge_nats, corner_nats = edge_table(planes), corner_table(planes)
    is_corner = g("Mul", on_ring, g("Unsqueeze", g.number(g("Greater", k, 2.0)), [2]))

    def nats(how_open: str) -> tuple[str, str]:
        """Of edges and of rings, (n, rails)."""
        edge = g("Gather", g.constant(edge_nats.ravel()), g.index(here, following, how_open, base=planes + 1))
        corner = g(
            "Gather",
            g.constant(corner_nats.ravel()),
            g.index(before, here, following, how_open, base=planes + 1),
        )
        of_edges = g("ReduceSum", g("Mul", edge, is_edge), [1], keepdims=0)
        of_corners = g("ReduceSum", g("Mul", corner, is_corner), [1], keepdims=0)
        # A Markov chain counts every edge in two corners: it is taken out once. Two leaves have no corner.
        markov = g("Where", g("Greater", k, 2.0), g("Sub", of_corners, of_edges), of_edges)
        return of_edges, markov

    edges_all, ring_all = nats(all_open)
    edges_open, ring_open = nats(each_open)

    def total(values: str) -> str:
        return str(g("ReduceSum", values, [1]))

    def over_rails(reduce: str, values: str, otherwise: float) -> str:
        return str(g(reduce, g("Where", g("Greater", on_job, 0.5), values, otherwise), axes=[1], keepdims=1))

    def as_column(values: str) -> str:
        return str(g("Reshape", values, [-1, 1]))

    return [
        missing,
        fits_one,
        k,
        as_column(slack_min),
        as_column(leaves(g("Less", slack, -0.5))),
        as_column(leaves(g("Equal", slack, 0.0))),
        as_column(leaves(g("Equal", slack, 1.0))),
        total(edges_all),
        total(edges_open),
        total(ring_all),
        total(ring_open),
        over_rails("ReduceMax", ring_all, 0.0),
        over_rails("ReduceMax", ring_open, 0.0),
        over_rails("ReduceMin", budget_slack, FAR),
        total(g("Mul", budget_slack, on_job)),
        over_rails("ReduceMin", open_planes, float(planes)),
    ]


def _ring(g: Nodes, cluster: ClusterConfig, free: str, servers: str) -> tuple[str, str, str]:
    """The SUs that the allocation chooses, in ring order.

    Out: (n, sus) indices of which the first k count; k (n, 1); whether one SU holds the job (n, 1). Where
    there are not enough servers, all SUs with a free one are chosen.
    """
    sus = cluster.sus
    index = g.constant(np.arange(sus)[None, :])
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
