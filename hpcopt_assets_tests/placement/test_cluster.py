"""The compiled cluster is the plain one, attempt by attempt; what comes to it is what the config says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.placement_words import MatchingCause, PlacementCause
from hpcopt_assets.placement.cluster import empty_cluster, empty_rows, entries
from hpcopt_assets.placement.kernel.state import NOBODY
from hpcopt_assets_tests.placement.brute import Circuit, PlainCluster, edges, run_plainly
from hpcopt_assets_tests.placement.builders import placement
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
            # What is on each SU's uplink: nothing, a failure (to a decision the same as a job's circuit),
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
    assert_decided_alike(*case)


def assert_decided_alike(plain: PlainCluster, servers: int, gpus: int) -> None:
    wanted, c = plain.decide(servers, gpus), compiled_twin(plain)
    budget = c.budget.copy()
    for poorer in (np.zeros_like(budget), budget // 2):
        c.budget[:] = poorer  # what one search has ruled out must not be held against the next
        entries().decide(c, servers, gpus)
    c.budget[:] = budget
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


@st.composite
def long_rings(draw):
    """A job that needs every SU of a cluster with one rail, few planes and little budget."""
    config = draw(clusters(sus=(4, 7), planes=(3, 4), servers=(1, 1)))
    config = config.model_copy(update={"rails": 1})
    plain = PlainCluster(config)
    for plane in range(config.planes):
        plain.made[0, plane] = draw(st.integers(0, config.circuits_per_interval))
        kinds = draw(st.lists(st.sampled_from("        fiii"), min_size=config.sus, max_size=config.sus))
        halves = [su for su, kind in enumerate(kinds) if kind == "i"]
        plain.failed |= {(0, plane, su) for su, kind in enumerate(kinds) if kind == "f"}
        plain.circuits += [
            Circuit(0, plane, frozenset(pair), 0) for pair in zip(halves[::2], halves[1::2], strict=False)
        ]
    return plain, config.sus, 1


@settings(max_examples=300, deadline=None)
@given(case=long_rings())
def test_a_long_ring_is_decided_as_by_trying_every_realisation(case):
    assert_decided_alike(*case)


def one_rail(sus: int = 2, planes: int = 2, limit: int = 2):
    """A cluster of one-server SUs."""
    config = placement().cluster
    return config.model_copy(
        update={
            "sus": sus,
            "servers_per_su": 1,
            "rails": 1,
            "planes": planes,
            "circuits_per_interval": limit,
            "interval_s": 1000,
        }
    )


def attempts(config, jobs, faults):
    rows = empty_rows(config, len(jobs))
    entries().run(empty_cluster(config), *as_arrays(jobs, faults), 0, rows)
    return rows


PAIR, LATER = (0, 2, 1, 50), (60, 1, 1, 1)
# A job on both SUs, and one that only looks.


@pytest.mark.parametrize(
    ("faults", "idle", "failed"),
    [
        ([], 1, 0),
        ([(20, 0, 0, 1, 0)], 0, 1),
        # An uplink fails under the job: its circuit is not kept.
        ([(20, 0, 0, 1, 0), (30, 0, 0, 1, 1)], 1, 0),
        # Repaired before the job ends: it is.
        ([(20, 0, 0, 1, 0), (50, 0, 0, 1, 1)], 0, 0),
        # Jobs end before uplinks change: at the end it still was failed.
        ([(55, 0, 0, 1, 0)], 0, 1),
        # Fails under the idle circuit, which is dropped.
    ],
)
def test_what_becomes_of_a_circuit_whose_uplink_fails(faults, idle, failed):
    seen = attempts(one_rail(), [PAIR, LATER], faults).records[1]
    assert (seen["circuits_idle_count"], round(seen["uplinks_failed_ratio"] * 4)) == (idle, failed)
    assert seen["circuits_in_use_count"] == 0


def test_a_failed_uplink_under_a_job_leaves_it_running():
    seen = attempts(one_rail(), [PAIR, (40, 1, 1, 1)], [(20, 0, 0, 1, 0)]).records[1]
    assert (seen["jobs_running_count"], seen["circuits_in_use_count"]) == (1, 1)
    assert seen["uplinks_used_ratio"] == 0.5  # both ends of the circuit, the failed one counted once


def test_an_idle_circuit_is_reused_free_and_the_budget_comes_back():
    config = one_rail(planes=1, limit=1)
    again, new = (100, 2, 1, 50), (1000, 2, 1, 1)
    rows = attempts(config, [PAIR, again, new], [])
    assert rows.records["cause"].tolist() == [0, 0, 0]
    assert rows.records["circuits_made_count"].tolist() == [0, 1, 0]
    assert rows.budget_remaining.ravel().tolist() == [1, 0, 1]


def test_a_budget_that_is_spent_is_a_cause_of_its_own():
    config = one_rail(sus=3, planes=1, limit=1)
    # SUs 0 and 1 are joined and idle; the third takes part because SU 0 is busy.
    rows = attempts(config, [PAIR, (100, 1, 1, 500), (110, 2, 1, 5), (1000, 1, 1, 1)], [])
    assert CAUSES[rows.records["cause"][2]] is PlacementCause.UPLINKS_MATCHING
    assert MATCHING[rows.records["matching_cause"][2]] is MatchingCause.BUDGET


def test_a_new_circuit_tears_down_the_idle_ones_in_its_way():
    config = one_rail(sus=3, planes=1, limit=2)
    rows = attempts(config, [PAIR, (100, 1, 1, 500), (110, 2, 1, 5), (120, 1, 1, 1)], [])
    assert rows.records["cause"].tolist() == [0, 0, 0, 0]
    assert rows.records["circuits_idle_count"].tolist() == [0, 1, 1, 1]
    assert rows.budget_remaining.ravel().tolist() == [2, 1, 1, 0]


def test_three_leaves_need_three_planes():
    causes = [attempts(one_rail(sus=3, planes=p), [(0, 3, 1, 5)], []).records["cause"][0] for p in (1, 2, 3)]
    assert [CAUSES[cause] for cause in causes] == [
        PlacementCause.UPLINKS_COUNT,
        PlacementCause.UPLINKS_MATCHING,
        PlacementCause.NONE,
    ]
    # An odd ring of two planes is the smallest in which every leaf has enough and nothing matches.
