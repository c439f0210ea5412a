"""Folds: windows of time, and whom each step may look at.

Broken on purpose, and who noticed: labels by submission alone (only what had ended, leakage laws); score
windows that overlap (every job is served once); a window too small made all the same (tiny traces).
"""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.contracts.forecast_tables import FEATURE_SPLITS
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.forecast.splits import feature_splits, made_folds
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.forecast.made import CONFIG, Made, habitual_jobs, jobs_of

JOBS = jobs_of(habitual_jobs(400))


def splits_of(trace_jobs: pl.DataFrame, **changes: object) -> pl.DataFrame:
    config = CONFIG.splits.model_copy(update=changes)
    return feature_splits("made", jobs_of(trace_jobs), config)


def test_windows_follow_one_another(made: Made):
    validate(FEATURE_SPLITS, made.splits)
    assert len(made.folds) == CONFIG.splits.folds
    for fold in made.folds:
        assert fold.stopping_from_s < fold.cutoff_s < fold.score_from_s < fold.score_until_s
    for one, following in zip(made.folds, made.folds[1:], strict=False):
        assert one.score_until_s == following.score_from_s
        assert one.cutoff_s < following.cutoff_s


def test_every_job_is_served_once_from_the_first_score_window_on(made: Made):
    served = np.sum([fold.serve(made.jobs) for fold in made.folds], axis=0)
    assert served.tolist() == (made.jobs.submit_s >= made.folds[0].score_from_s).astype(int).tolist()
    share = served.sum() / len(made.jobs)
    assert share == pytest.approx(1 - CONFIG.splits.first_score_ratio, abs=0.01)


@given(st.integers(2, 400), st.integers(1, 12), st.floats(0.05, 0.95), st.floats(0.01, 0.9))
@settings(deadline=None, max_examples=200)
def test_windows_never_overlap_nor_leave_a_gap(count, folds, first, share):
    jobs = JOBS.taken(np.arange(count))
    config = CONFIG.splits.model_copy(
        update={"folds": folds, "first_score_ratio": first, "calibrate_ratio": first * share}
    )
    rows = feature_splits("made", jobs, config).rows(named=True)
    for one, following in pairwise(rows):
        assert one["score_until_s"] == following["score_from_s"]
    assert rows[-1]["score_until_s"] > jobs.submit_s.max()
    assert all(row["cutoff_s"] <= row["score_from_s"] <= row["score_until_s"] for row in rows)


def test_only_what_had_ended_is_fitted_calibrated_or_stopped_on(made: Made):
    jobs = made.jobs
    for fold in made.folds:
        for rows, until_s in (
            (fold.fit(jobs), fold.cutoff_s),
            (fold.boost(jobs), fold.stopping_from_s),
            (fold.stop(jobs), fold.cutoff_s),
            (fold.calibrate(jobs), fold.score_from_s),
        ):
            assert rows.any()
            assert jobs.end_s[rows].max() <= until_s
            assert jobs.submit_s[rows].max() < until_s
        running = (jobs.submit_s < fold.cutoff_s) & (jobs.end_s > fold.cutoff_s)
        assert not (fold.fit(jobs) & running).any()
        assert not (fold.boost(jobs) & fold.stop(jobs)).any()
        assert not (fold.fit(jobs) & fold.calibrate(jobs)).any()
        assert not (fold.calibrate(jobs) & fold.score(jobs)).any()


def test_a_job_that_runs_at_a_cut_off_exists():
    """Else the test above would say nothing."""
    jobs = jobs_of(habitual_jobs())
    folds = made_folds(feature_splits("made", jobs, CONFIG.splits))
    assert any(((jobs.submit_s < f.cutoff_s) & (jobs.end_s > f.cutoff_s)).any() for f in folds)


def test_tiny_traces_have_fewer_folds_and_say_why():
    splits = splits_of(habitual_jobs(500), min_fit_jobs=200)
    assert splits["is_made"].to_list() == [False, True, True]
    assert "200 needed" in splits["note"][0]
    assert splits["note"][1:].null_count() == 2


@pytest.mark.parametrize("rows", [[], [job("1", 0, 1, 10, wait_s=0)], [job(i, 0, 1, 10) for i in range(5)]])
def test_nothing_to_fit_on(rows):
    splits = splits_of(trace(rows))
    assert made_folds(splits) == []
    assert splits.height == (CONFIG.splits.folds if rows else 0)


def test_runtimes_that_the_log_does_not_tell_are_not_scored():
    jobs = habitual_jobs(400).with_columns(state=pl.lit("RUNNING"))
    unknown = jobs_of(jobs)
    for fold in made_folds(splits_of(habitual_jobs(400))):
        assert fold.serve(unknown).any()
        assert not fold.score(unknown).any()
