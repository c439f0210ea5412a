"""Strategies that build jobs and policies, so that a failure shrinks to a few lines one can read."""

from itertools import product

import polars as pl
from hypothesis import strategies as st

from hpcopt_assets.contracts.config import RESERVED, Policy
from hpcopt_assets.contracts.forecast_tables import RUNTIME_ESTIMATES
from hpcopt_assets.contracts.vocabulary import (
    Backfill,
    BackfillOrder,
    Estimate,
    EstimateSource,
    Order,
    Overrun,
)
from hpcopt_assets_tests.builders import job, trace

CAPACITY = 8

GAPS_S = st.sampled_from([0, 0, 0, 0, 1, 2, 5, 60])
PROCS = st.sampled_from([1, 1, 2, 2, 3, 4, 5, 6, 7, CAPACITY])
RUNTIMES_S = st.one_of(
    st.integers(0, 12), st.sampled_from([0, 30, 61, 90, 400, 2000, 9000, 361_000, 1_000_000])
)
REQUESTS_S = st.one_of(st.sampled_from([4, 8, 300]), st.integers(1, 20))
HOW_ASKED = st.sampled_from(["request", "request", "request", "as it runs", "a bit more", "missing", "zero"])
QUEUES = st.sampled_from([None, "a", "b"])
USERS = st.sampled_from([None, "u", "u", "v", "w"])
HALF_LIFE_S = 50
# Short beside the longest runtimes, so that a usage sum is rebased within a few jobs.


@st.composite
def jobs(draw, min_size=1, max_size=14):
    """A `trace_jobs` frame: ties, overruns, zero runtimes, full-width jobs, missing and zero requests.

    A few users, some of them unknown.
    """
    submit_s, rows = 0, []
    for number in range(draw(st.integers(min_size, max_size))):
        submit_s += draw(GAPS_S)
        runtime_s, asked = draw(RUNTIMES_S), draw(HOW_ASKED)
        request = {"as it runs": runtime_s, "a bit more": runtime_s + 3, "missing": None, "zero": 0}
        row = job(
            number,
            submit_s,
            draw(PROCS),
            runtime_s,
            draw(REQUESTS_S) if asked == "request" else request[asked],
            queue=draw(QUEUES),
            user=draw(USERS),
        )
        rows.append(row)
    return trace(rows)


@st.composite
def recorded_jobs(draw, min_size=1, max_size=14):
    """As `jobs`, with recorded waits: some jobs run and others wait whenever one looks."""
    frame = draw(jobs(min_size, max_size))
    waits = [draw(st.sampled_from([0, 0, 1, 3, 7, 60, 500])) for _ in range(frame.height)]
    return frame.with_columns(wait_s=pl.Series(waits, dtype=pl.Int64)).with_columns(
        start_s=pl.col("release_s") + pl.col("wait_s"),
        end_s=pl.col("release_s") + pl.col("wait_s") + pl.col("runtime_s"),
    )


@st.composite
def capacity_steps(draw):
    """A machine that shrinks, grows, goes away and comes back; some steps change nothing."""
    at_s, steps = draw(st.integers(-5, 20)), []
    for _ in range(draw(st.integers(1, 5))):
        steps.append((at_s, draw(st.sampled_from([0, 2, 4, 6, CAPACITY, CAPACITY, CAPACITY + 2]))))
        at_s += draw(st.sampled_from([1, 2, 5, 60, 500]))
    return tuple(steps)


def policy(
    order: str = "submit",
    backfill: str = "easy",
    backfill_order: str = "queue",
    estimate: str = "requested",
    hold: str = "requested",
    overrun: str = "extend",
    guard_k: float = 0.5,
) -> Policy:
    """A policy by its parameters; the defaults are plain EASY."""
    return Policy(
        id="_".join(["p", order, backfill, backfill_order, estimate, hold, overrun]),
        means="made by a test",
        order=order,
        backfill=backfill,
        backfill_order=backfill_order,
        estimate=estimate,
        hold=hold,
        overrun=overrun,
        half_life_s=HALF_LIFE_S if order == Order.FAIRSHARE else None,
        guard_k=guard_k if estimate in (Estimate.P10, Estimate.P50) else None,
        is_bound="actual" in (estimate, hold),
    )


def is_defined(order: str, backfill: str, backfill_order: str, *beliefs_and_overrun: str) -> bool:
    """Whether a policy of these parameters makes sense."""
    if backfill == Backfill.NONE:
        return backfill_order == BackfillOrder.QUEUE
    return backfill == Backfill.EASY or (order, backfill_order, *beliefs_and_overrun[:2]) == RESERVED


def forecasts(frame: pl.DataFrame) -> pl.DataFrame:
    """`runtime_estimates` of the jobs, by their numbers alone; every fifth job has none."""
    rows = []
    for number, row in enumerate(frame.select("trace_id", "job_id", "attempt", "submit_s").iter_rows()):
        p10_s, between, above = 1.0 + number * 7 % 5 / 4, number * 3 % 11 / 8, number * 5 % 7 * 9.5
        source = EstimateSource.MODEL if number % 2 else EstimateSource.HISTORY
        if number % 5 != 4:
            rows.append((*row, p10_s, p10_s + between, p10_s + between + above, source.value))
    names = ("trace_id", "job_id", "attempt", "submit_s", "p10_s", "p50_s", "p90_s", "source")
    schema = {name: kind for name, kind in RUNTIME_ESTIMATES.polars_schema().items() if name in names}
    return pl.DataFrame(rows, schema=schema, orient="row")


EVERY_POLICY = [
    policy(*parameters)
    for parameters in product(
        Order.words(),
        Backfill.words(),
        BackfillOrder.words(),
        Estimate.words(),
        Estimate.words(),
        Overrun.words(),
    )
    if is_defined(*parameters)
]
POLICIES = [each for each in EVERY_POLICY if not each.is_forecasting]
FORECASTING = [each for each in EVERY_POLICY if each.is_forecasting]
RESERVING = [each for each in POLICIES if each.backfill is Backfill.CONSERVATIVE]
ANY_POLICY = st.one_of(
    st.sampled_from(RESERVING),
    st.sampled_from(POLICIES),
    st.sampled_from(POLICIES),
    st.sampled_from(FORECASTING),
)
# Reserving policies are two among hundreds and would hardly be drawn.
FCFS, EASY = policy(backfill="none"), policy()
EASY_POLICIES = [each for each in POLICIES if each.backfill is Backfill.EASY and each.order is Order.SUBMIT]
