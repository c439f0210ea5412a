"""The cluster from the outside: attempts to place jobs, one snapshot each, and the exact decision on each.

In:  the cluster, workload and generator of configs/placement.yaml.   Out: `Rows`, arrays with a row each.
Not here: how a decision is made (kernel/), the table (snapshots.py).
"""

from __future__ import annotations

import hashlib
import itertools
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hpcopt_assets.contracts.placement_config import ClusterConfig, PlacementConfig
from hpcopt_assets.contracts.placement_words import Allocation, RingOrder
from hpcopt_assets.placement.workload import draw_faults, draw_jobs

if TYPE_CHECKING:
    from hpcopt_assets.placement.kernel.loop import Entries
    from hpcopt_assets.placement.kernel.state import Cluster, Rows

HIDDEN = 8
Array = npt.NDArray[Any]


class Course(NamedTuple):
    """What comes to a cluster: jobs and faults (workload.py), the same whatever is decided."""

    jobs: Array
    faults: Array


@cache
def entries() -> Entries:
    """The compiled entry points, looked up by the source of the kernel and the words whose codes it holds."""
    from hpcopt_assets.placement.kernel.loop import compile_entries

    sources = sorted(Path(__file__).with_name("kernel").glob("*.py"))
    words = Path(__file__).parents[1] / "contracts" / "placement_words.py"
    version = hashlib.sha256(b"".join(path.read_bytes() for path in (*sources, words))).hexdigest()
    return compile_entries(version)


def empty_cluster(config: ClusterConfig) -> Cluster:
    """A cluster with every server and uplink free and no circuit anywhere."""
    from hpcopt_assets.placement.kernel.state import FACTS, NOBODY, Cluster

    sus, rails, planes, jobs = config.sus, config.rails, config.planes, config.servers
    facts = np.zeros(1, FACTS)
    facts["sus"], facts["servers_per_su"], facts["rails"], facts["planes"] = (
        *(sus, config.servers_per_su),
        *(rails, planes),
    )
    facts["per_interval"], facts["interval_s"] = config.circuits_per_interval, config.interval_s
    facts["allocation"] = Allocation(config.allocation).code
    facts["free"] = config.servers
    switches = (rails, planes, sus)

    def zeros(*shape: int) -> Array:
        return np.zeros(shape, np.int64)

    return Cluster(
        facts=facts,
        owner=np.full((sus, config.servers_per_su), NOBODY, np.int64),
        free_in=np.full(sus, config.servers_per_su, np.int64),
        partner=np.full(switches, NOBODY, np.int64),
        used=zeros(*switches),
        failed=zeros(*switches),
        made_s=zeros(*switches),
        free_planes=np.full((rails, sus), 2**planes - 1, np.int64),
        budget=np.full((rails, planes), config.circuits_per_interval, np.int64),
        end_s=zeros(jobs),
        size=zeros(jobs),
        gpus=zeros(jobs),
        ring=zeros(jobs, sus),
        planes=zeros(jobs, rails, sus),
        queue=zeros(jobs),
        vacant=np.arange(jobs, dtype=np.int64),
        plan_sus=zeros(sus),
        plan_take=zeros(sus),
        plan_ring=zeros(sus),
        plan_planes=zeros(rails, sus),
        allowed=zeros(sus),
        idle=zeros(sus),
        left=zeros(planes),
        togo=zeros(planes, sus, planes),
        dead=np.zeros((sus, planes, (config.circuits_per_interval + 1) ** planes), np.int32),
        orders=np.array([RingOrder(order).code for order in config.ring_orders], np.int64),
    )


def empty_rows(config: ClusterConfig, count: int, *, has_hidden: bool = False) -> Rows:
    """Room for so many snapshots."""
    from hpcopt_assets.placement.kernel.state import SNAPSHOT, Rows

    return Rows(
        records=np.zeros(count, SNAPSHOT),
        server_bitmap=np.zeros((count, config.servers), np.uint8),
        leaf_utilization=np.zeros((count, config.leaves), np.float32),
        budget_remaining=np.zeros((count, config.switches), np.uint8),
        hidden=np.zeros((count, HIDDEN if has_hidden else 0), np.float32),
    )


def draw_course(config: PlacementConfig, attempts: int, seed: int) -> Course:
    """Jobs and uplink failures from a seed; the failures have a stream of their own."""
    of_jobs, of_faults = np.random.default_rng(seed).spawn(2)
    jobs = draw_jobs(config.cluster, config.workload, attempts, of_jobs)
    return Course(jobs, draw_faults(config.cluster, int(jobs["at_s"][-1]) + 1, of_faults))


def simulate(config: PlacementConfig, *, rows: int, seed: int, has_hidden: bool = False) -> Rows:
    """Attempt jobs until there are so many snapshots after the warm-up."""
    attempts = math.ceil(rows / (1.0 - config.generator.warm_up_ratio))
    course = draw_course(config, attempts, seed)
    out = empty_rows(config.cluster, rows, has_hidden=has_hidden)
    entries().run(empty_cluster(config.cluster), course.jobs, course.faults, attempts - rows, out)
    return out


def draw_failures(config: ClusterConfig, rows: Rows, draws: int, rng: np.random.Generator) -> Array:
    """For each row the share of draws of its hidden planes in which the job cannot be placed."""
    sizes = [
        [sum(1 << plane for plane in some) for some in itertools.combinations(range(config.planes), size)]
        for size in range(config.planes + 1)
    ]
    many = np.array([len(some) for some in sizes], np.int64)
    subsets = np.zeros((config.planes + 1, int(many.max())), np.int64)
    for size, some in enumerate(sizes):
        subsets[size, : len(some)] = some
    failed = np.zeros(rows.records.size)
    entries().draw(empty_cluster(config), rows, subsets, many, draws, rng, failed)
    return failed
