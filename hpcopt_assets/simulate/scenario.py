"""Scenario: what if the machine were larger, jobs came faster, or only a part of the record were replayed?

In:  jobs in trace order, and what is asked.   Out: the jobs with other releases, and which of them take part.
Not here: the policy; what becomes of a job that has no runtime (workload.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from hpcopt_assets.contracts.columns import PROCS_MAX, TIME_MAX_S
from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.vocabulary import LeftOut
from hpcopt_assets.measures.schedule import held_procs

SLOWEST, FASTEST = 0.001, 1000.0
# Arrivals; beyond, a log of years would leave the calendar or fall into minutes.
NOT_GIVEN_S = int(np.iinfo(np.int64).min)


@dataclass(frozen=True)
class Scenario:
    """A change of machine or arrivals.

    `capacity_steps`: (instant, processors) in ascending order; the machine has that size from then on, and no
    policy knows of it before. `arrival_scale`: gaps between releases are divided by it. `since_s`, `until_s`:
    jobs released in [since, until) count; those that run or wait when it begins are there, and do not count.
    """

    capacity_steps: tuple[tuple[int, int], ...] = ()
    arrival_scale: float = 1.0
    since_s: int | None = None
    until_s: int | None = None


AS_RECORDED = Scenario()


def check_scenario(scenario: Scenario, capacity_procs: int) -> None:
    """Raise `InputError` for a machine without processors, steps out of order, or an empty window."""
    steps = scenario.capacity_steps
    smallest_step = min((procs for _, procs in steps), default=0)
    since_s, until_s = scenario.since_s, scenario.until_s
    instants = [*(at_s for at_s, _ in steps), *(at for at in (since_s, until_s) if at is not None)]
    problems = {
        f"a capacity of {capacity_procs} processors": not 1 <= capacity_procs <= PROCS_MAX,
        f"a capacity step to {smallest_step} processors": smallest_step < 0,
        "a capacity step or a window beyond the calendar": any(abs(at_s) > TIME_MAX_S for at_s in instants),
        "capacity steps that do not ascend in time": any(a >= b for (a, _), (b, _) in pairwise(steps)),
        f"an arrival scale of {scenario.arrival_scale}": not SLOWEST <= scenario.arrival_scale <= FASTEST,
        f"a window from {since_s} to {until_s}": (
            since_s is not None and until_s is not None and since_s >= until_s
        ),
    }
    found = [words for words, is_so in problems.items() if is_so]
    if found:
        raise InputError(
            found="; ".join(found),
            needed=f"1 to {PROCS_MAX} processors (steps may go down to 0), ascending steps, a scale from "
            f"{SLOWEST} to {FASTEST:.0f}, and a window that begins before it ends",
            where="replay",
            next_step="Correct the options, or the machine's size in configs/traces.yaml.",
        )


def apply_scenario(jobs: pl.DataFrame, scenario: Scenario) -> pl.DataFrame:
    """Jobs in trace order with scaled releases; `left_out`, `is_replayed` and `given_start_s` by the window.

    A job released before the window and of unknown start is not known to have been there: it is outside.
    """
    release, start = pl.col("release_s"), pl.col("start_s")
    since_s, until_s = scenario.since_s, scenario.until_s
    is_late = release >= until_s if until_s is not None else pl.lit(False)
    if since_s is None:
        is_early = is_seed = is_queued = pl.lit(False)
    else:
        is_early = release < since_s
        is_seed = is_early & (start < since_s) & (start + pl.col("runtime_s") > since_s).fill_null(False)
        is_queued = is_early & (start >= since_s).fill_null(False)
    is_known = pl.col("is_replayed") | (pl.col("left_out") == LeftOut.WIDER_THAN_MACHINE.value)
    is_held = (is_seed & is_known).fill_null(False)
    # A job that runs holds what it was given, however wide it is.
    takes_part = is_held | (pl.col("is_replayed") & ~is_late & (~is_early | is_queued))
    jobs = jobs.with_columns(
        given_start_s=pl.when(is_held).then(start).otherwise(NOT_GIVEN_S),
        procs=pl.when(is_held).then(held_procs()).otherwise(pl.col("procs")),
        is_replayed=takes_part,
        left_out=pl.when(is_late | (is_early & ~takes_part))
        .then(pl.coalesce("left_out", pl.lit(LeftOut.OUTSIDE_WINDOW.value)))
        .when(is_early & takes_part)
        .then(pl.lit(LeftOut.BEFORE_WINDOW.value))
        .otherwise("left_out"),
    )
    # Last: the window is one of the record, whatever becomes of its arrivals.
    return jobs if scenario.arrival_scale == 1.0 else _faster(jobs, scenario)


def _faster(jobs: pl.DataFrame, scenario: Scenario) -> pl.DataFrame:
    """Releases closer together (or wider apart), to whole seconds; what lies before the window stays."""
    base_s = scenario.since_s if scenario.since_s is not None else jobs["release_s"].min()
    release = pl.col("release_s")
    if base_s is None:
        return jobs
    moved = base_s + ((release - base_s) / scenario.arrival_scale).floor().cast(pl.Int64)
    scaled = pl.when(release > base_s).then(moved).otherwise(release)
    return jobs.with_columns(release_s=scaled, submit_s=scaled - (release - pl.col("submit_s")))
