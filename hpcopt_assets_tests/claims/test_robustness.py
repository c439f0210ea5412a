"""Robustness: known answers."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.claims.robustness import Replicas, replicate, robustness
from hpcopt_assets.claims.shaking import draw_shake, max_shift_s
from hpcopt_assets.claims.weeks import SECONDS_PER_DAY, Weeks
from hpcopt_assets.contracts.robustness_config import RobustnessConfig
from hpcopt_assets.contracts.robustness_tables import BETTER, ROBUSTNESS
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.orchestration.configs import load_configs
from hpcopt_assets.orchestration.project import CHECKOUT

CONFIGS = load_configs(CHECKOUT / "configs")
CONFIG: RobustnessConfig = CONFIGS.robustness.model_copy(
    update={
        "replicas": CONFIGS.robustness.replicas.model_copy(
            update={"recorded": 40, "synthetic": 20, "conservative": 5}
        )
    }
)
EASY, CONSERVATIVE = (CONFIGS.policy(name) for name in ("easy_backfill", "conservative_backfill"))
WEEK_S = 7 * SECONDS_PER_DAY


class Made:
    """Replays that are made up: p95 of each policy is a number plus what the shake brings."""

    release_s = np.arange(100) * 1000

    def __init__(self, values: dict[str, float], noise: float) -> None:
        self.values, self.noise = values, noise

    def __call__(self, policy_id, factor, shift_s):  # noqa: ARG002 -- as the Protocol has it
        brought = self.noise * float(factor.sum() - factor.size)
        return dict.fromkeys(BETTER, self.values[policy_id] + brought)


def schedule(waits: np.ndarray, weeks: int = 20) -> Schedule:
    count = waits.size
    release_s = np.linspace(0, weeks * WEEK_S - 1, count).astype(np.int64)
    ones = np.ones(count, dtype=np.int64)
    return Schedule(release_s, release_s + waits, 100 * ones, ones, 0 * ones, 0)


def judged(
    one: float, other: float, waits: tuple[np.ndarray, np.ndarray], noise: float = 1.0, weeks: int = 20
):
    policies = [EASY, CONFIGS.policy("easy_sjbf")]
    replays = Made({EASY.id: one, "easy_sjbf": other}, noise)
    with ThreadPoolExecutor(2) as pool:
        replicas = replicate(replays, policies, CONFIG, is_synthetic=False, executor=pool)
    still = np.ones(100), np.zeros(100)
    found = robustness(
        trace_id="made",
        baseline=EASY.id,
        replicas=replicas,
        measured={each.id: replays(each.id, *still) for each in policies},
        schedules={each.id: schedule(wait, weeks) for each, wait in zip(policies, waits, strict=True)},
        measures=CONFIGS.objective.measures,
        config=CONFIG,
    )
    validate(ROBUSTNESS, found)
    return found.row(by_predicate=pl.col("measure") == "p95_bsld", named=True)


LONG, SHORT = np.full(400, 5000), np.full(400, 1000)


def test_a_policy_under_two_names_differs_by_nothing():
    row = judged(10.0, 10.0, (LONG, LONG))
    assert (row["difference"], row["lower"], row["upper"]) == (0, 0, 0)
    assert (row["block_lower"], row["block_upper"]) == (0, 0)
    assert row["improved_ratio"] == 0
    assert row["is_artefact"] is False


def test_the_shake_is_the_same_for_every_policy():
    """Paired: what shaking brings to both does not blur their difference."""
    row = judged(10.0, 8.0, (LONG, SHORT), noise=1000.0)
    assert (row["lower"], row["upper"]) == pytest.approx((-2, -2))
    assert row["improved_ratio"] == 1
    assert row["block_upper"] < 0


def test_a_difference_outside_its_interval_is_an_artefact():
    replicas = {
        name: Replicas(tuple(dict.fromkeys(BETTER, value) for value in values))
        for name, values in (("easy_backfill", [10.0] * 40), ("other", [9.0, 11.0] * 20))
    }
    found = robustness(
        trace_id="made",
        baseline=EASY.id,
        replicas=replicas,
        measured={EASY.id: dict.fromkeys(BETTER, 10.0), "other": dict.fromkeys(BETTER, 5.0)},
        schedules={EASY.id: schedule(LONG), "other": schedule(LONG)},
        measures=CONFIGS.objective.measures,
        config=CONFIG,
    )
    assert found["is_artefact"].all()
    assert found.filter(measure="p95_bsld")["improved_ratio"][0] == 0.5


def test_too_few_weeks_have_no_interval():
    row = judged(10.0, 8.0, (LONG, SHORT), weeks=9)
    assert row["blocks_count"] == 9
    assert row["block_lower"] is None
    assert judged(10.0, 8.0, (LONG, SHORT), weeks=10)["block_lower"] is not None


def test_one_lucky_week_does_not_carry_the_others():
    waits = LONG.copy()
    waits[:20] = 10
    row = judged(10.0, 9.9, (LONG, waits))
    assert row["block_upper"] >= 0


def test_conservative_has_fewer_replicas_and_says_so():
    with ThreadPoolExecutor(1) as pool:
        found = replicate(
            Made({EASY.id: 1, CONSERVATIVE.id: 1}, 1),
            [EASY, CONSERVATIVE],
            CONFIG,
            is_synthetic=True,
            executor=pool,
        )
    assert {name: len(each.told) for name, each in found.items()} == {EASY.id: 20, CONSERVATIVE.id: 5}


def test_workers_change_nothing():
    tables = []
    for workers in (1, 2):
        with ThreadPoolExecutor(workers) as pool:
            made = replicate(Made({EASY.id: 1}, 3), [EASY], CONFIG, is_synthetic=False, executor=pool)
        tables.append(made[EASY.id].values("p95_bsld").tolist())
    assert tables[0] == tables[1]
    assert len(set(tables[0])) == 40


class TestShakes:
    release_s = np.cumsum(np.full(1000, 300))

    def test_factors_and_shifts_stay_within_their_bounds(self):
        shake = draw_shake(self.release_s, 3, 17, CONFIG.shaking)
        assert 0.98 <= shake.factor.min() < 0.981
        assert 1.019 < shake.factor.max() <= 1.02
        assert (shake.shift_s.min(), shake.shift_s.max()) == (-6, 6)

    def test_at_least_a_second_where_jobs_come_at_once(self):
        assert max_shift_s(np.zeros(5, dtype=np.int64), CONFIG.shaking) == 1
        assert max_shift_s(np.zeros(1, dtype=np.int64), CONFIG.shaking) == 1

    def test_a_replica_is_the_same_whenever_it_is_drawn(self):
        one, again, other = (draw_shake(self.release_s, i, 17, CONFIG.shaking) for i in (3, 3, 4))
        assert np.array_equal(one.factor, again.factor)
        assert not np.array_equal(one.factor, other.factor)


def test_weeks_weigh_jobs_as_often_as_they_are_drawn():
    waits = np.concatenate([np.full(10, 0), np.full(10, 1000)])
    weeks = Weeks.of(schedule(waits, weeks=20), CONFIG.blocks, seed=1)
    drawn = weeks.measures(schedule(waits, 20), CONFIGS.objective.measures)
    assert drawn["mean_wait_s"].mean() == pytest.approx(500, abs=20)
    assert set(drawn["p95_wait_s"]) <= {0.0, 1000.0}
