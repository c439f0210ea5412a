"""Shaken replicas: paired, reproducible, and counted."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.robustness_tables import BETTER, SHAKEN_MEASURES, WINDOWS
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import CHECKOUT
from hpcopt_assets.simulate.replicas import shaken_measures
from hpcopt_assets.simulate.shaken import ShakenReplayer
from hpcopt_assets.simulate.shaking import draw_shake, max_shift_s
from hpcopt_assets_tests.builders import job, trace

CONFIGS = load_configs(CHECKOUT / "configs")
SHAKING = CONFIGS.robustness.shaking.model_copy(
    update={
        "replicas": CONFIGS.robustness.shaking.replicas.model_copy(
            update={"recorded": 40, "synthetic": 20, "conservative": 5}
        )
    }
)
EASY, SJBF, CONSERVATIVE = (
    CONFIGS.policy(name) for name in ("easy_backfill", "easy_sjbf", "conservative_backfill")
)


class Made:
    """Replays that are made up: each measure is what the shake brings, plus a number of the policy's."""

    release_s = np.arange(100) * 1000

    def __init__(self, **values: float) -> None:
        self.values = values

    def __call__(self, policy_id, factor, shift_s):  # noqa: ARG002 -- as the Protocol has it
        brought = 2 + abs(float(factor.sum() - factor.size))
        measures = dict.fromkeys(BETTER, self.values[policy_id] + brought) | {"left_out_count": 0}
        return dict.fromkeys(WINDOWS, measures)


def made(
    replays, *policies, workers: int = 2, is_synthetic: bool = False, say=lambda _: None, count: int = 40
) -> pl.DataFrame:
    with ThreadPoolExecutor(workers) as pool:
        return shaken_measures(
            trace_id="made",
            replays=replays,
            policies=policies,
            config=SHAKING.model_copy(
                update={"replicas": SHAKING.replicas.model_copy(update={"recorded": count})}
            ),
            is_synthetic=is_synthetic,
            executor=pool,
            say=say,
        )


def test_a_replica_is_the_same_shaken_trace_under_every_policy():
    found = made(Made(easy_backfill=0.0, easy_sjbf=8.0), EASY, SJBF)
    easy, sjbf = (found.filter(policy=policy.id)["mean_bsld"] for policy in (EASY, SJBF))
    assert (sjbf - easy).to_list() == pytest.approx([8.0] * 120)
    assert easy.n_unique() == 40  # replicas; the same in every window here


def test_conservative_has_fewer_replicas_and_synthetic_traces_have_too():
    replays = Made(easy_backfill=1, conservative_backfill=1)
    for is_synthetic, count in ((True, 20), (False, 40)):
        found = made(replays, EASY, CONSERVATIVE, is_synthetic=is_synthetic)
        counts = dict(found.group_by("policy").agg(pl.col("replica").n_unique()).iter_rows())
        assert counts == {EASY.id: count, CONSERVATIVE.id: 5}


def test_rows_stand_by_policy_window_and_replica():
    found = made(Made(easy_backfill=1, easy_sjbf=1), SJBF, EASY)
    assert found["policy"].unique(maintain_order=True).to_list() == [SJBF.id, EASY.id]
    first = found.head(120)
    assert first["time_window"].unique(maintain_order=True).to_list() == [w.value for w in WINDOWS]
    assert first["replica"].to_list() == list(range(40)) * 3


@pytest.mark.parametrize(("count", "lines"), [(40, 10), (47, 12), (5, 5)])
def test_progress_is_told_and_ends_with_the_count(count: int, lines: int):
    told: list[str] = []
    made(Made(easy_backfill=1), EASY, say=told.append, count=count)
    assert len(told) == lines
    assert told[-1] == f"{count} of {count} shaken replicas replayed under 1 policy"


def some_jobs(count: int = 600) -> pl.DataFrame:
    random = np.random.default_rng(5)
    return trace(
        job(
            i,
            int(i * 40),
            int(random.integers(1, 9)),
            int(random.integers(1, 400)),
            int(random.integers(400, 900)),
            user=f"u{i % 7}",
        )
        for i in range(count)
    )


def test_bytes_are_equal_whoever_works_and_in_whatever_order_rows_come(tmp_path):
    """Runs with one worker and with several: the same file."""
    policies = [EASY, SJBF, CONFIGS.policy("easy_tsafrir"), CONSERVATIVE]
    jobs, written = some_jobs(), []
    for workers, frame in ((1, jobs), (2, jobs), (3, jobs.sample(fraction=1, shuffle=True, seed=1))):
        replays = ShakenReplayer(frame, policies, Capacity(8), CONFIGS.objective.measures)
        found = made(replays, *policies, workers=workers)
        validate(SHAKEN_MEASURES, found)
        found.write_parquet(tmp_path / f"{workers}.parquet")
        written.append((tmp_path / f"{workers}.parquet").read_bytes())
    assert written[0] == written[1] == written[2]
    assert found.filter(policy=EASY.id, time_window="steady")["p95_bsld"].n_unique() > 30


def test_a_machine_that_shrinks_for_good_leaves_jobs_unstarted_and_they_are_counted():
    """Wide jobs come to the end of the queue and never start; EASY lets others pass, FCFS does not."""
    jobs, steps = some_jobs(200), ((4000, 4),)
    policies = [EASY, CONFIGS.policy("fifo_strict")]
    replays = ShakenReplayer(jobs, policies, Capacity(8, steps), CONFIGS.objective.measures)
    found = made(replays, *policies)
    counts = found.filter(time_window="steady").group_by("policy").agg(pl.col("left_out_count").min())
    left = dict(counts.iter_rows())
    assert 0 < left[EASY.id] <= left["fifo_strict"]
    whole = ShakenReplayer(jobs, policies, Capacity(8), CONFIGS.objective.measures)
    assert made(whole, *policies)["left_out_count"].unique().to_list() == [0]


class TestShakes:
    release_s = np.cumsum(np.full(1000, 300))

    def test_factors_and_shifts_stay_within_their_bounds(self):
        shake = draw_shake(self.release_s, 3, SHAKING)
        assert 0.98 <= shake.factor.min() < 0.981
        assert 1.019 < shake.factor.max() <= 1.02
        assert (shake.shift_s.min(), shake.shift_s.max()) == (-6, 6)

    def test_the_gap_is_the_median_one(self):
        """Three gaps of 100 s and one of a day: the mean would let releases move by hours."""
        assert max_shift_s(np.array([0, 100, 200, 300, 86_700]), SHAKING) == 2

    def test_at_least_a_second_where_jobs_come_at_once(self):
        assert max_shift_s(np.zeros(5, dtype=np.int64), SHAKING) == 1
        assert max_shift_s(np.zeros(1, dtype=np.int64), SHAKING) == 1

    def test_a_replica_is_the_same_whenever_it_is_drawn(self):
        one, again, other = (draw_shake(self.release_s, i, SHAKING) for i in (3, 3, 4))
        assert np.array_equal(one.factor, again.factor)
        assert not np.array_equal(one.factor, other.factor)

    def test_another_seed_shakes_otherwise(self):
        other = SHAKING.model_copy(update={"seed": SHAKING.seed + 1})
        one, two = (draw_shake(self.release_s, 0, config) for config in (SHAKING, other))
        assert not np.array_equal(one.shift_s, two.shift_s)
