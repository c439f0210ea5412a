"""What a model makes of each feature: while fitting, and on jobs it never saw.

In:  a fitted model and its graph, `Jobs`, the fold.   Out: rows of `runtime_importance`.
Source: permutation importance: Breiman, Machine Learning 45(1), 2001, section 10.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.forecast_config import ImportanceConfig
from hpcopt_assets.contracts.forecast_tables import RUNTIME_IMPORTANCE
from hpcopt_assets.contracts.forecast_words import Quantile
from hpcopt_assets.forecast.fit import Fitted
from hpcopt_assets.forecast.graphs import Graph
from hpcopt_assets.forecast.jobs import CHAINS, Jobs
from hpcopt_assets.forecast.scales import scale_of
from hpcopt_assets.forecast.splits import Fold
from hpcopt_assets.measures.forecast import pinball
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S


def importance(
    named: dict[str, object],
    jobs: Jobs,
    fold: Fold,
    fitted: Fitted,
    graph: Graph,
    config: ImportanceConfig,
) -> pl.DataFrame:
    """Gain, and the rise of the pinball loss on jobs of the score window when one feature is handed round.

    Handed round wherever it is read: among the inputs, and in the history from which the trees start.
    """
    gain = fitted.booster.feature_importance("gain")
    random = np.random.default_rng([config.seed, fold.fold])
    scored = np.flatnonzero(fold.score(jobs))
    few = jobs.taken(np.sort(random.choice(scored, min(config.jobs, scored.size), replace=False)))
    order = random.permutation(len(few))
    plain = _loss(few, fitted, graph)
    in_start = {name for chain in CHAINS for name in chain} if fitted.quantile is Quantile.P50 else set()
    # A feature that no tree splits on and that the start does not read changes nothing.
    rises = [
        _loss(few.shuffled(name, order), fitted, graph) - plain if gain[place] or name in in_start else 0.0
        for place, name in enumerate(fitted.features)
    ]
    return RUNTIME_IMPORTANCE.shape(
        pl.DataFrame(
            {
                "feature": list(fitted.features),
                "gain_ratio": gain / max(gain.sum(), 1e-300),
                "permutation_loss_s": rises,
            }
        ).with_columns(
            quantile=pl.lit(fitted.quantile.value), **{key: pl.lit(value) for key, value in named.items()}
        )
    )


def _loss(jobs: Jobs, fitted: Fitted, graph: Graph) -> float:
    """Mean pinball loss of a model on jobs."""
    summed = graph.run(jobs.columns(fitted.features, np.ones(len(jobs), dtype=np.bool_)))
    said = np.clip(scale_of(fitted.quantile).seconds(jobs, summed), SHORTEST_ESTIMATE_S, jobs.limit_s)
    return float(pinball(jobs.target_s, said, fitted.quantile.level).mean())
