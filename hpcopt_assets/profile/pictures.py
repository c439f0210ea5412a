"""The profile as pictures: figures for files, sparklines for a catalogue's page.

In:  trace_jobs and its trace_profile.   Out: Drawings, Markdown images. Numbers are read from the table.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.vocabulary import ProfileMeasure, Unit
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.usage import queued_jobs
from hpcopt_assets.plots.bars import Cycle, cycle_bars
from hpcopt_assets.plots.distribution import Sample, runtime_distribution, size_distribution
from hpcopt_assets.plots.periods import Periods, share_steps
from hpcopt_assets.plots.sparkline import sparkline_markdown
from hpcopt_assets.plots.steps import StepPanel, step_lines
from hpcopt_assets.plots.style import Drawing
from hpcopt_assets.profile.arrivals import HOURS, WEEKDAYS
from hpcopt_assets.profile.jobs import has_ended
from hpcopt_assets.profile.rows import SIZE_UNIT

HOURS_LABELLED = 3
SPARK_POINTS = 40


def profile_figures(
    jobs: pl.DataFrame, profile: pl.DataFrame, *, unit: Unit = Unit.PROCS
) -> tuple[Drawing, ...]:
    """Arrivals, runtimes and requests, sizes, utilisation by week, queue length: those there is data for.

    `profile` is the `trace_profile` of `jobs` with the same `unit`.
    """
    drawn = (_arrivals(profile), _runtimes(jobs), _sizes(jobs, unit), _weeks(profile), _queue(jobs))
    return tuple(drawing for drawing in drawn if drawing is not None)


def profile_sparklines(jobs: pl.DataFrame, profile: pl.DataFrame) -> dict[str, str]:
    """Markdown images (each under 1,000 characters) by name: those there is data for."""
    series = {
        "arrivals_by_hour": (
            _of(profile, ProfileMeasure.HOUR_OF_DAY)["value"].to_list(),
            "jobs by hour of the day",
        ),
        "utilisation_by_week": (_week_rows(profile)["value"].to_list(), "utilisation by week"),
        "queue_length": (
            queued_jobs(Schedule.of(jobs)).evenly(SPARK_POINTS).tolist(),
            "jobs in the queue over time, as recorded",
        ),
    }
    return {
        name: sparkline_markdown(values, alt) for name, (values, alt) in series.items() if len(values) > 1
    }


def _of(profile: pl.DataFrame, measure: ProfileMeasure) -> pl.DataFrame:
    """The known rows of a measure, in order."""
    return profile.filter(measure=measure.value).drop_nulls("value").sort("position")


def _week_rows(profile: pl.DataFrame) -> pl.DataFrame:
    return _of(profile, ProfileMeasure.UTILISATION).filter(pl.col("item").str.starts_with("week "))


def _arrivals(profile: pl.DataFrame) -> Drawing | None:
    hours = _of(profile, ProfileMeasure.HOUR_OF_DAY)
    weekdays = _of(profile, ProfileMeasure.WEEKDAY)
    if hours.is_empty():
        return None
    labels = [str(hour) if hour % HOURS_LABELLED == 0 else "" for hour in range(len(HOURS))]
    return cycle_bars(
        [
            Cycle(hours["value"].to_list(), labels, f"hour of the day ({hours['note'][0]})"),
            Cycle(weekdays["value"].to_list(), [day[:2] for day in WEEKDAYS], "weekday"),
        ],
        file_name="arrivals.svg",
        title="Arrivals by hour of the day and by weekday",
        y_label="share of jobs",
    )


def _runtimes(jobs: pl.DataFrame) -> Drawing | None:
    ran = has_ended(jobs)["runtime_s"].drop_nulls().to_numpy()
    asked = jobs["requested_runtime_s"].drop_nulls().to_numpy()
    if ran.size + asked.size == 0:
        return None
    return runtime_distribution(
        [Sample("runtime", ran, is_recorded=True), Sample("requested runtime", asked)],
        file_name="runtimes.svg",
        title="Runtimes, recorded and requested",
    )


def _sizes(jobs: pl.DataFrame, unit: Unit) -> Drawing | None:
    sizes = jobs["procs"].drop_nulls().to_numpy()
    if sizes.size == 0:
        return None
    name = SIZE_UNIT[unit]
    return size_distribution(
        [Sample(f"{name} of a job", sizes, is_recorded=True)],
        file_name="sizes.svg",
        title="Sizes of jobs",
        x_label=name,
    )


def _weeks(profile: pl.DataFrame) -> Drawing | None:
    weeks = _week_rows(profile)
    if weeks.is_empty():
        return None
    return share_steps(
        Periods([*weeks["start_s"].to_list(), weeks["end_s"][-1]], weeks["value"].to_list()),
        file_name="utilisation.svg",
        title="Utilisation by week, as recorded",
        y_label="utilisation",
        mean_of="mean over a week from Monday to Sunday, or over the part of it that the record covers",
    )


def _queue(jobs: pl.DataFrame) -> Drawing | None:
    queue = queued_jobs(Schedule.of(jobs))
    if queue.at_s.size < 2:
        return None
    return step_lines(
        [StepPanel(None, queue, "jobs released and not yet started")],
        file_name="queue_length.svg",
        title="Queue length over time, as recorded",
        y_label="jobs in the queue",
        recorded_label="",
    )
