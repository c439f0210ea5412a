"""One forecast a job, made before it came, and by whom it was made.

Broken on purpose, and who noticed: jobs before the first fold left out; the user's history preferred to the
model; a fallback called a request.
"""

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.forecast_tables import RUNTIME_ESTIMATES, RUNTIME_MODEL
from hpcopt_assets.contracts.forecast_words import Predictor
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.forecast.baselines import baselines
from hpcopt_assets.forecast.estimates import runtime_estimates
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.forecast.made import CONFIG, Made, jobs_of


def test_every_job_has_one(made: Made):
    validate(RUNTIME_ESTIMATES, made.estimates)
    assert made.estimates["job_id"].to_list() == made.jobs.features["job_id"].to_list()


def test_the_model_speaks_from_the_first_score_window_on(made: Made):
    is_served = pl.Series(made.jobs.submit_s >= made.folds[0].score_from_s)
    assert ((made.estimates["source"] == "model") == is_served).all()
    assert made.estimates.filter(~is_served)["fold"].null_count() == (~is_served).sum()
    assert set(made.estimates.filter(is_served)["fold"]) == {1, 2, 3}


def test_within_the_request(made: Made):
    limit_s = made.jobs.limit_s
    assert (made.estimates["p90_s"].to_numpy() <= limit_s).all()
    assert (made.estimates["p10_s"].to_numpy() >= 1).all()


def test_the_tails_hold_about_as_often_as_they_say(made: Made):
    modelled = (made.estimates["source"] == "model").to_numpy()
    inside = (made.jobs.target_s >= made.estimates["p10_s"].to_numpy()) & (
        made.jobs.target_s <= made.estimates["p90_s"].to_numpy()
    )
    assert inside[modelled].mean() == pytest.approx(0.8, abs=0.05)


def without_models(rows):
    return runtime_estimates(jobs_of(trace(rows)), [], RUNTIME_MODEL.empty(), CONFIG.calibration)


def test_without_a_model_the_users_last_two_speak_else_the_request_else_what_stands_for_it():
    found = without_models(
        [
            job("1", 0, 1, 10, 100, wait_s=0, user="u"),
            job("2", 1, 1, 21, 100, wait_s=0, user="u"),
            job("3", 50, 1, 5, 100, wait_s=0, user="u"),
            job("4", 51, 1, 5, None, wait_s=0, user="v"),
            job("5", 60, 1, 5, 12, wait_s=0, user="u"),
        ]
    )
    assert found["source"].to_list() == ["request", "request", "user_history", "fallback", "user_history"]
    assert found["p50_s"].to_list() == [100, 100, 15, 100, 12]  # whole seconds; within the request
    assert found["p10_s"].to_list() == found["p50_s"].to_list()
    assert found["p90_s"].to_list() == [100, 100, 100, 100, 12]  # nothing but the request bounds it


def test_rules_without_a_model_by_hand():
    rows = [job(i, i * 100, 1, 10 + i, 50, wait_s=0, user="u") for i in range(6)]
    rows += [job("9", 700, 1, 30, 200, wait_s=0, user="u"), job("10", 701, 1, 30, 20, wait_s=0, user="w")]
    jobs = jobs_of(trace(rows))
    fold = _fold(cutoff_s=250, score_from_s=450)
    said = {name: values.tolist() for name, values in baselines(jobs, fold).items()}
    ninth, tenth = 6, 7
    assert [said[name][ninth] for name in Predictor if name.is_baseline] == [200, 12, 12.5, 14, 14]
    # Nobody has seen user w: request, everybody's median (of the first five, known by 450) ...
    assert [said[name][tenth] for name in Predictor if name.is_baseline] == [20, 12, 12, 20, 20]
    # The fifth job of the same request: last two of user and request.
    assert said[Predictor.USER_REQUEST][5] == 13  # 13 and 14: whole seconds


def test_everybodys_median_holds_jobs_that_ended_across_the_cut_off():
    rows = [job("1", 0, 1, 10, 1000, wait_s=0), *(job(i, 1, 1, 500, 1000, wait_s=0) for i in (2, 3))]
    jobs = jobs_of(trace(rows))
    assert baselines(jobs, _fold(50, 800))[Predictor.GLOBAL_MEDIAN].tolist() == [500] * 3


def _fold(cutoff_s: int, score_from_s: int):
    from hpcopt_assets.forecast.splits import Fold

    return Fold(1, cutoff_s, cutoff_s, score_from_s, 10_000)


def test_a_job_nobody_knows_and_no_trace_at_all():
    assert without_models([]).height == 0
    found = without_models([job("1", 0, 1, 10, None, user=None)])
    assert found.select("source", "p50_s").rows() == [("fallback", 86_400.0)]


def test_the_same_models_give_the_same_estimates(made: Made):
    again = runtime_estimates(made.jobs, made.folds, made.models, CONFIG.calibration)
    assert again.equals(made.estimates)
    assert np.isfinite(again["p50_s"].to_numpy()).all()
