"""The demo trace: a synthetic workload run through EASY with known disturbances, as a true SWF file.

In:  `SyntheticConfig` and a replay function handed in.   Out: the text of an SWF file.
Not here: reading it back: the demo is ingested like any other trace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from hpcopt_assets.contracts.protocols import PriorityReplayer
from hpcopt_assets.contracts.synthetic_config import Disturbances, SyntheticConfig
from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.synthetic.lublin import DAY_S
from hpcopt_assets.synthetic.swf import write_swf
from hpcopt_assets.synthetic.workload import Workload, make_workload

DRAIN_PRIORITY, FAVOURED_PRIORITY, USUAL_PRIORITY = 0, 1, 2
STATUS_FAILED, STATUS_COMPLETED = 0, 1


@dataclass(frozen=True)
class Drain:
    """Processors taken out of service: asked for at `asked_s`, empty from `start_s` to `end_s` (excluded)."""

    asked_s: int
    start_s: int
    end_s: int
    procs: int


@dataclass(frozen=True)
class Demo:
    """The demo and what was done to it. `start_s` and `believed_s` have one entry a job of `workload`."""

    workload: Workload
    start_s: IntArray
    believed_s: IntArray
    drain: Drain
    favoured_user: int


def make_demo(config: SyntheticConfig, replayer: PriorityReplayer) -> str:
    """The demo as the text of an SWF file; equal config, equal text."""
    return swf_of(run_demo(config, replayer), config)


def run_demo(config: SyntheticConfig, replayer: PriorityReplayer) -> Demo:
    """Draw the workload and let `replayer` start it under EASY with the configured disturbances.

    1. A share of the machine is drained: a job of that width and length, first of all in the queue from the
       moment it is asked for, and not written out. 2. One user's jobs go before all others. 3. The scheduler
    believes each request times exp(N(0, sigma)), whole seconds, at least 1.
    """
    demo = config.demo
    workload = make_workload(
        config.model,
        config.users,
        jobs=demo.jobs,
        capacity_procs=demo.procs,
        offered_load=demo.offered_load,
        unix_start_s=demo.unix_start_s,
        seed=demo.seed,
    )
    favoured_user = user_of_rank(workload, demo.disturbances.priority_user_rank)
    believed_s = _blur(workload.requested_s, demo.disturbances.request_blur_sigma, demo.seed)
    start_s, drain = _observe(workload, demo.disturbances, favoured_user, believed_s, replayer)
    return Demo(workload, start_s, believed_s, drain, favoured_user)


def swf_of(demo: Demo, config: SyntheticConfig) -> str:
    """SWF text of the demo: a header that tells what was done, and one line a job. The drain has no line."""
    workload = demo.workload
    everywhere_one = np.ones(len(workload), dtype=np.int64)
    return write_swf(
        _header(demo, config),
        {
            "job": np.arange(1, len(workload) + 1),
            "submit": workload.submit_s - config.demo.unix_start_s,
            "wait": demo.start_s - workload.submit_s,
            "run": workload.runtime_s,
            "allocated": workload.procs,
            "requested": workload.procs,
            "requested_time": workload.requested_s,
            "status": np.where(workload.is_over_request, STATUS_FAILED, STATUS_COMPLETED),
            "user": workload.user,
            "executable": workload.application,
            "queue": everywhere_one,
            "partition": everywhere_one,
        },
    )


def user_of_rank(workload: Workload, rank: int) -> int:
    """The user with the rank-th most jobs (1 is the most; ties go to the lower number).

    A rank beyond the last user means the user with fewest jobs.
    """
    users, counts = np.unique(workload.user, return_counts=True)
    by_count = np.argsort(-counts, kind="stable")
    return int(users[by_count[min(rank, users.size) - 1]])


def _blur(requested_s: IntArray, sigma: float, seed: int) -> IntArray:
    rng = np.random.default_rng([seed, 1])
    # A stream of its own beside the workload's.
    believed_s = np.rint(requested_s * np.exp(rng.normal(0.0, sigma, requested_s.size))).astype(np.int64)
    return np.maximum(believed_s, 1)


def _observe(
    workload: Workload,
    disturbances: Disturbances,
    favoured_user: int,
    believed_s: IntArray,
    replayer: PriorityReplayer,
) -> tuple[IntArray, Drain]:
    """Starts (s) of the workload's jobs, and the drain as it came about."""
    first_s, last_s = int(workload.submit_s[0]), int(workload.submit_s[-1])
    asked_s = first_s + math.floor(disturbances.drain_start_ratio * (last_s - first_s))
    drained_s = max(1, round(disturbances.drain_days * DAY_S))
    drained_procs = max(1, math.floor(disturbances.drain_procs_ratio * workload.capacity_procs))
    at = int(np.searchsorted(workload.submit_s, asked_s))

    def with_drain(values: IntArray, of_drain: int) -> list[int]:
        return [int(value) for value in np.insert(values, at, of_drain)]

    priority = np.where(workload.user == favoured_user, FAVOURED_PRIORITY, USUAL_PRIORITY)
    starts = replayer(
        release_s=with_drain(workload.submit_s, asked_s),
        runtime_s=with_drain(workload.runtime_s, drained_s),
        procs=with_drain(workload.procs, drained_procs),
        believed_s=with_drain(believed_s, drained_s),
        priority=with_drain(priority, DRAIN_PRIORITY),
        capacity_procs=workload.capacity_procs,
    )
    drain = Drain(asked_s, starts[at], starts[at] + drained_s, drained_procs)
    return np.delete(np.array(starts, dtype=np.int64), at), drain


