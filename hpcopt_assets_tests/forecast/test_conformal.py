"""Calibration of the tails, against a loop that looks at every job at every submission.

Broken on purpose, and who noticed: a job learnt from before it ended; not learnt from when it ends at the
very submission; the error judged by the offsets in force at the end, not by what was served; the tails' signs
swapped; a fold that forgets those before it; the rank of split conformal one too low.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.forecast.conformal import MISS, Offsets, Online, Served, offset, split_only
from hpcopt_assets.forecast.quantiles import repaired

RATE = 0.2


def offsets_of(count: int = 9) -> Offsets:
    spread = np.linspace(-0.5, 0.5, count)
    return Offsets(spread, spread)


class TestSplitOffsets:
    def test_the_rank_counts_the_new_job_too(self):
        scores = np.arange(1.0, 20.0)  # 19 scores, a tenth may exceed: the 18th
        assert offset(scores, 0.1) == 18
        assert offset(scores, 0.05) == 19

    def test_too_few_scores_for_so_small_a_share_bound_nothing(self):
        assert offset(np.arange(5.0), 0.1) == math.inf

    def test_a_share_above_one_asks_for_nothing(self):
        assert offset(np.arange(5.0), 1.3) == -math.inf

    def test_each_tail_has_its_own(self):
        quantiles = repaired(np.full(40, 100.0), np.full(40, 200.0), np.full(40, 300.0), np.full(40, 1e6))
        target_s = np.concatenate([np.full(20, 50.0), np.full(20, 200.0)])
        offsets = Offsets.of(quantiles, target_s)
        moved = split_only(quantiles, offsets, np.full(40, 1e6))
        assert moved.p10_s[0] == pytest.approx(50)  # half ran for less than p10: it goes down to them
        assert moved.p90_s[0] == pytest.approx(200)  # nobody ran for longer than 200 s

    def test_on_new_jobs_alike_the_tails_hold(self):
        random = np.random.default_rng(1)
        runtime_s = random.lognormal(5, 1, size=4000)
        said = [np.full(2000, value) for value in (100.0, 150.0, 160.0)]  # far too narrow
        quantiles = repaired(*said, np.full(2000, 1e9))
        moved = split_only(quantiles, Offsets.of(quantiles, runtime_s[:2000]), np.full(2000, 1e9))
        new = runtime_s[2000:]
        assert (new < moved.p10_s).mean() == pytest.approx(MISS, abs=0.02)
        assert (new > moved.p90_s).mean() == pytest.approx(MISS, abs=0.02)


JOBS = st.lists(
    st.tuples(
        st.integers(0, 20),  # submission
        st.integers(0, 15),  # runtime until the end, as recorded
        st.booleans(),  # completed
        st.sampled_from([3.0, 10.0, 12.0, 30.0]),  # target
        st.sampled_from([20.0, 1000.0]),  # limit
    ),
    min_size=1,
    max_size=12,
)


def naive(rows, until: int, offsets: Offsets) -> list[tuple[float, float]]:
    """Offsets in force for each job, summing over all that had ended; rows before `until` are one fold."""
    served: dict[int, tuple[float, float]] = {}
    for fold in (range(until), range(until, len(rows))):
        for job in sorted(fold, key=lambda i: (rows[i][0], i)):
            now, limit_s = rows[job][0], rows[job][4]
            below = above = MISS
            for other, (low, high) in served.items():
                submit, runtime, completed, target, _ = rows[other]
                if completed and submit + runtime <= now:
                    below += RATE * (MISS - (target < low))
                    above += RATE * (MISS - (target > high))
            down, up = offset(offsets.below, below), offset(offsets.above, above)
            low = 8.0 * math.exp(-down) if down > -math.inf else math.inf
            high = 12.0 * math.exp(up) if up < math.inf else math.inf
            served[job] = (max(min(low, 10.0), 1.0), min(max(high, 10.0), limit_s))
    return [served[job] for job in range(len(rows))]


@given(JOBS, st.data())
@settings(deadline=None, max_examples=200)
def test_offsets_in_force_at_a_submission_rest_on_what_had_ended(rows, data):
    """Two folds, the second of which begins when the first is over."""
    until = data.draw(st.integers(0, len(rows)))
    last = max((row[0] for row in rows[:until]), default=0)
    rows = rows[:until] + [(row[0] + last, *row[1:]) for row in rows[until:]]
    online, found = Online(RATE), []
    for part in (rows[:until], rows[until:]):
        if part:
            submit, runtime, completed, target, limit = (
                np.array(column) for column in zip(*part, strict=True)
            )
            size = len(part)
            quantiles = repaired(np.full(size, 8.0), np.full(size, 10.0), np.full(size, 12.0), limit)
            served = online.serve(
                quantiles, offsets_of(), Served(submit, submit + runtime, completed, target, limit)
            )
            found += list(zip(served.p10_s.tolist(), served.p90_s.tolist(), strict=True))
    assert np.allclose(found, naive(rows, until, offsets_of()), rtol=1e-12)


def test_a_world_that_changes_is_followed():
    """After the calibration runtimes grow fourfold: offsets that stay miss, those that learn do not."""
    random = np.random.default_rng(2)
    calibrated, later = random.lognormal(5, 0.5, size=500), 4 * random.lognormal(5, 0.5, size=5000)

    def said(count: int):
        return repaired(*(np.full(count, value) for value in (80.0, 150.0, 280.0)), np.full(count, 1e9))

    offsets = Offsets.of(said(500), calibrated)
    submit_s = np.arange(5000) * 10
    served = Served(submit_s, submit_s + 5, np.ones(5000, dtype=bool), later, np.full(5000, 1e9))
    stays, learns = (
        split_only(said(5000), offsets, served.limit_s),
        Online(0.05).serve(said(5000), offsets, served),
    )
    assert (later > stays.p90_s).mean() > 0.5
    assert (later[500:] > learns.p90_s[500:]).mean() == pytest.approx(MISS, abs=0.02)


def test_a_rate_of_zero_is_split_only():
    random = np.random.default_rng(3)
    runtime_s = random.lognormal(5, 1, size=300)
    quantiles = repaired(*(np.full(300, value) for value in (80.0, 150.0, 280.0)), np.full(300, 900.0))
    offsets = Offsets.of(quantiles, runtime_s)
    submit_s = np.arange(300)
    served = Served(submit_s, submit_s + 1, np.ones(300, dtype=bool), runtime_s, np.full(300, 900.0))
    still, plain = (
        Online(0.0).serve(quantiles, offsets, served),
        split_only(quantiles, offsets, served.limit_s),
    )
    assert still.p10_s == pytest.approx(plain.p10_s)
    assert still.p90_s == pytest.approx(plain.p90_s)
