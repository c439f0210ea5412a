"""Forecasts of one trace, without Dagster: features, folds, models, estimates, scores, figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hpcopt_assets.cli.app import app, project_and_configs, utf8
from hpcopt_assets.cli.asked import TimezoneOption, TracePath
from hpcopt_assets.cli.reading import known_of, stated_entry
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.orchestration.terminal import cell, complain, plural, print_table, say

COLUMNS = ("predictor", "versus", "weighting", "measure", "value", "lower", "upper", "unit")


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
    from hpcopt_assets.contracts.forecast_tables import FORECAST_TABLES
    from hpcopt_assets.contracts.schemas import validate
    from hpcopt_assets.features.jobs import job_features
    from hpcopt_assets.forecast.chain import forecast_trace
    from hpcopt_assets.orchestration.files import beside, write_beside, write_drawings

    _, configs = project_and_configs()
    if out.exists() and not out.is_dir():
        raise InputError("a file", "a folder", str(out), "Name another --out.")
    known = known_of(path, configs, stated_entry(timezone=timezone))
    features = job_features(known.jobs, known.timezone)
    made = forecast_trace(features, known.jobs, known.timezone, configs.forecast, complain)
    contracts = {table.name: table for table in FORECAST_TABLES}
    for name, frame in {"job_features": features, **made.tables}.items():
        validate(contracts[name], frame)
        with beside(out / f"{name}.parquet") as target:
            frame.write_parquet(target, compression="zstd")
    for name, model in made.latest_models.items():
        write_beside(out / f"{name}.onnx", model)
    write_drawings(out, made.figures)
    for row in made.tables["feature_splits"].filter(~made.tables["feature_splits"]["is_made"]).to_dicts():
        complain(f"Fold {row['fold']} is not made: {row['note']}.")
    print_table(list(COLUMNS), [[cell(row[name]) for name in COLUMNS] for row in made.headline.to_dicts()])
    say(f"Wrote the forecasts of {plural(features.height, 'job')} to {out}.")
