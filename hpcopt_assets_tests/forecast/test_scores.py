"""Scores by hand, and what is compared with what.

Broken on purpose, and who noticed: scored before repair instead of what was served; user-days weighted like
jobs; difference with the sign turned; coverage of the runtime against the capped one; a band's end excluded.
"""

import numpy as np
import polars as pl
import pytest

from hpcopt_assets.contracts.forecast_tables import FORECAST_SCORES, RUNTIME_ESTIMATES
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.forecast.pictures import forecast_figures
from hpcopt_assets.forecast.scores import forecast_scores
from hpcopt_assets.forecast.splits import Fold
from hpcopt_assets.forecast.summary import differences, most_important, overview, sources
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.forecast.made import CONFIG, Made, jobs_of

RULES = ["request", "global_median", "user_median", "tsafrir", "user_request"]


@pytest.fixture(scope="module")
def scores(made: Made) -> pl.DataFrame:
    return forecast_scores("made", made.jobs, made.folds, made.estimates, CONFIG.scores)


def value(scores: pl.DataFrame, measure: str, **where: object) -> float:
    chosen = {"fold": 0, "band": "all", "weighting": "job", "predictor": "model", "versus": None} | where
    rows = scores.filter(
        pl.col("measure") == measure, *(pl.col(key).eq_missing(pl.lit(val)) for key, val in chosen.items())
    )
    assert rows.height == 1, (measure, chosen)
    return rows["value"][0]


class TestByHand:
    """User u: three jobs on one day, forecast 10 s short each; user v: one job, forecast 40 s long."""

    jobs = jobs_of(
        trace(
            [job(i, i, 1, 50, 100, wait_s=0, user="u") for i in (1, 2, 3)]
            + [job("4", 4, 9, 130, 100, wait_s=0, user="v")]
        )
    )
    estimates = pl.DataFrame(
        {
            "trace_id": "made",
            "job_id": ["1", "2", "3", "4"],
            "attempt": 1,
            "submit_s": [1, 2, 3, 4],
            "p10_s": [30.0, 40.0, 45.0, 100.0],
            "p50_s": [40.0, 40.0, 40.0, 100.0],
            "p90_s": [50.0, 60.0, 49.0, 100.0],
            "source": "model",
            "fold": 1,
            "has_crossed": [False, False, True, False],
            "split_p10_s": [1.0] * 4,
            "split_p90_s": [100.0] * 4,
            "queue_state_p50_s": [50.0, 50.0, 50.0, 90.0],
        },
        schema=RUNTIME_ESTIMATES.polars_schema(),
    )
    scores = forecast_scores("made", jobs, [Fold(1, 0, 0, 0, 100)], estimates, CONFIG.scores)

    def test_errors_weigh_jobs_or_user_days(self):
        assert value(self.scores, "mae") == 7.5  # 10, 10, 10 and 0: the runtime is capped at the request
        assert value(self.scores, "mae", weighting="user_day") == 5
        assert value(self.scores, "pinball_p50") == 3.75
        assert value(self.scores, "median_ae") == 10
        assert value(self.scores, "under_prediction") == 0.75

    def test_coverage_is_closed_and_told_for_both(self):
        assert value(self.scores, "coverage_capped") == 0.75  # the third runs for longer than its p90
        assert value(self.scores, "coverage_runtime") == 0.5  # and so does the fourth, beyond its request
        assert value(self.scores, "crossed_before_repair") == 0.25
        assert value(self.scores, "coverage_capped", predictor="model_split_only") == 1

    def test_tails(self):
        # p10: 0.1 * (20 + 10 + 5 + 0); p90: 0.1 * (0 + 10) and 0.9 * 1.
        assert value(self.scores, "pinball_p10") == pytest.approx(3.5 / 4)
        assert value(self.scores, "pinball_p90") == pytest.approx((0.1 * 10 + 0.9) / 4)
        assert value(self.scores, "width") == pytest.approx((20 + 20 + 4 + 0) / 4)

    def test_differences_are_the_predictors_loss_less_the_rules(self):
        # Nobody has a history: every rule but the global median says the request.
        assert value(self.scores, "pinball_p50", predictor="request") == 18.75
        assert value(self.scores, "pinball_p50", versus="request") == 3.75 - 18.75
        assert value(self.scores, "pinball_p50", predictor="model_queue_state", versus="model") == 1.25 - 3.75

    def test_sizes(self):
        assert value(self.scores, "mae", band="1") == 10
        assert value(self.scores, "mae", band="5+") == 0
        assert self.scores.filter(band="2-4").is_empty()

    def test_one_day_gives_no_interval(self):
        assert self.scores["lower"].null_count() == self.scores.height

    def test_the_largest_share_is_named(self):
        note = self.scores.filter(
            measure="pinball_p50", versus="request", fold=0, band="all", weighting="job"
        )["note"][0]
        assert "user u on 1970-01-01, 3 jobs, -15 of the mean; without them +0" in note


def test_the_day_that_is_named_is_the_sites():
    """Late on the 14th in Greenwich, the 15th on Kiritimati."""
    rows = [job(i, 1_699_999_999 + i, 1, 50, 100, wait_s=0, user="u") for i in (1, 2)]
    rows.append(job("3", 1_700_200_000, 1, 50, 100, wait_s=0, user="v"))
    jobs = jobs_of(trace(rows), "Pacific/Kiritimati")
    estimates = TestByHand.estimates[:3].with_columns(job_id=pl.Series(["1", "2", "3"]))
    scores = forecast_scores("made", jobs, [Fold(1, 0, 0, 0, 2_000_000_000)], estimates, CONFIG.scores)
    notes = scores.filter(fold=0, band="all", versus="request", measure="pinball_p50")["note"].drop_nulls()
    assert "on 2023-11-15" in notes[0]


