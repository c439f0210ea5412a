"""Forecasts of one trace, without Dagster: features, folds, models, estimates, scores, figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hpcopt_assets.cli.app import app, project_and_configs, utf8
from hpcopt_assets.cli.asked import TimezoneOption, TracePath
from hpcopt_assets.cli.reading import known_of, stated_entry
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.forecast_words import Quantile
from hpcopt_assets.orchestration.terminal import complain, plural, print_table, say

HEADS = ["predictor", "mean error", "by user and day", "p10 to p90 held", "the model is better by"]
OWN_FILES = (
    *(f"{quantile}.onnx" for quantile in Quantile),
    *("calibration.svg", "error_by_size.svg", "error_over_time.svg"),
)
HOUR_S = 3600


@app.command()
def forecast(
    path: TracePath,
    out: Annotated[Path, typer.Option(callback=utf8, help="Folder to write tables, models and figures to.")],
    timezone: TimezoneOption = None,
) -> None:
    """Fit, calibrate and score forecasts of runtimes on times that follow one another.

    Writes job_features, feature_splits, runtime_model, runtime_importance, runtime_estimates and
    forecast_scores as parquet, the last fold's models as ONNX, and figures as SVG.
    """
    from hpcopt_assets.contracts.forecast_tables import FORECAST_TABLES, JOB_FEATURES
    from hpcopt_assets.contracts.schemas import validate
    from hpcopt_assets.features.jobs import job_features
    from hpcopt_assets.forecast.chain import forecast_trace
    from hpcopt_assets.orchestration.files import beside, write_beside

    _, configs = project_and_configs()
    if out.exists() and not out.is_dir():
        raise InputError("a file", "a folder", str(out), "Name another --out.")
    known = known_of(path, configs, stated_entry(timezone=timezone))
    features = job_features(known.jobs, known.timezone)
    validate(JOB_FEATURES, features)
    made = forecast_trace(features, known.jobs, known.timezone, configs.forecast, complain)
    contracts = {table.name: table for table in FORECAST_TABLES}
    for name, frame in {JOB_FEATURES.name: features, **made.tables}.items():
        validate(contracts[name], frame)
        with beside(out / f"{name}.parquet") as target:
            frame.write_parquet(target, compression="zstd")
    files = {f"{name}.onnx": model for name, model in made.latest_models.items()}
    files |= {drawing.file_name: drawing.svg.encode() for drawing in made.figures}
    for name in OWN_FILES:
        (out / name).unlink(missing_ok=True)  # of an earlier trace; nothing else in the folder is ours
    for name, content in files.items():
        write_beside(out / name, content)
    for row in made.tables["feature_splits"].filter(~made.tables["feature_splits"]["is_made"]).to_dicts():
        complain(f"Fold {row['fold']} is not made: {row['note']}.")
    if made.tables["runtime_model"].is_empty():
        has_ends = known.jobs["end_s"].null_count() < known.jobs.height
        why = "too few jobs had ended" if has_ends else "the log records no ends of jobs"
        complain(f"No model was fitted, for {why}: all estimates are histories, requests and stand-ins.")
    if made.overview.height:
        print_table(HEADS, [_row(row) for row in made.overview.iter_rows(named=True)])
        say("Errors are absolute, of the median, over all score windows; brackets: 95 %, days drawn anew.")
    say(f"Wrote the forecasts of {plural(features.height, 'job')} to {out}.")


def _row(row: dict[str, Any]) -> list[str]:
    """A predictor's errors in hours; the difference with its interval."""
    better, ends = row["better_by_s"], (row["better_by_low_s"], row["better_by_high_s"])
    interval = "" if None in ends else f" [{ends[0] / HOUR_S:+.2f}, {ends[1] / HOUR_S:+.2f}]"
    coverage = row["coverage_ratio"]
    return [
        row["predictor"].replace("_", " "),
        f"{row['mae_by_job_s'] / HOUR_S:.2f} h",
        f"{row['mae_by_user_day_s'] / HOUR_S:.2f} h",
        "-" if coverage is None else f"{coverage:.1%}",
        "-" if better is None else f"{better / HOUR_S:+.2f} h{interval}",
    ]
