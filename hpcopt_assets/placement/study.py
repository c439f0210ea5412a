"""What admission rules avoid and what they cost, over the same arrivals and uplink failures.

In:  configs, a predictor.   Out: placement_study.
Not here: how a placement is decided (kernel/). A job turned away is lost, as one that fails is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.placement_config import PlacementConfig
from hpcopt_assets.contracts.placement_tables import PLACEMENT_STUDY
from hpcopt_assets.contracts.placement_words import Admission, PlacementCause, PlacementMethod
from hpcopt_assets.placement.bundles import SCALARS
from hpcopt_assets.placement.cluster import draw_course, empty_cluster, empty_rows, entries
from hpcopt_assets.placement.predict import Predictor
from hpcopt_assets.placement.score import RULES
from hpcopt_assets.placement.snapshots import SCALAR_COLUMNS

Array = npt.NDArray[Any]
NONE = PlacementCause.NONE.code
COUNTED = RULES[PlacementMethod.COUNT_UPLINKS]
TurnsAway = Callable[[Any, int], bool]
# Of the row that shows the state, and the code of what would come of the attempt (which only the counting
# rule looks at: its answer is exactly whether that is one of COUNTED).


def study_admission(config: PlacementConfig, predictor: Predictor) -> pl.DataFrame:
    """`placement_study`, a row for each of the configured rules: admit all, count, or ask the model."""
    own = predictor.told.own
    if own is not None and own.training_seed == config.study.seed:
        raise EvidenceError(
            f"study.seed {config.study.seed}, whose arrivals the model was fitted on",
            "another seed",
            predictor.told.where,
            "Change study.seed, or materialize placement_snapshots and placement_model again.",
        )
    rules: dict[Admission, TurnsAway] = {
        Admission.ADMIT_ALL: lambda _rows, _cause: False,
        Admission.COUNTING_RULE: lambda _rows, cause: cause in COUNTED,
        Admission.MODEL: lambda rows, _cause: _says_no(predictor, rows),
    }
    made = [_course(config, rules[name]) | {"admission": name.value} for name in config.study.admissions]
    return PLACEMENT_STUDY.shape(pl.DataFrame(made))


def _says_no(predictor: Predictor, rows: Any) -> bool:
    scalars = np.array([[rows.records[name][0] for name in SCALAR_COLUMNS]], np.float32)
    vectors = {name: getattr(rows, name) for name in predictor.layout.vectors}
    return bool(predictor.of_blocks({SCALARS: scalars, **vectors}).failed[0] >= predictor.layout.threshold)


def _course(config: PlacementConfig, turns_away: TurnsAway) -> dict[str, float]:
    """One run through all arrivals under a rule."""
    jobs, faults = draw_course(config, config.study.attempts, config.study.seed)
    cluster, rows, run = empty_cluster(config.cluster), empty_rows(config.cluster, 1), entries()
    until_s = int(jobs["at_s"][-1])
    held = placed = failed = avoided = good = 0
    for attempt, job in enumerate(jobs):
        cause = run.look(cluster, jobs, faults, attempt, rows)
        if turns_away(rows, cause):
            good += cause == NONE
            avoided += cause != NONE
        elif cause == NONE:
            run.place(cluster, job)
            placed += 1
            held += int(job["servers"]) * min(int(job["duration_s"]), until_s - int(job["at_s"]))
        else:
            failed += 1
    cost = config.model.missed_failure_cost * failed + good
    return {
        "attempts_count": jobs.size,
        "turned_away_count": avoided + good,
        "placed_count": placed,
        "failed_count": failed,
        "failures_avoided_count": avoided,
        "good_turned_away_count": good,
        "utilisation_ratio": held / (config.cluster.servers * until_s),
        "cost_per_attempt": cost / jobs.size,
    }