def test_days_of_a_time_zone_that_nobody_knows_are_utcs():
    rows = [job("1", 1_700_000_000, 1, 50, 100, wait_s=0, user="u")]
    assert jobs_of(trace(rows), "Nowhere/Else").day.tolist() == jobs_of(trace(rows)).day.tolist()


def test_no_runtime_at_all_is_covered_by_the_shortest_forecast():
    jobs = jobs_of(trace([job("1", 1, 1, 0, 100, wait_s=0)]))
    estimates = TestByHand.estimates[:1].with_columns(p10_s=pl.lit(1.0))
    scores = forecast_scores("made", jobs, [Fold(1, 0, 0, 0, 100)], estimates, CONFIG.scores)
    assert value(scores, "coverage_runtime") == value(scores, "coverage_capped") == 1


def test_every_combination_is_there_once(scores: pl.DataFrame):
    validate(FORECAST_SCORES, scores)
    assert set(scores["fold"]) == {0, 1, 2, 3}
    assert set(scores["band"]) == {"all", "1", "2-4", "5+"}


def test_intervals_hold_their_values(scores: pl.DataFrame):
    known = scores.filter(pl.col("lower").is_not_null(), pl.col("measure") != "median_ae")
    assert known.height > 100
    assert (known["lower"] <= known["upper"]).all()
    inside = (known["lower"] <= known["value"]) & (known["value"] <= known["upper"])
    assert inside.mean() > 0.99


def test_the_model_beats_rules_where_users_have_habits(scores: pl.DataFrame):
    rows = scores.filter(fold=0, band="all", measure="pinball_p50", weighting="job").filter(
        pl.col("versus").is_in(["request", "global_median", "user_median", "tsafrir"])
        & (pl.col("predictor") == "model")
    )
    assert rows.height == 4
    assert (rows["upper"] < 0).all()


def test_losing_is_told_too(made: Made):
    """Forecasts of one second."""
    bad = made.estimates.with_columns(p50_s=pl.lit(1.0), p10_s=pl.lit(1.0))
    scores = forecast_scores("made", made.jobs, made.folds, bad, CONFIG.scores)
    assert value(scores, "pinball_p50", versus="user_request") > 0


def test_what_is_scored_is_what_was_served(made: Made, scores: pl.DataFrame):
    scored = np.logical_or.reduce([fold.score(made.jobs) for fold in made.folds])
    error = np.abs(made.jobs.target_s - made.estimates["p50_s"].to_numpy())[scored]
    assert value(scores, "mae") == pytest.approx(error.mean())


def test_coverage_is_that_of_the_intervals_that_were_served(made: Made, scores: pl.DataFrame):
    """Rearranged, capped and calibrated: intervals as the trees gave them would be covered otherwise."""
    scored = np.logical_or.reduce([fold.score(made.jobs) for fold in made.folds])
    found = {}
    for predictor, prefix in (("model", ""), ("model_split_only", "split_")):
        low, high = (made.estimates[f"{prefix}{end}_s"].to_numpy()[scored] for end in ("p10", "p90"))
        target_s = made.jobs.target_s[scored]
        covered = ((low <= target_s) & (target_s <= high)).mean()
        assert value(scores, "coverage_capped", predictor=predictor) == pytest.approx(covered)
        found[predictor] = covered
    assert found["model"] != found["model_split_only"]
    served = made.estimates.filter(pl.col("fold").is_not_null())
    assert (
        served.select((pl.col("p10_s") <= pl.col("p50_s")) & (pl.col("p50_s") <= pl.col("p90_s")))
        .to_series()
        .all()
    )
    assert served["has_crossed"].any()


def test_no_fold_no_scores(made: Made):
    assert forecast_scores("made", made.jobs, [], made.estimates, CONFIG.scores).is_empty()
    assert forecast_figures(made.jobs, [], made.estimates, FORECAST_SCORES.empty()) == []


def test_figures_show_what_the_tables_say(made: Made, scores: pl.DataFrame):
    figures = forecast_figures(made.jobs, made.folds, made.estimates, scores)
    assert [figure.file_name for figure in figures] == [
        "calibration.svg",
        "error_by_size.svg",
        "error_over_time.svg",
    ]
    again = forecast_figures(made.jobs, made.folds, made.estimates, scores)
    assert [figure.svg for figure in again] == [figure.svg for figure in figures]
    assert "last two of user" in figures[1].svg


def test_summaries(made: Made, scores: pl.DataFrame):
    shown = overview(scores)
    assert shown["mae_by_job_s"].is_sorted()
    assert set(shown["predictor"]) == {"model", "model_queue_state", *RULES}
    for row in shown.filter(pl.col("predictor").is_in(RULES)).iter_rows(named=True):
        difference = row["mae_by_job_s"] - value(scores, "mae")
        assert row["better_by_s"] == pytest.approx(difference)
        assert row["better_by_low_s"] <= difference <= row["better_by_high_s"]
    assert differences(scores).height == 2 * (len(RULES) + 1)
    assert sources(made.estimates)["ratio"].sum() == pytest.approx(1)
    assert most_important(made.importance).height == 15
