"""What comes to the cluster is what the config says, whatever the seed."""

from __future__ import annotations

import numpy as np
import pytest

from hpcopt_assets.placement.cluster import draw_course
from hpcopt_assets.placement.workload import DAY_S, draw_faults, draw_jobs, mean_duration_s, mean_servers
from hpcopt_assets_tests.placement.builders import placement, small

JOBS = 60_000


@pytest.fixture(scope="module")
def config():
    return placement()


@pytest.fixture(scope="module")
def jobs(config):
    return draw_jobs(config.cluster, config.workload, JOBS, np.random.default_rng(5))


def test_jobs_are_of_the_configured_sizes_and_durations(config, jobs):
    workload = config.workload
    assert jobs["servers"].min() >= workload.min_servers
    assert jobs["servers"].max() <= workload.max_servers
    assert jobs["servers"].mean() == pytest.approx(mean_servers(workload), rel=0.02)
    assert np.median(jobs["servers"]) == pytest.approx(np.sqrt(8 * 384), rel=0.03)  # log-uniform
    assert np.median(jobs["duration_s"]) == pytest.approx(workload.median_duration_s, rel=0.02)
    assert jobs["duration_s"].max() == workload.median_duration_s * workload.max_duration_medians
    assert jobs["duration_s"].mean() == pytest.approx(mean_duration_s(workload), rel=0.02)
    for item in workload.gpus:
        assert (jobs["gpus"] == item.gpus).mean() == pytest.approx(item.share, abs=0.01)


def test_they_ask_for_the_configured_load(config, jobs):
    asked = float((jobs["servers"] * jobs["duration_s"]).sum())
    assert asked / (config.cluster.servers * jobs["at_s"][-1]) == pytest.approx(1.5, rel=0.03)


def test_arrivals_follow_the_day_and_are_otherwise_independent(config, jobs):
    assert (np.diff(jobs["at_s"]) >= 0).all()
    phase = 2 * np.pi * (jobs["at_s"] % DAY_S) / DAY_S
    # Under intensity 1 + a sin, the mean of the sine at arrivals is a / 2.
    assert 2 * np.sin(phase).mean() == pytest.approx(config.workload.daily_amplitude, abs=0.02)
    assert 2 * np.cos(phase).mean() == pytest.approx(0.0, abs=0.02)
    days = np.bincount(jobs["at_s"] // DAY_S)[:-1]
    assert days.var() / days.mean() == pytest.approx(1.0, abs=0.2)  # Poisson: counts of whole days


def test_uplinks_fail_and_are_repaired_in_turn_at_the_configured_rates(config):
    cluster, until_s = config.cluster, 40_000_000
    faults = draw_faults(cluster, until_s, np.random.default_rng(5))
    assert (np.diff(faults["at_s"]) >= 0).all()
    assert faults["at_s"].max() < until_s
    uplink = (faults["rail"] * cluster.planes + faults["plane"]) * cluster.sus + faults["su"]
    order = np.argsort(uplink, kind="stable")
    is_repair, same = faults["is_repair"][order], np.diff(uplink[order]) == 0
    assert (np.diff(is_repair)[same] != 0).all()
    assert is_repair[np.concatenate([[True], ~same])].max() == 0  # each begins with a failure
    cycles = until_s / (cluster.mean_uplink_up_s + cluster.mean_uplink_down_s)
    uplinks = cluster.switches * cluster.sus
    assert (faults["is_repair"] == 0).sum() == pytest.approx(uplinks * cycles, rel=0.03)
    spans = np.diff(faults["at_s"][order])[same & (is_repair[1:] == 1)]
    assert spans.mean() == pytest.approx(cluster.mean_uplink_down_s, rel=0.03)
    assert np.unique(uplink).size == uplinks


def test_a_course_is_that_of_its_seed():
    one, again, other = (draw_course(small(), 500, seed) for seed in (1, 1, 2))
    assert (one.jobs == again.jobs).all()
    assert (one.faults == again.faults).all()
    assert (one.jobs != other.jobs).any()
