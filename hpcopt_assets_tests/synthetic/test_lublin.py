"""The model: bounds, the daily clock against the program's loop, moments of the published sample."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcopt_assets.contracts.synthetic_config import SyntheticConfig
from hpcopt_assets.synthetic import lublin
from hpcopt_assets.synthetic.workload import make_workload

MIDNIGHT_S = 1_704_067_200
HALF_HOUR_S = 1800


@given(procs=st.integers(2, 3000), jobs=st.integers(1, 200))
def test_sizes_fit_the_machine(config: SyntheticConfig, procs: int, jobs: int) -> None:
    sizes = lublin.draw_sizes(config.model, jobs, procs, np.random.default_rng(0))
    assert sizes.min() >= 1
    assert sizes.max() <= procs


@pytest.mark.parametrize(("procs", "bend"), [(128, 4.5), (256, 5.5)])
def test_sizes_bend_where_the_published_ones_do(config: SyntheticConfig, procs: int, bend: float) -> None:
    """UMed is 4.5 on 128 processors; the sample of 256 was made with 5.5."""
    only_odd = config.model.model_copy(update={"serial_probability": 0.0, "power_of_two_probability": 0.0})
    log_size = np.log2(lublin.draw_sizes(only_odd, 100_000, procs, np.random.default_rng(1)))
    assert np.mean(log_size < bend) == pytest.approx(config.model.size_probability, abs=0.005)
    below = log_size[log_size < bend]
    assert np.mean(below < (0.8 + bend) / 2) == pytest.approx(0.5, abs=0.02)


def test_shares_of_serial_and_power_of_two_jobs(config: SyntheticConfig) -> None:
    """Powers of two are some more than their probability: other sizes fall on one by rounding."""
    sizes = lublin.draw_sizes(config.model, 100_000, 128, np.random.default_rng(2))
    assert np.mean(sizes == 1) == pytest.approx(config.model.serial_probability, abs=0.006)
    share = np.mean((sizes > 1) & (np.log2(sizes) % 1 == 0))
    assert 0 < share - config.model.power_of_two_probability < 0.06


@given(procs=st.lists(st.integers(1, 512), min_size=1, max_size=50))
def test_runtimes_stay_below_the_limit(config: SyntheticConfig, procs: list[int]) -> None:
    sizes = np.array(procs, dtype=np.int64)
    runtime_s = lublin.draw_runtimes(config.model, sizes, np.random.default_rng(0))
    assert runtime_s.min() >= 1
    assert np.log(runtime_s).max() <= config.model.max_log_runtime


def test_wide_jobs_run_longer(config: SyntheticConfig) -> None:
    """At 145 processors and above the first, shorter gamma is never drawn: p is clamped at 0."""
    rng = np.random.default_rng(2)
    wide = np.log(lublin.draw_runtimes(config.model, np.full(5_000, 200), rng))
    serial = np.log(lublin.draw_runtimes(config.model, np.full(5_000, 1), rng))
    assert wide.mean() == pytest.approx(312 * 0.03, abs=0.05)
    assert wide.min() > 6
    assert serial.mean() < 6


def test_gaps_are_redrawn_above_the_limit(config: SyntheticConfig) -> None:
    tight = config.model.model_copy(update={"max_log_gap": 5.0})
    gaps_s = lublin.draw_gaps(tight, 20_000, np.random.default_rng(3))
    assert gaps_s.max() <= np.exp(5.0)
    assert lublin.draw_gaps(config.model, 20_000, np.random.default_rng(3)).max() > np.exp(5.0)


def test_cycle_is_the_gamma_over_the_half_hours(config: SyntheticConfig) -> None:
    gamma = pytest.importorskip("scipy.stats", reason="scipy judges the integral").gamma(
        config.model.cycle_a, scale=config.model.cycle_b
    )
    expected = np.empty(48)
    for bucket in range(11, 59):
        expected[(bucket - 1) % 48] = gamma.cdf(bucket + 0.5) - gamma.cdf(bucket - 0.5)
    weights = lublin.cycle_weights(config.model)
    np.testing.assert_allclose(weights, expected / expected.mean(), rtol=1e-4)


def test_day_is_busiest_after_noon_and_quiet_before_dawn(config: SyntheticConfig) -> None:
    weights = lublin.cycle_weights(config.model)
    assert weights.mean() == pytest.approx(1.0)
    assert weights.argmax() / 2 == pytest.approx(13.5, abs=1)
    assert weights.argmin() / 2 == pytest.approx(5, abs=1)


def paid_bucket_by_bucket(gaps_s: list[float], weights: np.ndarray) -> list[float]:
    """Arrivals as the program finds them: a gap pays for half hours until what is left lasts within one."""
    at_s, bucket, spent, times = 0.0, 0, 0.0, [0.0]
    for gap_s in gaps_s:
        left = gap_s
        while left > (HALF_HOUR_S - spent) * weights[bucket]:
            left -= (HALF_HOUR_S - spent) * weights[bucket]
            at_s += HALF_HOUR_S - spent
            bucket, spent = (bucket + 1) % 48, 0.0
        at_s += left / weights[bucket]
        spent += left / weights[bucket]
        times.append(at_s)
    return times


@given(gaps_s=st.lists(st.floats(1.0, 400_000.0), min_size=1, max_size=30))
def test_clock_equals_paying_half_hour_by_half_hour(config: SyntheticConfig, gaps_s: list[float]) -> None:
    weights = lublin.cycle_weights(config.model)
    slow = paid_bucket_by_bucket(gaps_s, weights)
    fast = lublin.arrivals(np.array(gaps_s), weights, slow[-1])
    np.testing.assert_allclose(fast, slow, atol=0.51, rtol=1e-9)


@given(
    gaps_s=st.lists(st.floats(0.1, 1e5), min_size=1, max_size=30),
    span_s=st.floats(60.0, 1e8),
)
def test_last_arrival_falls_on_the_span(config: SyntheticConfig, gaps_s: list[float], span_s: float) -> None:
    at_s = lublin.arrivals(np.array(gaps_s), lublin.cycle_weights(config.model), span_s)
    assert at_s[0] == 0
    assert at_s[-1] == pytest.approx(span_s, abs=0.51)
    assert np.all(np.diff(at_s) >= 0)


@pytest.fixture(scope="module")
def published(test_data: Path) -> np.ndarray:
    """Submit, runtime and processors of the published sample; shape (10000, 3)."""
    return np.loadtxt(test_data / "traces" / "swf" / "lublin_256.swf", comments=";", usecols=(1, 3, 4))


def test_moments_are_those_of_the_published_sample(config: SyntheticConfig, published: np.ndarray) -> None:
    """Within four standard errors of the sample's 10,000 jobs; ours are so many that theirs dominate."""
    submit_s, runtime_s, procs = published.T
    ours = make_workload(
        config.model,
        config.users,
        jobs=300_000,
        capacity_procs=256,
        offered_load=1.0608,
        unix_start_s=MIDNIGHT_S,
        seed=4,
    )

    def moments(submit_s: np.ndarray, runtime_s: np.ndarray, procs: np.ndarray) -> dict[str, np.ndarray]:
        gaps_s = np.diff(submit_s)
        return {
            "serial share": procs == 1,
            "power of two share": (procs > 1) & (np.log2(procs) % 1 == 0),
            "log2 size": np.log2(procs[procs > 1]),
            "ln runtime": np.log(runtime_s),
            "ln gap": np.log(gaps_s[gaps_s > 0]),
        }

    theirs = moments(submit_s, runtime_s, procs)
    for name, values in moments(ours.submit_s, ours.runtime_s, ours.procs).items():
        sample = theirs[name].astype(float)
        n, sd = sample.size, sample.std()
        kurtosis = np.mean((sample - sample.mean()) ** 4) / sd**4
        if name != "ln gap":  # the mean gap follows from the load, which varies with the sample
            assert values.mean() == pytest.approx(sample.mean(), abs=4 * sd / np.sqrt(n)), name
        assert values.std() == pytest.approx(sd, abs=4 * sd * np.sqrt((kurtosis - 1) / (4 * n))), name


def test_hours_of_the_day_are_those_of_the_published_sample(
    config: SyntheticConfig, published: np.ndarray
) -> None:
    """Within four standard errors, found from the spread of the sample's 89 days."""
    ours = make_workload(
        config.model,
        config.users,
        jobs=300_000,
        capacity_procs=256,
        offered_load=1.0,
        unix_start_s=MIDNIGHT_S,
        seed=5,
    )
    hour = (ours.submit_s - MIDNIGHT_S) // 3600 % 24
    profile = np.bincount(hour, minlength=24) / hour.size

    days, hours = np.divmod(published[:, 0].astype(int) // 3600, 24)
    counts = np.zeros((days.max() + 1, 24))
    np.add.at(counts, (days, hours), 1)
    total = counts.sum()
    residual = counts - counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / total
    error = np.sqrt((residual**2).sum(axis=0)) / total
    assert np.all(np.abs(profile - counts.sum(axis=0) / total) < 4 * error)
    assert error.max() < 0.01
