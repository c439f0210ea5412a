"""The snapshots as shipped: what fails, why, and what can be seen of it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.errors import ContractError
from hpcopt_assets.contracts.placement_tables import PLACEMENT_SNAPSHOTS
from hpcopt_assets.contracts.placement_words import SnapshotPart
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.measures.classification import counts, f1
from hpcopt_assets.placement.snapshots import make_snapshots, parts
from hpcopt_assets_tests.placement.builders import placement, small

ROWS = 20_000


@pytest.fixture(scope="module")
def shipped_rows() -> pl.DataFrame:
    return make_snapshots(placement(), rows=ROWS, seed=1)


def test_they_keep_their_contract_with_vectors_of_the_cluster(shipped_rows):
    validate(PLACEMENT_SNAPSHOTS, shipped_rows)
    vectors = ("server_bitmap", "leaf_utilization", "budget_remaining")
    assert [shipped_rows.schema[name].size for name in vectors] == [1024, 256, 48]
    assert shipped_rows.height == ROWS


def test_failures_are_of_every_kind(shipped_rows):
    failed = shipped_rows.filter("l1_failed")
    assert 0.30 <= failed.height / ROWS <= 0.50
    shares = dict(failed["failure_cause"].value_counts(normalize=True).iter_rows())
    assert shares["uplinks_matching"] >= 0.25
    assert shares["servers"] >= 0.20
    assert (failed["matching_cause"] == "budget").sum() / failed.height >= 0.03


def test_counting_does_not_tell_who_fails(shipped_rows):
    truth, cause = shipped_rows["l1_failed"].to_numpy(), shipped_rows["failure_cause"].to_numpy()
    for foreseen in (["servers"], ["servers", "uplinks_count"]):
        assert f1(counts(truth, np.isin(cause, foreseen))) < 0.85


def test_rails_differ_even_where_every_job_uses_all_of_them():
    config = placement(workload={"gpus": [{"gpus": 8, "share": 1.0}]})
    made = make_snapshots(config, rows=4000, seed=1)
    used = made["leaf_utilization"].to_numpy().reshape(-1, 32, 8).sum(axis=1)
    assert (np.ptp(used, axis=1) > 1e-3).mean() >= 0.5
    alike = make_snapshots(
        placement(workload={"gpus": [{"gpus": 8, "share": 1.0}]}, cluster={"mean_uplink_up_s": 2**39}),
        rows=4000,
        seed=1,
    )
    # Without failures nothing would part them: the law speaks of failures and nothing else.
    assert (np.ptp(alike["leaf_utilization"].to_numpy().reshape(-1, 32, 8).sum(axis=1), axis=1) < 1e-3).all()


def test_the_warm_up_is_made_and_not_written(shipped_rows):
    assert shipped_rows["attempt"].to_list() == list(range(1053, 1053 + ROWS))
    assert shipped_rows["free_servers"][0] < 1024


def test_parts_follow_one_another_in_time():
    split = placement().split
    of = parts(split, 1000)
    assert list(dict.fromkeys(of.tolist())) == list(SnapshotPart.words())
    assert {part: int((of == part).sum()) for part in SnapshotPart} == {
        "fit": 650,
        "stop": 50,
        "calibrate": 100,
        "later": 200,
    }


def test_the_same_seed_gives_the_same_rows_and_another_gives_others():
    one, again, other = (make_snapshots(small(), rows=300, seed=seed) for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("free_servers", 1),
        ("l1_failed", None),
        ("matching_cause", "budget"),
        ("requested_servers", 129),
    ],
)
def test_rows_that_contradict_themselves_are_refused(column, value):
    made = make_snapshots(small(), rows=50, seed=1)
    row = made.filter(~pl.col("l1_failed"), pl.col("free_servers") > 1).head(1)
    assert row.height == 1
    with pytest.raises(ContractError):
        validate(PLACEMENT_SNAPSHOTS, row.with_columns(pl.lit(value, row.schema[column]).alias(column)))


@pytest.mark.parametrize("bad", [2, 255])
def test_items_of_a_vector_are_judged_too(bad):
    made = make_snapshots(small(), rows=20, seed=1)
    bits = made["server_bitmap"].to_numpy().copy()
    bits[3, 7] = bad
    with pytest.raises(ContractError, match="server_bitmap"):
        validate(PLACEMENT_SNAPSHOTS, made.with_columns(server_bitmap=pl.Series(bits)))


def test_a_number_that_is_none_in_a_vector_is_found():
    made = make_snapshots(small(), rows=20, seed=1)
    leaves = made["leaf_utilization"].to_numpy().copy()
    leaves[3, 7] = np.nan
    with pytest.raises(ContractError, match="leaf_utilization"):
        validate(PLACEMENT_SNAPSHOTS, made.with_columns(leaf_utilization=pl.Series(leaves)))
