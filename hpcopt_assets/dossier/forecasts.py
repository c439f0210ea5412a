"""The chapter on forecasts of runtimes: how good they are, what made them, and what replays owe to them.

In:  TraceEvidence.   Out: blocks. Notes that name users stay in the table forecast_scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from hpcopt_assets.contracts.forecast_tables import (
    ESTIMATE_ACCOUNTING,
    FEATURE_SPLITS,
    FORECAST_SCORES,
    RUNTIME_IMPORTANCE,
    RUNTIME_MODEL,
)
from hpcopt_assets.contracts.forecast_words import (
    EstimateRun,
    ForecastMeasure,
    Inputs,
    Predictor,
    Quantile,
    Weighting,
)
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.blocks import Block, Bullets, Column, Heading, Item, Kind, Paragraph, Table
from hpcopt_assets.dossier.evidence import Row, TraceEvidence
from hpcopt_assets.dossier.numbers import UNKNOWN, count, date, duration, real, share

ALL_FOLDS, ALL_SIZES = 0, "all"
FEATURES_SHOWN = 10
LIMITS = (
    "It is no promise: jobs of a site are not exchangeable, and how many runtimes lay between p10 and p90 is "
    "what was seen, not what will be.",
    "It was fitted on this log alone and has not been tried on another machine.",
    "It knows how common a user, a name or an account has been, never who it is.",
    "In a replay under another policy, some of the jobs that its history rests on would not have ended yet; "
    "the table of replays below says what is left without these.",
)


def forecasts(evidence: TraceEvidence) -> list[Block]:
    """Scores, the model's card, and the accounts of the replays that believe forecasts."""
    splits = evidence.table(FEATURE_SPLITS.name)
    heading = Heading(2, "How good are the forecasts of runtimes?")
    if not splits["is_made"].any():
        reasons = "; ".join(splits["note"].drop_nulls().unique(maintain_order=True))
        told = (
            f"No model could be fitted: {reasons or 'no job of the log had ended'}. Every forecast fell back."
        )
        return [heading, Paragraph(told), *_accounts(evidence)]
    return [heading, *_scores(evidence), *_card(evidence, splits), *_accounts(evidence)]


def _scores(evidence: TraceEvidence) -> list[Block]:
    whole = evidence.table(FORECAST_SCORES.name).filter(
        pl.col("fold") == ALL_FOLDS, pl.col("band") == ALL_SIZES, weighting=Weighting.JOB.value
    )
    values = whole.filter(pl.col("versus").is_null())
    errors = values.filter(measure=ForecastMeasure.MAE.value).sort("value", nulls_last=True)
    less = _by(whole, ForecastMeasure.PINBALL_P50, "versus", predictor=Predictor.MODEL.value)
    covered = _by(values, ForecastMeasure.COVERAGE_CAPPED, "predictor")
    rows = tuple(
        (
            words.PREDICTOR[Predictor(row["predictor"])],
            duration(row["value"]),
            _between(row["lower"], row["upper"]),
            *_better(less.get(row["predictor"])),
            share(covered[row["predictor"]]["value"]) if row["predictor"] in covered else "makes no interval",
            count(row["jobs_count"]),
        )
        for row in errors.iter_rows(named=True)
        if row["predictor"] != Predictor.MODEL_SPLIT_ONLY.value
    )
    columns = (
        Column("who forecasts"),
        Column("mean absolute error", Kind.NUMBER),
        Column("interval", Kind.NUMBER),
        Column("the model's error is smaller by", Kind.NUMBER),
        Column("interval of that", Kind.NUMBER),
        Column("runtimes within p10 to p90", Kind.NUMBER),
        Column("jobs (count)", Kind.NUMBER),
    )
    confidence = share(evidence.forecast.scores.confidence)
    caption = (
        "Median forecasts against runtimes cut at the request, best first; each job weighs one. Intervals: "
        f"{confidence}, days drawn with replacement. Of p10 to p90, 80 % should lie within."
    )
    return [
        Paragraph(_in_words(errors, less, covered)),
        Table(caption, columns, rows, (FORECAST_SCORES.name,)),
    ]


def _by(frame: pl.DataFrame, measure: ForecastMeasure, key: str, **others: str) -> dict[str, Row]:
    rows = frame.filter(pl.col(key).is_not_null(), measure=measure.value, **others)
    return {row[key]: row for row in rows.iter_rows(named=True)}


def _better(row: Row | None) -> tuple[str, str]:
    """By how much the model's mean absolute error is smaller: twice the fall of the median's pinball loss."""
    if row is None or row["value"] is None:
        return "", ""
    low, high = (None if row[end] is None else -2 * row[end] for end in ("upper", "lower"))
    return duration(-2 * row["value"]), _between(low, high)


def _between(low: float | None, high: float | None) -> str:
    return UNKNOWN if low is None or high is None else f"{duration(low)} to {duration(high)}"


def _in_words(errors: pl.DataFrame, less: dict[str, Row], covered: dict[str, Row]) -> str:
    mae = dict(errors.select("predictor", "value").drop_nulls().iter_rows())
    rules = [name for name in mae if Predictor(name).is_baseline]
    model = Predictor.MODEL.value
    if model not in mae or not rules:
        return "The model could not be held against the simple rules: no job was scored."
    best = min(rules, key=lambda name: mae[name])
    upper = less[best]["upper"] if best in less else None
    surely = "cannot be told from" if upper is None else "beats" if upper < 0 else "does not surely beat"
    coverage = covered.get(model, {}).get("value")
    return (
        f"The median forecast is off by {duration(mae[model])} on average. The best simple rule "
        f"({words.PREDICTOR[Predictor(best)]}) is off by {duration(mae[best])}: the model {surely} it. "
        f"{share(coverage)} of the runtimes lay between p10 and p90, where 80 % should."
    )


