"""Small clusters, jobs and uplink failures as structures, so that a failure shrinks to a few of each."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hpcopt_assets.contracts.placement_config import ClusterConfig
from hpcopt_assets.contracts.placement_words import Allocation, RingOrder
from hpcopt_assets.placement.workload import FAULT, JOB

INTERVAL_S = 10


@st.composite
def clusters(draw, sus=(2, 5), planes=(1, 4), servers=(1, 3)) -> ClusterConfig:
    orders = draw(st.lists(st.sampled_from(RingOrder), min_size=1, max_size=3, unique=True))
    return ClusterConfig(
        sus=draw(st.integers(*sus)),
        servers_per_su=draw(st.integers(*servers)),
        rails=draw(st.integers(1, 2)),
        planes=draw(st.integers(*planes)),
        circuits_per_interval=draw(st.integers(1, 2)),
        interval_s=INTERVAL_S,
        mean_uplink_up_s=1000,
        mean_uplink_down_s=100,
        allocation=draw(st.sampled_from(Allocation)),
        ring_orders=tuple(orders),
    )


@st.composite
def courses(draw, cluster: ClusterConfig, max_jobs: int = 12):
    """Jobs (gap, servers, gpus, duration) and changes of uplinks (gap, rail, plane, SU), by time."""
    job = st.tuples(
        st.integers(0, 6),
        st.integers(1, cluster.servers) | st.integers(cluster.servers_per_su, 3 * cluster.servers_per_su + 1),
        st.integers(1, cluster.rails),
        st.integers(1, 20),
    )
    change = st.tuples(
        st.integers(0, 15),
        st.integers(0, cluster.rails - 1),
        st.integers(0, cluster.planes - 1),
        st.integers(0, cluster.sus - 1),
    )
    jobs = draw(st.lists(job, min_size=1, max_size=max_jobs))
    changes = draw(st.lists(change, max_size=8))
    is_failed: dict[tuple[int, ...], bool] = {}
    faults, at_s = [], 0
    for gap_s, *uplink in changes:
        at_s += gap_s
        was = is_failed.get(tuple(uplink), False)
        is_failed[tuple(uplink)] = not was
        faults.append((at_s, *uplink, int(was)))
    ats_s = np.cumsum([gap_s for gap_s, *_ in jobs]).tolist()
    return [(at, *rest) for at, (_, *rest) in zip(ats_s, jobs, strict=True)], faults


def as_arrays(jobs, faults):
    return np.array(jobs, JOB), np.array(faults, FAULT)
