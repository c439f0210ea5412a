"""The models of a trace: every fold's, as a table of ONNX graphs, and the predictions they make.

In:  `Jobs`, folds, configs/forecast.yaml.   Out: `runtime_model`, `runtime_importance`; raw quantiles.
Not here: calibration (conformal.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl

from hpcopt_assets.contracts.forecast_config import ForecastConfig
from hpcopt_assets.contracts.forecast_tables import RUNTIME_IMPORTANCE, RUNTIME_MODEL
from hpcopt_assets.contracts.forecast_words import Inputs, Quantile
from hpcopt_assets.forecast.fit import Fitted, fit
from hpcopt_assets.forecast.graphs import Graph, parity_ratio, to_onnx
from hpcopt_assets.forecast.importance import importance
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.forecast.scales import scale_of
from hpcopt_assets.forecast.splits import Fold
from hpcopt_assets.measures.schedule import BoolArray, FloatArray

FITTED = (
    *((Inputs.REPLAY, quantile) for quantile in Quantile),
    (Inputs.QUEUE_STATE, Quantile.P50),
)
# The model, and what its median foregoes by not seeing the recorded system.


def fit_models(
    trace_id: str,
    jobs: Jobs,
    folds: Sequence[Fold],
    config: ForecastConfig,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fit and export every fold's models: tables `runtime_model` and `runtime_importance`.

    As many are fitted at once as the config has threads, each on a thread of its own: the result is the same.
    """
    tasks = [(fold, inputs, quantile) for fold in folds for inputs, quantile in FITTED]
    jobs.prepare()  # what all of them read, once

    def made(task: tuple[Fold, Inputs, Quantile]) -> tuple[pl.DataFrame, pl.DataFrame]:
        fold, inputs, quantile = task
        fitted = fit(jobs, fold, inputs, quantile, config.model)
        graph = Graph(to_onnx(fitted))
        named = {"trace_id": trace_id, "fold": fold.fold}
        weights = RUNTIME_IMPORTANCE.empty()
        if inputs is Inputs.REPLAY:
            weights = importance(named, jobs, fold, fitted, graph, config.importance)
        return _model_row(named, jobs, fold, fitted, graph, inputs, quantile), weights

    models, weights = [RUNTIME_MODEL.empty()], [RUNTIME_IMPORTANCE.empty()]
    with ThreadPoolExecutor(config.threads) as pool:
        for number, (task, (model, weight)) in enumerate(zip(tasks, pool.map(made, tasks), strict=True), 1):
            models.append(model)
            weights.append(weight)
            say(f"{number} of {len(tasks)} models: fold {task[0].fold}, {task[1]} {task[2]}")
    return pl.concat(models), pl.concat(weights)


def _model_row(
    named: dict[str, object],
    jobs: Jobs,
    fold: Fold,
    fitted: Fitted,
    graph: Graph,
    inputs: Inputs,
    quantile: Quantile,
) -> pl.DataFrame:
    where = f"trace {named['trace_id']}, fold {fold.fold}, {inputs} {quantile}"
    return RUNTIME_MODEL.shape(
        pl.DataFrame(
            {
                **named,
                "inputs": inputs.value,
                "quantile": quantile.value,
                "rounds_count": fitted.rounds,
                "fit_jobs_count": fitted.fit_jobs,
                "stopping_loss": fitted.stopping_loss,
                "parity_ratio": parity_ratio(fitted, graph, jobs, fold.serve(jobs), where),
                "sha256": hashlib.sha256(graph.model).hexdigest(),
                "features": [list(fitted.features)],
                "onnx": graph.model,
            }
        )
    )


class Predictors:
    """The graphs of a trace's `runtime_model`, ready to run."""

    def __init__(self, models: pl.DataFrame) -> None:
        names = ("fold", "inputs", "quantile", "features", "onnx")
        self._graphs = {
            (fold, Inputs(inputs), Quantile(quantile)): (features, Graph(onnx))
            for fold, inputs, quantile, features, onnx in models.select(names).iter_rows()
        }

    def seconds(
        self, jobs: Jobs, fold: int, inputs: Inputs, quantile: Quantile, rows: BoolArray
    ) -> FloatArray:
        """What a fold's model says of the jobs in `rows`, neither repaired nor calibrated; NaN elsewhere."""
        features, graph = self._graphs[fold, inputs, quantile]
        summed = np.full(len(jobs), np.nan)
        summed[rows] = graph.run(jobs.columns(features, rows))
        return scale_of(quantile).seconds(jobs, summed)
