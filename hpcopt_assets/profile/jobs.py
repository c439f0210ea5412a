"""Runtimes, sizes, work and requests: what jobs are, whenever they come.

In:  trace_jobs in the machine's unit.   Out: rows of the topics runtimes, sizes, work, requests.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.config import ProfileConfig
from hpcopt_assets.contracts.vocabulary import JobState, ProfileMeasure, ProfileTopic
from hpcopt_assets.measures.inequality import count_of, top_share
from hpcopt_assets.measures.requests import request_over_runtime
from hpcopt_assets.measures.schedule import FloatArray
from hpcopt_assets.measures.tails import hill_index
from hpcopt_assets.profile.rows import ALL, Row, unknown

PERCENTILES = (10, 25, 50, 75, 90, 95, 99)
WORK = pl.coalesce("allocated_procs", "procs").cast(pl.Float64) * pl.col("runtime_s")
# Processor-seconds (node-seconds) of a job: what it held, while it ran.


def job_rows(jobs: pl.DataFrame, config: ProfileConfig) -> list[Row]:
    """The four topics. Sizes and missing requests are those of all jobs, the rest of those that ended."""
    ended = has_ended(jobs)
    no_runtime = "no job that ended has a known runtime"
    return [
        *_heavy(
            ProfileTopic.RUNTIMES,
            ProfileMeasure.RUNTIME,
            _known(ended, pl.col("runtime_s")),
            no_runtime,
            config,
        ),
        *_sizes(_known(jobs, pl.col("procs")), config),
        *_heavy(
            ProfileTopic.WORK,
            ProfileMeasure.WORK,
            _known(ended, WORK),
            "no job that ended has a known size and runtime",
            config,
        ),
        *_requests(jobs, ended),
    ]


def has_ended(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs without those that still run, whose runtime is only a lower bound so far."""
    return jobs.filter(pl.col("state") != JobState.RUNNING.value)


def spread(topic: ProfileTopic, measure: ProfileMeasure, values: FloatArray, nothing: str) -> list[Row]:
    """Percentiles (linear interpolation, Hyndman and Fan's type 7), maximum and mean; `nothing`: why none."""
    if values.size == 0:
        return [unknown(topic, measure, nothing)]
    found = np.percentile(values, PERCENTILES).tolist()
    named = {f"p{at}": value for at, value in zip(PERCENTILES, found, strict=True)}
    named |= {"max": float(values.max()), "mean": float(values.mean())}
    return [Row(topic, measure, item, value, values.size) for item, value in named.items()]


def _known(jobs: pl.DataFrame, what: pl.Expr) -> FloatArray:
    return jobs.select(what.cast(pl.Float64)).to_series().drop_nulls().to_numpy()


def _heavy(
    topic: ProfileTopic, measure: ProfileMeasure, values: FloatArray, nothing: str, config: ProfileConfig
) -> list[Row]:
    return [
        *spread(topic, measure, values, nothing),
        *_tail(topic, values, config),
        *_top(topic, values, config),
    ]


def _tail(topic: ProfileTopic, values: FloatArray, config: ProfileConfig) -> list[Row]:
    count = count_of(config.hill_tail_share, values.size)
    if count < config.hill_min_tail:
        why = f"{count} values in the tail, {config.hill_min_tail} needed"
        return [unknown(topic, ProfileMeasure.TAIL_INDEX, why, values.size)]
    found = hill_index(values, count)
    if found is None:
        why = f"the {count} largest values do not differ, or follow on zeros"
        return [unknown(topic, ProfileMeasure.TAIL_INDEX, why, values.size)]
    return [
        Row(
            topic,
            ProfileMeasure.TAIL_INDEX,
            _largest(config.hill_tail_share),
            found.alpha,
            found.tail_count,
            lower=found.lower,
            upper=found.upper,
        )
    ]


def _top(topic: ProfileTopic, values: FloatArray, config: ProfileConfig) -> list[Row]:
    held = top_share(values, config.top_share)
    if held is None:
        why = (
            "all values are 0"
            if count_of(config.top_share, values.size)
            else f"{values.size} values are too few"
        )
        return [unknown(topic, ProfileMeasure.TOP_SHARE, why, values.size)]
    return [Row(topic, ProfileMeasure.TOP_SHARE, _largest(config.top_share), held, values.size)]


def _largest(part: float) -> str:
    return f"largest {100 * part:g} %"


def _sizes(sizes: FloatArray, config: ProfileConfig) -> list[Row]:
    topic, nothing = ProfileTopic.SIZES, "no job has a known size"
    whole = sizes.astype(np.int64)
    is_power = (whole & (whole - 1)) == 0  # 1 = 2^0 is one
    return [
        *_heavy(topic, ProfileMeasure.SIZE, sizes, nothing, config),
        _share(topic, ProfileMeasure.SERIAL_SHARE, int((whole == 1).sum()), whole.size, nothing),
        _share(topic, ProfileMeasure.POWER_OF_TWO_SHARE, int(is_power.sum()), whole.size, nothing),
    ]


def _requests(jobs: pl.DataFrame, ended: pl.DataFrame) -> list[Row]:
    topic, nothing = ProfileTopic.REQUESTS, "no job that ended has a known request and runtime"
    both = (
        ended.filter(pl.col("requested_runtime_s") > 0)
        .select("requested_runtime_s", "runtime_s")
        .drop_nulls()
    )
    request, runtime = (both[name].to_numpy() for name in both.columns)
    ratio = request_over_runtime(request, runtime)
    return [
        *spread(topic, ProfileMeasure.REQUEST_OVER_RUNTIME, ratio, nothing),
        _share(topic, ProfileMeasure.AT_REQUEST_SHARE, int((runtime == request).sum()), ratio.size, nothing),
        _share(topic, ProfileMeasure.PAST_REQUEST_SHARE, int((runtime > request).sum()), ratio.size, nothing),
        _share(
            topic,
            ProfileMeasure.NO_REQUEST_SHARE,
            jobs.height - jobs.filter(pl.col("requested_runtime_s") > 0).height,
            jobs.height,
            "the trace has no jobs",
        ),
    ]


def _share(topic: ProfileTopic, measure: ProfileMeasure, part: int, whole: int, nothing: str) -> Row:
    return Row(topic, measure, ALL, part / whole, whole) if whole else unknown(topic, measure, nothing)
