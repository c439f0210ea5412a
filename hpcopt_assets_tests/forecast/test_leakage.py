"""Laws: a fold's model and its features depend on nothing that was not known at its cut-off.

A fold is given by its windows here: they are shares of all submissions, and more jobs move them. Each law is
also shown to fail where something does leak: labels of jobs still running at the cut-off, a runtime among the
inputs, a user's mean over the whole trace; for the rows' order see features/test_jobs.py.
"""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.forecast import jobs as jobs_module
from hpcopt_assets.forecast.models import fit_models
from hpcopt_assets.forecast.splits import Fold
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.forecast.made import CONFIG, Made, forecast, habitual_jobs, jobs_of

NUMBERS = ("submit_s", "release_s", "start_s", "end_s")


def models_of(trace_jobs: pl.DataFrame, fold: Fold) -> list[bytes]:
    """The bytes of a fold's models on a trace."""
    models, _ = fit_models("made", jobs_of(trace_jobs), [fold], CONFIG)
    return models["onnx"].to_list()


def known_then(trace_jobs: pl.DataFrame, fold: Fold) -> pl.DataFrame:
    """Features of the jobs submitted before the cut-off."""
    return jobs_of(trace_jobs).features.filter(pl.col("submit_s") < fold.cutoff_s)


def shuffled(trace_jobs: pl.DataFrame, fold: Fold) -> pl.DataFrame:  # noqa: ARG001 -- as the others
    return trace_jobs.sample(fraction=1.0, shuffle=True, seed=1)


def with_later_jobs(trace_jobs: pl.DataFrame, fold: Fold) -> pl.DataFrame:  # noqa: ARG001 -- as the others
    span = int(trace_jobs["release_s"].max() - trace_jobs["release_s"].min()) + 1
    later = habitual_jobs(200, seed=9).with_columns(
        job_id=pl.lit("9") + pl.col("job_id"), **{name: pl.col(name) + span for name in NUMBERS}
    )
    return pl.concat([trace_jobs, later])


def with_other_runtimes(trace_jobs: pl.DataFrame, fold: Fold) -> pl.DataFrame:
    """Of every job that had not ended by the cut-off; it still ends after it."""
    unknown = pl.col("end_s") > fold.cutoff_s
    runtime_s = pl.max_horizontal(pl.col("runtime_s") * 3 + 77, fold.cutoff_s + 1 - pl.col("start_s"))
    altered = trace_jobs.with_columns(runtime_s=pl.when(unknown).then(runtime_s).otherwise("runtime_s"))
    return altered.with_columns(end_s=pl.col("start_s") + pl.col("runtime_s"))


CHANGES = [shuffled, with_later_jobs, with_other_runtimes]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_not_known_changes_neither_model_nor_features(made: Made, change: Callable) -> None:
    fold = made.folds[1]
    altered = change(made.trace_jobs, fold)
    assert not altered.equals(made.trace_jobs)
    assert models_of(altered, fold) == made.models.filter(fold=fold.fold)["onnx"].to_list()
    assert known_then(altered, fold).equals(known_then(made.trace_jobs, fold))


def test_what_was_known_does_change_the_model(made: Made) -> None:
    """Else equal bytes would say nothing."""
    fold = made.folds[1]
    known = pl.col("end_s") < fold.cutoff_s
    longer = made.trace_jobs.with_columns(
        runtime_s=pl.col("runtime_s") + pl.when(known).then(20).otherwise(0)
    )
    altered = longer.with_columns(end_s=pl.col("start_s") + pl.col("runtime_s"))
    assert models_of(altered, fold) != made.models.filter(fold=fold.fold)["onnx"].to_list()


def test_the_same_twice_gives_the_same_bytes(made: Made) -> None:
    fold = made.folds[0]
    assert models_of(made.trace_jobs, fold) == made.models.filter(fold=fold.fold)["onnx"].to_list()


def test_how_many_are_fitted_at_once_changes_nothing(made: Made) -> None:
    one = CONFIG.model_copy(update={"threads": 1})
    models, importance = fit_models("made", made.jobs, made.folds, one)
    assert models.equals(made.models)
    assert importance.equals(made.importance)


class TestLeaksAreNoticed:
    def test_labels_of_jobs_that_still_run(self, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            Fold, "fit", lambda fold, jobs: jobs.is_completed & (jobs.submit_s < fold.cutoff_s)
        )
        fold = made.folds[1]
        honest = models_of(made.trace_jobs, fold)
        assert models_of(with_other_runtimes(made.trace_jobs, fold), fold) != honest

    def test_a_runtime_among_the_inputs(self, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
        of = jobs_module.Jobs.of

        def leaky(features: pl.DataFrame, trace_jobs: pl.DataFrame, timezone: str | None) -> object:
            told = trace_jobs.sort("release_s")["runtime_s"].cast(pl.Float64)
            return of(features.with_columns(memory_bytes=told), trace_jobs, timezone)

        monkeypatch.setattr(jobs_module.Jobs, "of", staticmethod(leaky))
        fold = made.folds[1]
        assert not known_then(with_other_runtimes(made.trace_jobs, fold), fold).equals(
            known_then(made.trace_jobs, fold)
        )

    def test_a_users_mean_over_the_whole_trace(self, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
        of = jobs_module.Jobs.of

        def leaky(features: pl.DataFrame, trace_jobs: pl.DataFrame, timezone: str | None) -> object:
            told = trace_jobs.sort("release_s").select(pl.col("runtime_s").mean().over("user")).to_series()
            return of(features.with_columns(memory_bytes=told), trace_jobs, timezone)

        monkeypatch.setattr(jobs_module.Jobs, "of", staticmethod(leaky))
        fold = made.folds[1]
        honest = models_of(made.trace_jobs, fold)
        for change in (with_later_jobs, with_other_runtimes):
            assert models_of(change(made.trace_jobs, fold), fold) != honest


def test_an_estimate_is_made_by_a_model_whose_cut_off_lies_before_the_job(made: Made) -> None:
    cutoff = {fold.fold: fold.cutoff_s for fold in made.folds}
    modelled = made.estimates.filter(source="model")
    assert modelled.height > 0
    assert all(cutoff[fold] < submit for fold, submit in modelled.select("fold", "submit_s").iter_rows())


def test_estimates_do_not_know_what_ends_after_the_submission(made: Made) -> None:
    """The whole chain: another runtime of a job changes no estimate of a job submitted before it ended."""
    fold = made.folds[-1]
    altered = with_other_runtimes(made.trace_jobs, fold)
    again = forecast(altered).estimates
    before = pl.col("submit_s") < fold.cutoff_s
    assert again.filter(before).equals(made.estimates.filter(before))
    assert not again.equals(made.estimates)


def test_alike_jobs_everywhere_are_fitted_by_a_constant() -> None:
    jobs = trace([job(i, i * 60, 1, 100, 200, wait_s=0, user="u") for i in range(400)])
    made = forecast(jobs)
    told = made.estimates.filter(source="model")["p50_s"].to_numpy()
    assert np.allclose(told, 100, rtol=0.02)
