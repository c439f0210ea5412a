"""What comes to the cluster whatever it decides: jobs, and failures and repairs of uplinks.

In:  the cluster and workload of configs/placement.yaml, a seed.   Out: arrays, in order of time.
Not here: the cluster's state (cluster.py).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hpcopt_assets.contracts.placement_config import ClusterConfig, WorkloadConfig

DAY_S = 86_400
JOB = np.dtype([(name, np.int64) for name in ("at_s", "servers", "gpus", "duration_s")])
FAULT = np.dtype([(name, np.int64) for name in ("at_s", "rail", "plane", "su", "is_repair")])
STEPS = 64
# Of the fixed-point iteration below, whose error shrinks by the amplitude (< 1) in each.


def mean_duration_s(workload: WorkloadConfig) -> float:
    """Mean of min(X, cap) for lognormal X, in s."""
    sigma, cap = workload.duration_sigma, workload.max_duration_medians

    def below(z: float) -> float:
        return 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))

    log_cap = math.log(cap) / sigma
    medians = math.exp(sigma**2 / 2) * below(log_cap - sigma) + cap * (1.0 - below(log_cap))
    return workload.median_duration_s * medians


def mean_servers(workload: WorkloadConfig) -> float:
    """Mean of a log-uniform size."""
    low, high = workload.min_servers, workload.max_servers
    return float(low) if low == high else (high - low) / math.log(high / low)


def draw_jobs(
    cluster: ClusterConfig, workload: WorkloadConfig, count: int, rng: np.random.Generator
) -> npt.NDArray[np.void]:
    """So many jobs of dtype JOB by arrival, at a rate that makes the configured load.

    Poisson with intensity rate * (1 + amplitude * sin(2 pi t / day)): unit exponentials added up, brought
    back through the integral of the intensity.
    """
    rate = workload.offered_load * cluster.servers / (mean_servers(workload) * mean_duration_s(workload))
    flat_s = np.cumsum(rng.exponential(size=count)) / rate
    swing_s, at_s = workload.daily_amplitude * DAY_S / (2 * math.pi), flat_s
    for _ in range(STEPS):
        at_s = flat_s - swing_s * (1.0 - np.cos(2 * math.pi * at_s / DAY_S))
    jobs = np.zeros(count, JOB)
    jobs["at_s"] = np.floor(at_s)
    low, high = math.log(workload.min_servers), math.log(workload.max_servers)
    jobs["servers"] = np.rint(np.exp(rng.uniform(low, high, size=count)))
    shares = [item.share for item in workload.gpus]
    jobs["gpus"] = rng.choice([item.gpus for item in workload.gpus], size=count, p=shares)
    medians = np.minimum(
        rng.lognormal(sigma=workload.duration_sigma, size=count), workload.max_duration_medians
    )
    jobs["duration_s"] = np.maximum(1, np.rint(workload.median_duration_s * medians))
    return jobs


def draw_faults(cluster: ClusterConfig, until_s: int, rng: np.random.Generator) -> npt.NDArray[np.void]:
    """Failures and repairs of dtype FAULT before an instant, each uplink on its own, all up at 0.

    Times up and down are exponential. At one instant the order is that of rails, planes and SUs.
    """
    uplinks = cluster.switches * cluster.sus
    cycle_s = cluster.mean_uplink_up_s + cluster.mean_uplink_down_s
    expected = until_s / cycle_s
    cycles = math.ceil(expected + 10 * math.sqrt(expected) + 10)  # never too few: asserted below
    spans_s = np.empty((uplinks, 2 * cycles))
    spans_s[:, 0::2] = rng.exponential(cluster.mean_uplink_up_s, size=(uplinks, cycles))
    spans_s[:, 1::2] = rng.exponential(cluster.mean_uplink_down_s, size=(uplinks, cycles))
    at_s = np.cumsum(np.ceil(spans_s), axis=1).astype(np.int64)
    assert at_s[:, -1].min() >= until_s  # noqa: S101 -- ten standard deviations; silence would bend the rates
    uplink, event = np.nonzero(at_s < until_s)
    order = np.argsort(at_s[uplink, event], kind="stable")
    faults = np.zeros(order.size, FAULT)
    faults["at_s"] = at_s[uplink, event][order]
    rail, rest = np.divmod(uplink[order], cluster.planes * cluster.sus)
    faults["rail"] = rail
    faults["plane"], faults["su"] = np.divmod(rest, cluster.sus)
    faults["is_repair"] = event[order] % 2
    return faults