def _card(evidence: TraceEvidence, splits: pl.DataFrame) -> list[Block]:
    config = evidence.forecast
    models = evidence.table(RUNTIME_MODEL.name).filter(inputs=Inputs.REPLAY.value)
    trees = models["rounds_count"]
    facts = (
        ("what it forecasts", "p10, p50 and p90 of a job's runtime, cut at its request, at submission"),
        ("what it is", "gradient boosted trees, one model a quantile and fold; run by onnxruntime"),
        ("models that replays believe", count(models.height)),
        ("features that they read", _range(models["features"].list.len().to_list())),
        ("trees a model", _range(trees.to_list())),
        ("jobs fitted on, first fold to last", _range(models["fit_jobs_count"].to_list())),
        ("largest relative difference between ONNX and what was fitted", real(models["parity_ratio"].max())),  # type: ignore[arg-type]
        (
            "seeds",
            f"fit {config.model.seed}, importance {config.importance.seed}, intervals {config.scores.seed}",
        ),
    )
    return [
        Heading(3, "Model card"),
        Table(
            "The model of runtimes.",
            (Column("fact"), Column("value")),
            facts,
            (RUNTIME_MODEL.name,),
        ),
        _folds(splits),
        _features(evidence),
        Paragraph("What it cannot do:"),
        Bullets(tuple(Item("", text) for text in LIMITS)),
    ]


def _range(values: Sequence[int]) -> str:
    low, high = min(values, default=None), max(values, default=None)
    return count(low) if low == high else f"{count(low)} to {count(high)}"


def _folds(splits: pl.DataFrame) -> Table:
    rows = tuple(
        (
            str(row["fold"]),
            date(row["cutoff_s"]),
            f"{date(row['score_from_s'])} to {date(row['score_until_s'])}",
            count(row["fit_jobs_count"]),
            count(row["calibrate_jobs_count"]),
            count(row["score_jobs_count"]),
            "yes" if row["is_made"] else f"no: {row['note']}",
        )
        for row in splits.sort("fold").iter_rows(named=True)
    )
    columns = (
        Column("fold", Kind.NUMBER),
        Column("fitted on what had ended by"),
        Column("scored on submissions of"),
        Column("fitted on (jobs)", Kind.NUMBER),
        Column("calibrated on (jobs)", Kind.NUMBER),
        Column("scored on (jobs)", Kind.NUMBER),
        Column("made?"),
    )
    caption = "Folds, in order of time: no job that had not ended by the first date is fitted on."
    return Table(caption, columns, rows, (FEATURE_SPLITS.name,))


def _features(evidence: TraceEvidence) -> Table:
    found = (
        evidence.table(RUNTIME_IMPORTANCE.name)
        .filter(quantile=Quantile.P50.value)
        .group_by("feature")
        .agg(pl.col("permutation_loss_s", "gain_ratio").mean())
        .sort("permutation_loss_s", "feature", descending=[True, False], nulls_last=True)
        .head(FEATURES_SHOWN)
    )
    rows = tuple(
        (row["feature"], duration(row["permutation_loss_s"]), share(row["gain_ratio"]))
        for row in found.iter_rows(named=True)
    )
    columns = (
        Column("feature (column of job_features)", Kind.CODE),
        Column("loss rises by", Kind.NUMBER),
        Column("share of what fitting gained", Kind.NUMBER),
    )
    caption = (
        f"The {len(rows)} features without which the median forecast would be worst, as means over folds. "
        "Loss: pinball loss of p50, half the absolute error, when the feature's values are handed round "
        "among jobs."
    )
    return Table(caption, columns, rows, (RUNTIME_IMPORTANCE.name,))


def _accounts(evidence: TraceEvidence) -> list[Block]:
    frame = evidence.table(ESTIMATE_ACCOUNTING.name)
    heading = Heading(3, "What replays owe to forecasts")
    if frame.is_empty():
        return [heading, Paragraph("No policy that was replayed believes forecasts.")]
    rows = tuple(
        (
            row["policy"],
            words.RUN[EstimateRun(row["run"])],
            share(row["model_ratio"]),
            count(row["unfinished_history_count"]),
            real(row["p95_bsld"]),
            duration(row["mean_wait_s"]),
            real(row["jain_service"]),
        )
        for row in frame.iter_rows(named=True)
    )
    columns = (
        Column("policy"),
        Column("replay"),
        Column("estimates from the model", Kind.NUMBER),
        Column("estimates that knew too much (jobs)", Kind.NUMBER),
        Column("p95 bounded slowdown (ratio)", Kind.NUMBER),
        Column("mean wait", Kind.NUMBER),
        Column("Jain's index of service (0 to 1)", Kind.NUMBER),
    )
    caption = (
        "A forecast knows too much where its history holds a job that had not ended in this replay. In the "
        "second replay of each policy these jobs are believed by their requests. Estimates are those of the "
        "whole trace, measures those of the steady window."
    )
    policies = plural(frame["policy"].n_unique(), "policy", "policies")
    told = f"{policies} believed forecasts. Each was replayed again without what only the log could know."
    return [heading, Paragraph(told), Table(caption, columns, rows, (ESTIMATE_ACCOUNTING.name,))]
