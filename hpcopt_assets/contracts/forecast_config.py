"""Forecasts' decisions (configs/forecast.yaml): windows of time, the model, its calibration, its scores.

In:  a mapping parsed from YAML.   Out: `ForecastConfig`.
Not here: features, whose definition is code (features/), and policies that use forecasts (policies.yaml).
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from hpcopt_assets.contracts.frozen import Frozen, Part, Ratio


class SplitsConfig(Frozen):
    """Where folds begin, as shares of a trace's jobs in the order of their submission."""

    folds: PositiveInt
    first_score_ratio: Part
    # Where the first fold's score window begins; the windows share what comes after in equal parts.
    calibrate_ratio: Part
    # Length of the window between fit and score.
    stopping_ratio: Part
    # The last part of the fit window, by jobs, on which boosting is stopped early.
    min_fit_jobs: PositiveInt
    min_calibrate_jobs: PositiveInt
    # A fold with fewer completed jobs is not made; its score window falls back.

    @model_validator(mode="after")
    def _leaves_room_to_fit(self) -> Self:
        if self.calibrate_ratio >= self.first_score_ratio:
            raise ValueError(
                f"calibrate_ratio {self.calibrate_ratio} leaves nothing to fit before first_score_ratio "
                f"{self.first_score_ratio}"
            )
        return self


class TreesConfig(Frozen):
    """Gradient boosted trees of one quantile."""

    leaves: Annotated[int, Field(ge=2)]
    jobs_per_leaf: PositiveInt
    feature_share: Annotated[float, Field(gt=0.0, le=1.0)]
    # Of the features, drawn anew for every tree.
    learning_rate: PositiveFloat
    max_rounds: PositiveInt
    patience_rounds: PositiveInt
    # Boosting stops when that many rounds have not improved the stopping window.


class ModelConfig(Frozen):
    """How quantiles are fitted."""

    seed: Annotated[int, Field(ge=0)]
    user_day_exponent: Ratio
    # A job weighs (jobs of its user on its day) ** -exponent: 1 makes every burst one job.
    median: TreesConfig
    tails: TreesConfig


class CalibrationConfig(Frozen):
    """How p10 and p90 are moved until as many runtimes lie outside as should."""

    rate: Ratio
    # Step of adaptive conformal inference; 0 keeps the offsets of the calibrate window.


class SizeBands(Frozen):
    """Bands of job size in which results are told."""

    procs_bands: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    # Upper ends (included); what is larger is the last band.

    @model_validator(mode="after")
    def _bands_rise(self) -> Self:
        if list(self.procs_bands) != sorted(set(self.procs_bands)):
            raise ValueError(f"procs_bands {self.procs_bands} do not rise")
        return self


class ScoresConfig(SizeBands):
    """How forecasts are scored; fixed before any score is seen."""

    replicas: PositiveInt
    seed: Annotated[int, Field(ge=0)]
    confidence: Part
    min_days: PositiveInt
    # With fewer days there is no interval.

    @property
    def bands(self) -> SizeBands:
        """The bands alone, for whom the rest does not matter."""
        return SizeBands(procs_bands=self.procs_bands)


class ImportanceConfig(Frozen):
    """How it is measured what a model makes of each feature."""

    jobs: PositiveInt
    # Of a score window, at random.
    seed: Annotated[int, Field(ge=0)]


class ForecastConfig(Frozen):
    """Forecasts of runtimes."""

    threads: PositiveInt
    # Models fitted at once, each by one thread. The result does not depend on it: nothing goes stale.
    splits: SplitsConfig
    model: ModelConfig
    calibration: CalibrationConfig
    scores: ScoresConfig
    importance: ImportanceConfig
