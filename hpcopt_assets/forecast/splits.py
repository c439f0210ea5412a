"""Folds: windows of time in which a model is fitted, calibrated and scored, one after the other.

In:  `Jobs`, configs/forecast.yaml.   Out: `feature_splits`; `Fold`, which alone says whom a step may look at.
Not here: fitting, calibrating, scoring.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from hpcopt_assets.contracts.forecast_config import SplitsConfig
from hpcopt_assets.contracts.forecast_tables import FEATURE_SPLITS
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.measures.schedule import BoolArray, IntArray


@dataclass(frozen=True)
class Fold:
    """Consecutive windows of submissions: fit until `cutoff_s`, calibrate, score from `score_from_s`.

    A label belongs to a window only if its job had *ended* by the window's end: what had not, nobody knew.
    """

    fold: int
    stopping_from_s: int
    cutoff_s: int
    score_from_s: int
    score_until_s: int

    def fit(self, jobs: Jobs) -> BoolArray:
        """Jobs whose runtime was known at the cut-off."""
        return _known_by(jobs, self.cutoff_s)

    def boost(self, jobs: Jobs) -> BoolArray:
        """The part of the fit window on which trees are grown while the rest tells when to stop."""
        return _known_by(jobs, self.stopping_from_s)

    def stop(self, jobs: Jobs) -> BoolArray:
        """That rest: submitted in the last part of the fit window."""
        return self.fit(jobs) & (jobs.submit_s >= self.stopping_from_s)

    def calibrate(self, jobs: Jobs) -> BoolArray:
        """Jobs submitted after the cut-off whose runtime was known when scoring begins."""
        return _known_by(jobs, self.score_from_s) & (jobs.submit_s >= self.cutoff_s)

    def serve(self, jobs: Jobs) -> BoolArray:
        """Jobs that are given this fold's forecast."""
        return (jobs.submit_s >= self.score_from_s) & (jobs.submit_s < self.score_until_s)

    def known(self, jobs: Jobs) -> BoolArray:
        """Jobs whose runtime was known when scoring begins."""
        return _known_by(jobs, self.score_from_s)

    def score(self, jobs: Jobs) -> BoolArray:
        """Those of them whose runtime the log tells."""
        return self.serve(jobs) & jobs.is_known


def _known_by(jobs: Jobs, instant_s: int) -> BoolArray:
    """Jobs submitted before an instant whose runtime was known at it."""
    return jobs.is_completed & (jobs.end_s <= instant_s) & (jobs.submit_s < instant_s)


def made_folds(splits: pl.DataFrame) -> list[Fold]:
    """The folds of `feature_splits` that have jobs enough, in order."""
    names = ("fold", "stopping_from_s", "cutoff_s", "score_from_s", "score_until_s")
    return [Fold(*row) for row in splits.filter("is_made").sort("fold").select(names).iter_rows()]


def feature_splits(trace_id: str, jobs: Jobs, config: SplitsConfig) -> pl.DataFrame:
    """The folds of a trace: expanding fit windows, score windows of equally many submissions.

    A fold with too few completed jobs is stated and not made.
    """
    if not len(jobs):
        return FEATURE_SPLITS.empty()
    submissions = np.sort(jobs.submit_s)
    width = (1 - config.first_score_ratio) / config.folds
    shares = [config.first_score_ratio + fold * width for fold in range(config.folds)]
    edges = [*(_at(submissions, share) for share in shares), _at(submissions, 1.0)]
    # One list: computed twice, a window's end and the next one's start might round apart.
    rows = []
    for number, (share, (score_from_s, score_until_s)) in enumerate(
        zip(shares, pairwise(edges), strict=True), start=1
    ):
        cutoff_s = _at(submissions, share - config.calibrate_ratio)
        submit_s = jobs.submit_s[_known_by(jobs, cutoff_s)]
        stopping_from_s = _stopping_from(submit_s, cutoff_s, config.stopping_ratio)
        fold = Fold(number, stopping_from_s, cutoff_s, score_from_s, score_until_s)
        rows.append(_row(trace_id, jobs, fold, config))
    return FEATURE_SPLITS.shape(pl.DataFrame(rows, schema=FEATURE_SPLITS.polars_schema()))


def _at(submissions: IntArray, share: float) -> int:
    """The submission at a share of all; just after the last at 1."""
    place = round(share * submissions.size)
    return int(submissions[place]) if place < submissions.size else int(submissions[-1]) + 1


def _stopping_from(submit_s: IntArray, cutoff_s: int, stopping_ratio: float) -> int:
    """Where the last part, by jobs, of a fit window begins."""
    if not submit_s.size:
        return cutoff_s
    return int(np.quantile(submit_s, 1 - stopping_ratio, method="lower"))


def _row(trace_id: str, jobs: Jobs, fold: Fold, config: SplitsConfig) -> dict[str, object]:
    counts = {
        "fit": int(fold.fit(jobs).sum()),
        "calibrate": int(fold.calibrate(jobs).sum()),
        "score": int(fold.score(jobs).sum()),
    }
    lacks = [
        f"{counts[name]:,} jobs to {name} on, {needed:,} needed"
        for name, needed in (
            ("fit", config.min_fit_jobs),
            ("calibrate", config.min_calibrate_jobs),
            ("score", 1),
        )
        if counts[name] < needed
    ]
    if not lacks and not (fold.boost(jobs).any() and fold.stop(jobs).any()):
        lacks = ["no jobs to stop the boosting on, or none before them"]
    return {
        "trace_id": trace_id,
        "fold": fold.fold,
        "stopping_from_s": fold.stopping_from_s,
        "cutoff_s": fold.cutoff_s,
        "score_from_s": fold.score_from_s,
        "score_until_s": fold.score_until_s,
        **{f"{name}_jobs_count": found for name, found in counts.items()},
        "is_made": not lacks,
        "note": "; ".join(lacks) or None,
    }
