"""What a model makes of each feature: while fitting, and on jobs it never saw.

In:  a fitted model and its graph, `Jobs`, the fold.   Out: rows of `runtime_importance`.
Source: permutation importance: Breiman, Machine Learning 45(1), 2001, section 10.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.forecast_config import ScoresConfig
from hpcopt_assets.contracts.forecast_tables import RUNTIME_IMPORTANCE
from hpcopt_assets.contracts.vocabulary import Quantile
from hpcopt_assets.forecast.fit import Fitted
from hpcopt_assets.forecast.graphs import Graph
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.forecast.scales import scale_of
from hpcopt_assets.forecast.splits import Fold
from hpcopt_assets.measures.forecast import pinball
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
from hpcopt_assets.measures.schedule import FloatArray


def importance(
    named: dict[str, object],
    jobs: Jobs,
    fold: Fold,
    fitted: Fitted,
    graph: Graph,
    quantile: Quantile,
    config: ScoresConfig,
) -> pl.DataFrame:
    """Gain, and the rise of the pinball loss on jobs of the score window when one feature is shuffled."""
    gain = fitted.booster.feature_importance("gain")
    random = np.random.default_rng([config.seed, fold.fold])
    rows = np.zeros(len(jobs), dtype=np.bool_)
    scored = np.flatnonzero(fold.score(jobs))
    rows[random.choice(scored, min(config.importance_jobs, scored.size), replace=False)] = True
    matrix = jobs.columns(fitted.features, rows)
    shuffled = random.permutation(matrix.shape[0])

    def loss(summed: FloatArray) -> float:
        spread = np.full(len(jobs), np.nan)
        spread[rows] = summed
        seconds = scale_of(quantile).seconds(jobs, spread)[rows]
        said = np.clip(seconds, SHORTEST_ESTIMATE_S, jobs.limit_s[rows])
        return float(pinball(jobs.target_s[rows], said, quantile.level).mean())

    plain = loss(graph.run(matrix))
    rises = []
    for column in range(matrix.shape[1]):
        if not gain[column]:
            rises.append(0.0)  # no tree splits on it
            continue
        mixed = matrix.copy()
        mixed[:, column] = matrix[shuffled, column]
        rises.append(loss(graph.run(mixed)) - plain)
    return RUNTIME_IMPORTANCE.shape(
        pl.DataFrame(
            {
                "feature": list(fitted.features),
                "gain_ratio": gain / max(gain.sum(), 1e-300),
                "permutation_loss_s": rises,
            }
        ).with_columns(
            quantile=pl.lit(quantile.value), **{key: pl.lit(value) for key, value in named.items()}
        )
    )