def _header(demo: Demo, config: SyntheticConfig) -> list[tuple[str, str]]:
    workload, drain, users, wanted = demo.workload, demo.drain, config.users, config.demo
    sigma = wanted.disturbances.request_blur_sigma
    favoured_jobs = int((workload.user == demo.favoured_user).sum())
    notes = [
        "no machine stood behind this trace; verdicts on it say nothing about a real site",
        f"sizes, runtimes and arrivals: Lublin and Feitelson, JPDC 63(11), 2003; seed {wanted.seed}, "
        f"gaps scaled to an offered load of {wanted.offered_load:g}",
        f"users and requests: {users.users} users with Zipf exponent {users.zipf_exponent:g}, "
        f"requests from {len(users.popular_requests_s)} popular values",
        "waits: EASY backfilling with three disturbances",
        f"disturbance 1: {drain.procs} of {wanted.procs} processors drained from {_utc(drain.start_s)} to "
        f"{_utc(drain.end_s)}, asked for at {_utc(drain.asked_s)}",
        f"disturbance 2: the {favoured_jobs} jobs of user {demo.favoured_user} go first, throughout",
        f"disturbance 3: the scheduler believed each request times exp(N(0, {sigma:g})), throughout",
        f"status 0: ended after its request, within a grace of {users.overrun_grace_s} s",
    ]
    return [
        ("Version", "2.2"),
        ("Computer", "synthetic (Lublin-Feitelson model)"),
        ("MaxJobs", str(len(workload))),
        ("MaxRecords", str(len(workload))),
        ("UnixStartTime", str(wanted.unix_start_s)),
        ("TimeZoneString", "UTC"),
        ("StartTime", _utc(int(workload.submit_s[0]))),
        ("EndTime", _utc(int((demo.start_s + workload.runtime_s).max()))),
        ("MaxNodes", str(wanted.procs)),
        ("MaxProcs", str(wanted.procs)),
        ("MaxQueues", "1"),
        ("MaxPartitions", "1"),
        *(("Note", note) for note in notes),
    ]


def _utc(instant_s: int) -> str:
    return datetime.fromtimestamp(instant_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
