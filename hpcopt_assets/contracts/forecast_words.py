"""Closed vocabularies of forecasts: quantiles, what a model reads, who forecasts, what is measured.

In:  vocabulary.py.   Out: `Vocabulary` enums.
Not here: policies, and where a replay took an estimate from (vocabulary.py).
"""

from __future__ import annotations

from hpcopt_assets.contracts.vocabulary import Vocabulary


class Quantile(Vocabulary):
    """The quantiles of a job's runtime that are forecast."""

    P10 = "p10"
    P50 = "p50"
    P90 = "p90"

    @property
    def level(self) -> float:
        """Share of the runtimes that ought to lie below it."""
        return {Quantile.P10: 0.1, Quantile.P50: 0.5, Quantile.P90: 0.9}[self]


class Inputs(Vocabulary):
    """What a runtime model is given."""

    REPLAY = "replay"
    # What another policy's schedule would leave as it is, or nearly: the model whose forecasts are replayed.
    QUEUE_STATE = "queue_state"
    # That and the state of the recorded system at submission: shows what is foregone, never replayed.


class Predictor(Vocabulary):
    """Who forecasts a runtime: the model, or one of the rules it must beat."""

    MODEL = "model"
    MODEL_SPLIT_ONLY = "model_split_only"
    MODEL_QUEUE_STATE = "model_queue_state"
    REQUEST = "request"
    GLOBAL_MEDIAN = "global_median"
    USER_MEDIAN = "user_median"
    TSAFRIR = "tsafrir"
    USER_REQUEST = "user_request"

    @property
    def is_baseline(self) -> bool:
        """Whether it is a rule without a model."""
        return self.code >= Predictor.REQUEST.code


class Weighting(Vocabulary):
    """What counts as one where errors are averaged."""

    JOB = "job"
    USER_DAY = "user_day"


class ForecastMeasure(Vocabulary):
    """What a row of the forecast's scores states."""

    PINBALL_P10 = "pinball_p10"
    PINBALL_P50 = "pinball_p50"
    PINBALL_P90 = "pinball_p90"
    LOG_PINBALL_P10 = "log_pinball_p10"
    LOG_PINBALL_P50 = "log_pinball_p50"
    LOG_PINBALL_P90 = "log_pinball_p90"
    MAE = "mae"
    MEDIAN_AE = "median_ae"
    UNDER_PREDICTION = "under_prediction"
    COVERAGE_RUNTIME = "coverage_runtime"
    COVERAGE_CAPPED = "coverage_capped"
    WIDTH = "width"
    CROSSED_BEFORE_REPAIR = "crossed_before_repair"


class EstimateRun(Vocabulary):
    """Which replay an accounting of estimates speaks of."""

    AS_REPLAYED = "as_replayed"
    HISTORY_HONEST = "history_honest"
