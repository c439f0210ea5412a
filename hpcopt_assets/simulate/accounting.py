"""Accounting of estimates: whose estimates a replay rested on, and what is left without another's future.

In:  trace_jobs, runtime_estimates, the schedules of policies that believe them.   Out: `estimate_accounting`.
Not here: whether a claim survives (claims/).

A forecast rests on what had ended *in the log* by a submission. In a replay a job of that history may still
run: such an estimate knows more than this schedule could tell. The honest run believes the request of such
jobs, and tails that were not corrected as jobs ended in the log. The models themselves, and the offsets of
their calibrate windows, rest on the log up to their cut-offs in both runs.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from hpcopt_assets.contracts.config import MeasuresConfig, Policy
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING, STEADY_MEASURES
from hpcopt_assets.contracts.forecast_words import EstimateRun
from hpcopt_assets.contracts.order import JOB_KEY, in_trace_order
from hpcopt_assets.contracts.vocabulary import EstimateSource, Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.requests import is_completed
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.summary import measure
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.scenario import Scenario

FORECAST = (EstimateSource.MODEL.value, EstimateSource.HISTORY.value)
SHOWN = tuple(column.name for column in STEADY_MEASURES)


def account_estimates(
    trace_jobs: pl.DataFrame,
    schedules: Mapping[Policy, pl.DataFrame],
    estimates: pl.DataFrame,
    capacity: Capacity,
    config: MeasuresConfig,
) -> pl.DataFrame:
    """Two rows a forecasting policy: as replayed, and history-honest; measures of the steady window.

    Taking estimates back changes the schedule, and with it what had ended: the honest run takes back, and
    replays again, until no estimate is left that rests on an unfinished history.
    """
    rows = [ESTIMATE_ACCOUNTING.empty()]
    scenario = Scenario(capacity_steps=capacity.steps)
    for policy, schedule in schedules.items():
        known = histories(trace_jobs, schedule)
        rows.append(_row(policy, EstimateRun.AS_REPLAYED, schedule, known, capacity, config))
        honest, again = _without_offsets(estimates), schedule
        while True:
            doubtful = known.filter("is_unfinished").join(honest, on=JOB_KEY, how="semi")
            if again is not schedule and doubtful.is_empty():
                break
            honest = honest.join(doubtful, on=JOB_KEY, how="anti", maintain_order="left")
            again = replay(trace_jobs, policy, capacity.procs, scenario, estimates=honest).schedule
            known = histories(trace_jobs, again)
        rows.append(_row(policy, EstimateRun.HISTORY_HONEST, again, known, capacity, config))
    return pl.concat(rows)


def histories(trace_jobs: pl.DataFrame, schedule: pl.DataFrame) -> pl.DataFrame:
    """Jobs whose user had a history at their submission, and whether some of it `is_unfinished`.

    History: the user's jobs that had ended in the log at or before the submission; unfinished, if one of them
    had not ended in this schedule. One that takes no part in the replay never ends in it.
    """
    jobs = in_trace_order(trace_jobs)
    history = (
        jobs.filter(is_completed() & pl.col("user").is_not_null())
        .select(*JOB_KEY, "user", "end_s")
        .join(schedule.select(*JOB_KEY, replayed_s="end_s"), on=JOB_KEY, how="left")
        .with_columns(both_s=pl.max_horizontal("end_s", "replayed_s"))
        .with_columns(both_s=pl.when(pl.col("replayed_s").is_not_null()).then("both_s"))
    )
    asked = jobs.filter(pl.col("user").is_not_null()).select(*JOB_KEY, "user", "submit_s").sort("submit_s")
    in_log, in_both = (_known(asked, history, name) for name in ("end_s", "both_s"))
    return asked.select(JOB_KEY).with_columns(is_unfinished=in_log > in_both).filter(in_log > 0)


def _known(asked: pl.DataFrame, history: pl.DataFrame, instant: str) -> pl.Series:
    """For each row asked, how many of its user's jobs had come to an instant of theirs."""
    events = (
        history.drop_nulls(instant)
        .sort(instant)
        .select("user", pl.col(instant), count=pl.col(instant).cum_count().over("user"))
    )
    known = asked.join_asof(
        events, left_on="submit_s", right_on=instant, by="user", strategy="backward", check_sortedness=False
    )
    return known["count"].fill_null(0)


def _without_offsets(estimates: pl.DataFrame) -> pl.DataFrame:
    """The estimates with tails that no job of the log has moved since scoring began."""
    is_split = pl.col("split_p10_s").is_not_null()
    return estimates.with_columns(
        p10_s=pl.when(is_split).then(pl.min_horizontal("split_p10_s", "p50_s")).otherwise("p10_s"),
        p90_s=pl.when(is_split).then(pl.max_horizontal("split_p90_s", "p50_s")).otherwise("p90_s"),
    )


def _row(
    policy: Policy,
    run: EstimateRun,
    schedule: pl.DataFrame,
    known: pl.DataFrame,
    capacity: Capacity,
    config: MeasuresConfig,
) -> pl.DataFrame:
    replayed = schedule.filter(pl.col("left_out").is_null())
    counts = dict(replayed["estimate_source"].value_counts().iter_rows())
    forecast = replayed.filter(pl.col("estimate_source").is_in(FORECAST)).select(JOB_KEY)
    with_history = known.join(forecast, on=JOB_KEY, how="semi")
    doubtful = int(with_history["is_unfinished"].sum())
    found = measure(Schedule.of(schedule), capacity=capacity, config=config, window=Window.STEADY)
    return ESTIMATE_ACCOUNTING.shape(
        pl.DataFrame(
            {
                "trace_id": schedule["trace_id"][:1],
                "policy": policy.id,
                "run": run.value,
                "jobs_count": replayed.height,
                **{f"{source.value}_count": counts.get(source.value, 0) for source in EstimateSource},
                "model_ratio": _ratio(counts.get(EstimateSource.MODEL.value, 0), replayed.height),
                "unfinished_history_count": doubtful,
                "unfinished_history_ratio": _ratio(doubtful, with_history.height),
                **{name: found[name] for name in SHOWN},
            }
        )
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
