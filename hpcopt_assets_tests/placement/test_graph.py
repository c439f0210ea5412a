"""What the graph derives is what plain Python derives, row by row; and the same in any batch."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.placement.bundles import SCALARS
from hpcopt_assets.placement.graph import BITMAP, BUDGET, DERIVED, FAR, LEAVES, preprocessing
from hpcopt_assets.placement.snapshots import SCALAR_COLUMNS, make_snapshots
from hpcopt_assets.placement.tables import IMPOSSIBLE, STEP, corner_table, edge_table
from hpcopt_assets.placement.train import features_of, fed
from hpcopt_assets_tests.placement.brute import allocation, arranged, edges
from hpcopt_assets_tests.placement.builders import placement
from hpcopt_assets_tests.placement.strategies import clusters

COLUMNS = ("requested_servers", "requested_gpus")


def features(cluster, rows):
    """DERIVED of rows (servers, gpus, bitmap, free uplinks by SU and rail, budgets), by the graph."""
    graph = preprocessing(cluster, COLUMNS, [0.0, 0.0], [1.0, 1.0]).SerializeToString()
    blocks = {
        SCALARS: [row[:2] for row in rows],
        BITMAP: [row[2] for row in rows],
        LEAVES: [[1 - free / cluster.planes for free in row[3]] for row in rows],
        BUDGET: [row[4] for row in rows],
    }
    found = features_of(graph, {name: np.array(values, np.float32) for name, values in blocks.items()}, 1)
    return [dict(zip(DERIVED, row[2:].tolist(), strict=True)) for row in found]


def plainly(cluster, row):
    """The same, one row at a time."""
    servers, gpus, bitmap, counts, budgets = row
    planes, size = cluster.planes, cluster.servers_per_su
    free = [size - sum(bitmap[su * size : (su + 1) * size]) for su in range(cluster.sus)]
    # Where there are too few servers, all that are free would be taken.
    sus = list(allocation(free, min(servers, sum(free)), cluster.allocation)) if sum(free) else []
    ring = arranged(sus, cluster.ring_orders[0])
    k = len(ring)
    pairs, need = edges(ring), min(2, k - 1)
    edge, corner = edge_table(planes), corner_table(planes)

    def at(su, rail):
        return counts[su * cluster.rails + rail]

    slack = [at(su, rail) - need for su in ring for rail in range(gpus)]
    out = dict.fromkeys(DERIVED, 0.0)
    open_of = [
        sum(budgets[rail * planes + plane] > 0 for plane in range(planes)) for rail in range(cluster.rails)
    ]
    count = k if k > 2 else k - 1
    left = [
        sum(min(budgets[rail * planes + p], max(1, count // 2)) for p in range(planes)) - count
        for rail in range(gpus)
    ]
    rings = {"rings_nats": [], "rings_open_nats": []}
    for rail in range(gpus):
        for suffix, how_open in (("", planes), ("_open", open_of[rail])):
            of_edges = sum(edge[at(a, rail), at(b, rail), how_open] for a, b in pairs)
            out[f"edges{suffix}_nats"] += of_edges
            of_corners = sum(
                corner[at(ring[i - 1], rail), at(ring[i], rail), at(ring[(i + 1) % k], rail), how_open]
                for i in range(k)
            )
            rings[f"rings{suffix}_nats"].append(of_corners - of_edges if k > 2 else of_edges)
    return out | {
        "servers_missing": servers - sum(free),
        "fits_one_su": float(max(free) >= servers),
        "sus_chosen": k,
        "slack_min": min(slack, default=planes),
        "leaves_short": sum(s < 0 for s in slack),
        "leaves_tight": sum(s == 0 for s in slack),
        "leaves_loose": sum(s == 1 for s in slack),
        "rings_nats": sum(rings["rings_nats"]),
        "rings_open_nats": sum(rings["rings_open_nats"]),
        "worst_ring_nats": max(rings["rings_nats"], default=0),
        "worst_ring_open_nats": max(rings["rings_open_nats"], default=0),
        "budget_slack_min": min(left, default=FAR),
        "budget_slack_sum": sum(left),
        "open_planes_min": min(open_of[:gpus]),
    }


@st.composite
def rows_of(draw, cluster):
    bits = st.lists(st.sampled_from([0, 0, 1]), min_size=cluster.servers, max_size=cluster.servers)
    free = st.lists(st.integers(0, cluster.planes), min_size=cluster.leaves, max_size=cluster.leaves)
    budget = st.lists(
        st.integers(0, cluster.circuits_per_interval), min_size=cluster.switches, max_size=cluster.switches
    )
    row = st.tuples(st.integers(1, cluster.servers), st.integers(1, cluster.rails), bits, free, budget)
    return draw(st.lists(row, min_size=1, max_size=6))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_graph_derives_what_plain_python_does(data):
    cluster = data.draw(clusters(sus=(2, 6)))
    rows = data.draw(rows_of(cluster))
    for found, row in zip(features(cluster, rows), rows, strict=True):
        assert found == pytest.approx(plainly(cluster, row), abs=1e-6)


@pytest.mark.parametrize("planes", [1, 3, 4])
def test_the_tables_are_frequencies_over_all_subsets(planes):
    subsets = [set(some) for n in range(planes + 1) for some in itertools.combinations(range(planes), n)]
    edge, corner = edge_table(planes), corner_table(planes)

    def nats(hits):
        chance = sum(hits) / len(hits)
        return min(-math.log(chance), IMPOSSIBLE) if chance else IMPOSSIBLE

    for is_open in range(planes + 1):
        window = set(range(is_open))
        for sizes in itertools.product(range(planes + 1), repeat=3):
            a_s, b_s, c_s = ([some for some in subsets if len(some) == size] for size in sizes)
            edge_hits = [bool(a & b & window) for a in a_s for b in b_s]
            assert edge[sizes[0], sizes[1], is_open] == pytest.approx(nats(edge_hits), abs=STEP / 2 + 1e-6)
            hits = [
                any(p != q for p in a & b & window for q in b & c & window)
                for a in a_s
                for b in b_s
                for c in c_s
            ]
            assert corner[(*sizes, is_open)] == pytest.approx(nats(hits), abs=STEP / 2 + 1e-6)


def test_entries_are_whole_steps_so_that_sums_are_exact():
    for table in (edge_table(6), corner_table(6)):
        assert (table / STEP == np.rint(table / STEP)).all()
        assert table.max() == IMPOSSIBLE
        # The largest sum: 256 leaves, each entry at its most, still below 2^24 steps.
        assert 256 * IMPOSSIBLE / STEP <= 2**24


def test_features_do_not_depend_on_the_batch():
    config = placement()
    blocks = fed(make_snapshots(config, rows=300, seed=4))
    count = len(SCALAR_COLUMNS)
    graph = preprocessing(config.cluster, SCALAR_COLUMNS, [0.5] * count, [3.0] * count).SerializeToString()
    together = features_of(graph, blocks, 2)
    alone = np.concatenate(
        [features_of(graph, {name: v[i : i + 1] for name, v in blocks.items()}, 1) for i in range(0, 300, 30)]
    )
    assert (alone == together[::30]).all()
