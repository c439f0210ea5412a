"""The compiled cluster is the plain one, attempt by attempt; what comes to it is what the config says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.vocabulary import MatchingCause, PlacementCause
from hpcopt_assets.placement.cluster import empty_cluster, empty_rows, entries
from hpcopt_assets.placement.kernel.state import NOBODY
from hpcopt_assets_tests.placement.brute import Circuit, PlainCluster, edges, run_plainly
from hpcopt_assets_tests.placement.strategies import as_arrays, clusters, courses

CAUSES, MATCHING = list(PlacementCause), list(MatchingCause)


@st.composite
def states(draw):
    """A cluster in any state that its rules allow: busy servers, failed uplinks, circuits, budgets spent."""
    config = draw(clusters(sus=(3, 6), planes=(2, 4)))
    plain = PlainCluster(config)
    one_free = [config.servers_per_su, config.servers_per_su - 1, config.servers_per_su - 1]
    busy = draw(st.lists(st.sampled_from([0, *one_free]), min_size=config.sus, max_size=config.sus))
    plain.busy = {(su, server): 0 for su, count in enumerate(busy) for server in range(count)}
    for rail in range(config.rails):
        for plane in range(config.planes):
            plain.made[rail, plane] = draw(st.integers(0, config.circuits_per_interval))
            # What is on each SU's uplink: nothing, a failure (to a decision the same as another job's circuit),
            # or one half of an idle circuit.
            kinds = draw(st.lists(st.sampled_from("      fii"), min_size=config.sus, max_size=config.sus))
            halves = [su for su, kind in enumerate(kinds) if kind == "i"]
            plain.failed |= {(rail, plane, su) for su, kind in enumerate(kinds) if kind == "f"}
            for a, b in zip(halves[::2], halves[1::2], strict=False):
                plain.circuits.append(Circuit(rail, plane, frozenset((a, b)), 0))
    # Most jobs ask for nearly all that is free: those need a ring of several SUs.
    free = sum(plain.free())
    servers = max(1, free - draw(st.integers(-1, 2)))
    return plain, servers, draw(st.integers(1, config.rails))


def compiled_twin(plain: PlainCluster):
    """The same state in the compiled cluster's arrays."""
    c = empty_cluster(plain.config)
    c.free_in[:] = plain.free()
    c.facts["free"] = sum(plain.free())
    for rail, plane, su in plain.failed:
        c.failed[rail, plane, su] = 1
        c.free_planes[rail, su] &= ~(1 << plane)
    for circuit in plain.circuits:
        a, b = circuit.ends
        c.partner[circuit.rail, circuit.plane, a], c.partner[circuit.rail, circuit.plane, b] = b, a
    for (rail, plane), made in plain.made.items():
        c.budget[rail, plane] = plain.config.circuits_per_interval - made
    return c


@settings(max_examples=300, deadline=None)
@given(case=states())
def test_a_decision_is_that_of_trying_every_realisation(case):
    plain, servers, gpus = case
    wanted, c = plain.decide(servers, gpus), compiled_twin(plain)
    cause, matching = entries().decide(c, servers, gpus)
    assert CAUSES[cause] is wanted.cause
    assert (None if matching == NOBODY else MATCHING[matching]) is wanted.matching
    if wanted.cause is PlacementCause.NONE:
        k = int(c.facts["size"][0])
        assert dict(zip(c.plan_sus[:k].tolist(), c.plan_take[:k].tolist(), strict=True)) == wanted.take
        assert c.plan_ring[:k].tolist() == wanted.ring
        count = len(edges(wanted.ring))
        assert [tuple(c.plan_planes[rail, :count].tolist()) for rail in range(len(wanted.planes))] == [
            tuple(planes) for planes in wanted.planes
        ]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_every_attempt_is_seen_and_decided_as_by_the_plain_cluster(data):
    config = data.draw(clusters(servers=(1, 2)))
    jobs, faults = data.draw(courses(config))
    rows = empty_rows(config, len(jobs))
    entries().run(empty_cluster(config), *as_arrays(jobs, faults), 0, rows)
    for i, (seen, plan) in enumerate(run_plainly(config, jobs, faults)):
        record = rows.records[i]
        assert CAUSES[record["cause"]] is plan.cause
        assert rows.server_bitmap[i].tolist() == seen["server_bitmap"]
        free = np.rint((1 - rows.leaf_utilization[i]) * config.planes).astype(int).tolist()
        assert free == seen["free_planes"]
        assert rows.budget_remaining[i].tolist() == seen["budget_remaining"]
        for name in ("circuits_in_use_count", "circuits_idle_count", "circuits_made_count"):
            assert record[name] == seen[name], name
        assert record["jobs_running_count"] == seen["jobs_running_count"]
        assert record["uplinks_failed_ratio"] == pytest.approx(seen["uplinks_failed_ratio"])
        assert record["uplinks_used_ratio"] == pytest.approx(seen["uplinks_used_ratio"])
        made_s = seen["made_s"]
        age_s = record["at_s"] - sum(made_s) / len(made_s) if made_s else 0.0
        assert record["circuit_age_mean_s"] == pytest.approx(age_s)
