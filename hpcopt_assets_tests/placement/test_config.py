"""What configs/placement.yaml may not say."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from hpcopt_assets.placement.cluster import simulate
from hpcopt_assets_tests.placement.builders import placement, small


@pytest.mark.parametrize(
    ("sections", "reason"),
    [
        ({"cluster": {"circuits_per_interval": 10}}, "states of a rail's budget"),
        ({"cluster": {"ring_orders": ["ascending", "ascending"]}}, "more than once"),
        ({"cluster": {"ring_orders": []}}, "at least 1"),
        ({"cluster": {"allocation": "anywhere"}}, "tightest_first"),
        ({"workload": {"min_servers": 500}}, "above max_servers"),
        ({"workload": {"max_servers": 1025}}, "the cluster's 1024 servers"),
        ({"workload": {"gpus": [{"gpus": 9, "share": 1.0}]}}, "the 8 of a server"),
        ({"workload": {"gpus": [{"gpus": 1, "share": 0.5}]}}, "sum to 1"),
        ({"workload": {"gpus": [{"gpus": 2, "share": 0.5}, {"gpus": 1, "share": 0.5}]}}, "ascending"),
        ({"workload": {"daily_amplitude": 1.0}}, "less than 1"),
        ({"generator": {"other_seed": 1}}, "the seed that models are fitted on"),
        ({"split": {"fit_share": 0.9}}, "nothing to score"),
        ({"score": {"ceiling_draws": 39}}, "40"),
        ({"study": {"seed": 2}}, "study.seed"),
        ({"model": {"foreign": 1}}, "Extra inputs"),
    ],
)
def test_an_unsound_config_is_refused_with_the_reason(sections, reason):
    with pytest.raises(ValidationError, match=reason):
        placement(**sections)


def test_the_cluster_is_that_of_the_original_data_set():
    cluster = placement().cluster
    assert (cluster.servers, cluster.leaves, cluster.switches) == (1024, 256, 48)


def test_arrivals_may_have_no_daily_cycle():
    config = small(workload={"daily_amplitude": 0})
    assert (simulate(config, rows=20, seed=1).records["requested_servers"] > 0).all()
