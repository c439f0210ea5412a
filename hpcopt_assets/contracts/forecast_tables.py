"""Tables of features and forecasts; the columns of `job_features` are also what a model may read.

In:  makers.py, vocabulary.py, forecast_words.py.   Out: a constant a table, and what each model may read.
Not here: how a feature is computed (features/).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import polars as pl

from hpcopt_assets.contracts import forecast_words as fw
from hpcopt_assets.contracts import vocabulary as v
from hpcopt_assets.contracts.columns import Column, DType, Rule, Table
from hpcopt_assets.contracts.makers import (
    ATTEMPT,
    JOB_ID,
    SUBMIT_S,
    TRACE_ID,
    count,
    flag,
    instant,
    real,
    text,
    word,
)
from hpcopt_assets.contracts.measure_columns import MEASURES

# --- job_features: null where it is not known --------------------------------------------------------------

REQUEST = (
    real("procs", "processors asked for", "processors"),
    real("limit_s", "requested runtime, or what stands in for a missing one", "s"),
    real("has_request", "1 where the job stated a requested runtime, else 0", "0 or 1", hi=1.0),
    real("requested_area", "processors asked for times requested runtime", "processor-seconds"),
    real("memory_bytes", "memory asked for, whole job", "bytes"),
    real("gpus", "GPUs asked for", "GPUs"),
)
CALENDAR = (
    real("hour_of_day", "hour of submission in the trace's time zone", "hour", hi=23.0),
    real("weekday", "day of submission in the trace's time zone, Monday is 1", "ordinal", hi=7.0),
)
SHARES = tuple(
    real(
        f"{name}_share_ratio", f"share of the jobs submitted before that had the same {name}", "ratio", hi=1.0
    )
    for name in ("user", "group", "account", "queue", "partition", "name")
)
# Identities enter as how common they have been so far: no label in them, and nothing to learn by heart.

LIKE = {
    "user": "the same user",
    "user_procs": "the same user and processors",
    "user_request": "the same user and requested runtime",
    "user_procs_request": "the same user, processors and requested runtime",
    "user_name": "the same user and job name",
}
# Prefix of a history's columns -> whose completed jobs it is made of.
TYPICAL = {
    "last": "runtime of the last to end",
    "previous": "runtime of the last but one to end",
    "last2_mean": "mean runtime of the last two to end",
    "last5_mean": "mean runtime of the last five (or as many as there are) to end",
    "median": "median runtime",
    "spread": "standard deviation of runtimes",
}


def _history(prefix: str, like: str) -> tuple[Column, ...]:
    of = f"among jobs of {like} that had ended by the submission"
    return (
        real(f"{prefix}_count", f"how many {of}", "jobs"),
        *(real(f"{prefix}_{name}_s", f"{means} {of}", "s") for name, means in TYPICAL.items()),
        *(
            real(f"{prefix}_{name}_per_request", f"{means} {of}, over this job's request", "ratio")
            for name, means in TYPICAL.items()
        ),
    )


HISTORY = (
    *(column for prefix, like in LIKE.items() for column in _history(prefix, like)),
    real("user_used_ratio", "mean share of their request that the user's ended jobs used", "ratio", hi=1.0),
    real("user_at_limit_ratio", "share of the user's ended jobs that reached their request", "ratio", hi=1.0),
    real("user_since_submission_s", "time since the user's submission before", "s"),
    real("user_since_end_s", "time since the last end of a job of the user", "s"),
)
QUEUE_STATE = (
    real("user_running_count", "jobs of the user that ran", "jobs"),
    real("user_running_elapsed_s", "for how long these had run, on average", "s"),
    real("queued_count", "jobs released and not started", "jobs"),
    real("queued_procs", "processors that these asked for", "processors"),
    real("running_count", "jobs that ran", "jobs"),
    real("running_procs", "processors of these", "processors"),
)
# What the recorded schedule looked like: another policy's world has another.

JOB_FEATURES = Table(
    "job_features",
    "One row per job: what a scheduler knew at its submission, nothing that came later.",
    (TRACE_ID, JOB_ID, ATTEMPT, SUBMIT_S, *REQUEST, *CALENDAR, *SHARES, *HISTORY, *QUEUE_STATE),
    key=("trace_id", "job_id", "attempt"),
)

FEATURES_OF: dict[fw.Inputs, tuple[str, ...]] = {
    fw.Inputs.REPLAY: tuple(column.name for column in (*REQUEST, *CALENDAR, *SHARES, *HISTORY)),
    fw.Inputs.QUEUE_STATE: tuple(
        column.name for column in (*REQUEST, *CALENDAR, *SHARES, *HISTORY, *QUEUE_STATE)
    ),
}
# Columns of job_features that a model reads, in the order of its input.


def _ascending(*names: str) -> pl.Expr:
    return pl.all_horizontal(pl.col(low) <= pl.col(high) for low, high in pairwise(names))


# --- folds and models -------------------------------------------------------------------------------------

_FOLD = count("fold", "number of the fold, from 1", unit="ordinal", lo=1)

FEATURE_SPLITS = Table(
    "feature_splits",
    "One row per fold: fit, calibrate and score windows, consecutive and disjoint, of submissions.",
    (
        TRACE_ID,
        _FOLD,
        instant("stopping_from_s", "where the last part of the fit window begins, which stops the boosting"),
        instant("cutoff_s", "end of the fit window: no job that ended later is fitted on"),
        instant("score_from_s", "end of the calibrate window, start of the score window"),
        instant("score_until_s", "end of the score window (excluded)"),
        count("fit_jobs_count", "jobs that had ended by the cut-off", unit="jobs"),
        count("calibrate_jobs_count", "jobs of the calibrate window that had ended by its end", unit="jobs"),
        count("score_jobs_count", "jobs of the score window whose runtime is known", unit="jobs"),
        flag("is_made", "whether there are jobs enough to make this fold"),
        text("note", "why the fold is not made", nullable=True),
    ),
    key=("trace_id", "fold"),
    rules=(
        Rule(
            "windows_follow_each_other",
            "stopping_from_s <= cutoff_s <= score_from_s <= score_until_s",
            lambda: _ascending("stopping_from_s", "cutoff_s", "score_from_s", "score_until_s"),
        ),
    ),
)


RUNTIME_MODEL = Table(
    "runtime_model",
    "One row per fold, inputs and quantile: the model in ONNX, and how it compares with what was fitted.",
    (
        TRACE_ID,
        _FOLD,
        word("inputs", "what the model is given", fw.Inputs.words()),
        word("quantile", "what it predicts", fw.Quantile.words()),
        count("rounds_count", "trees", unit="trees"),
        count("fit_jobs_count", "jobs it was fitted on", unit="jobs"),
        real(
            "stopping_loss",
            "weighted pinball loss on the part of the fit window that stopped the boosting: of shares of the "
            "request for p50, of natural logarithms for p10 and p90",
            "ratio or nats",
        ),
        real(
            "parity_ratio", "largest relative difference between predictions by ONNX and by LightGBM", "ratio"
        ),
        text("sha256", "SHA-256 of the model's bytes"),
        Column("features", DType.STRINGS, "columns of job_features it reads, in the order of its input"),
        Column("onnx", DType.BINARY, "the model, to be run by onnxruntime"),
    ),
    key=("trace_id", "fold", "inputs", "quantile"),
)

RUNTIME_IMPORTANCE = Table(
    "runtime_importance",
    "One row per fold, quantile and feature: how much the model makes of it.",
    (
        TRACE_ID,
        _FOLD,
        word("quantile", "what the model predicts", fw.Quantile.words()),
        text("feature", "column of job_features"),
        real("gain_ratio", "share of the loss that splits on it took away while fitting", "ratio", hi=1.0),
        real(
            "permutation_loss_s",
            "how much the pinball loss rises on the score window when its values are handed round among jobs",
            "s",
            lo=None,
        ),
    ),
    key=("trace_id", "fold", "quantile", "feature"),
)

# --- forecasts --------------------------------------------------------------------------------------------

RUNTIME_ESTIMATES = Table(
    "runtime_estimates",
    "One row per job: its runtime's quantiles as forecast before it came, and by whom.",
    (
        TRACE_ID,
        JOB_ID,
        ATTEMPT,
        SUBMIT_S,
        real("p10_s", "one job in ten should end before it", "s", nullable=False, lo=1.0),
        real("p50_s", "every other job should end before it", "s", nullable=False, lo=1.0),
        real("p90_s", "nine jobs in ten should end before it", "s", nullable=False, lo=1.0),
        word("source", "where they came from", v.EstimateSource.words()),
        count("fold", "fold whose model made them; null where no model did", unit="ordinal", nullable=True),
        real("split_p10_s", "p10 with the offsets of the calibrate window, never updated", "s", lo=1.0),
        real("split_p90_s", "p90 with the offsets of the calibrate window, never updated", "s", lo=1.0),
        real("queue_state_p50_s", "p50 of the model that also sees the recorded system's state", "s", lo=1.0),
        flag(
            "has_crossed",
            "whether the model's quantiles crossed before they were put in order",
            nullable=True,
        ),
    ),
    key=("trace_id", "job_id", "attempt"),
    rules=(
        Rule(
            "quantiles_do_not_cross", "p10_s <= p50_s <= p90_s", lambda: _ascending("p10_s", "p50_s", "p90_s")
        ),
    ),
)

FORECAST_SCORES = Table(
    "forecast_scores",
    "One row per fold (0: all of them), band of job size, weighting, predictor and measure; with `versus` a "
    "difference.",
    (
        TRACE_ID,
        count("fold", "number of the fold; 0 for all score windows together", unit="ordinal"),
        text("band", "job size in processors: `1`, `2-8` ...; `all` for every size"),
        word("weighting", "what counts as one", fw.Weighting.words()),
        word("predictor", "who forecast", fw.Predictor.words()),
        word("measure", "what is measured", fw.ForecastMeasure.words()),
        word(
            "versus",
            "whose value is subtracted; null for the value itself",
            fw.Predictor.words(),
            nullable=True,
        ),
        real("value", "the number; null where there is nothing to measure", "see unit", lo=None),
        text("unit", "unit of value, lower and upper"),
        real("lower", "lower end of the interval, days drawn with replacement", "see unit", lo=None),
        real("upper", "upper end of the interval", "see unit", lo=None),
        count("jobs_count", "jobs that the value rests on", unit="jobs"),
        text("note", "what the value hides", nullable=True),
    ),
    key=("trace_id", "fold", "band", "weighting", "predictor", "measure", "versus"),
)

STEADY_MEASURES = tuple(
    column
    for column in MEASURES
    if column.name
    in ("mean_wait_s", "mean_bsld", "p95_bsld", "utilisation_ratio", "starved_ratio", "jain_service")
)
# What claims ask of a policy, and what is read beside it.

ESTIMATE_ACCOUNTING = Table(
    "estimate_accounting",
    "One row per forecasting policy and run: whose estimates a replay rested on, and what is left of its "
    "result when none may come from another schedule's future.",
    (
        TRACE_ID,
        text("policy", "id of a policy in configs/policies.yaml"),
        word(
            "run",
            "as replayed, or with estimates from an unfinished history taken back",
            fw.EstimateRun.words(),
        ),
        count("jobs_count", "jobs replayed, in the whole trace as all counts here", unit="jobs"),
        *(
            count(f"{source.value}_count", f"estimates from {source.value}", unit="jobs")
            for source in v.EstimateSource
        ),
        real("model_ratio", "share of the estimates that came from the model", "ratio", hi=1.0),
        count(
            "unfinished_history_count",
            "estimates whose history holds a job that had not ended in this replay",
            unit="jobs",
        ),
        real("unfinished_history_ratio", "these over the estimates with a history", "ratio", hi=1.0),
        *(replace(column, means=f"{column.means}; in the steady window") for column in STEADY_MEASURES),
    ),
    key=("trace_id", "policy", "run"),
)

FORECAST_TABLES = (
    JOB_FEATURES,
    FEATURE_SPLITS,
    RUNTIME_MODEL,
    RUNTIME_IMPORTANCE,
    RUNTIME_ESTIMATES,
    FORECAST_SCORES,
    ESTIMATE_ACCOUNTING,
)
