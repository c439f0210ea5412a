"""Invariants: does a finished schedule keep the rules that every schedule must keep?

In:  trace_jobs, a replay_schedule, the policy (external ones too) and the machine.   Out: invariant_report.
Not here: the checks inside the kernel. This judge looks at the tables only, so it can judge any replayer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from hpcopt_assets.contracts.adapter import ExternalPolicy
from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.tables import INVARIANT_REPORT
from hpcopt_assets.contracts.vocabulary import FORECAST, Backfill, Estimate, Invariant, Order, Verdict
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import NO_USER, FloatArray, IntArray
from hpcopt_assets.measures.usage import steps
from hpcopt_assets.simulate.promises import Placed, judge_promises
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets.simulate.scores import f1
from hpcopt_assets.simulate.workload import Workload, select_workload

CHANGING = (Order.FAIRSHARE, Order.WFP3, Order.UNICEF)
# Orders in which a job may go ahead of another that it stood behind.
EXTERNAL = "an external policy, which promises nothing"


@dataclass(frozen=True)
class Finding:
    """What one rule's check found. `job_id`, `at_s`, `found` and `allowed` speak of the first violation.

    Where the rule does not bind (`is_binding`), violations are counted and are no errors. Where nothing could
    be checked, `found` says why and `allowed` says when it could be.
    """

    checked_count: int
    violations_count: int = 0
    job_id: str | None = None
    at_s: int | None = None
    found: str | None = None
    allowed: str | None = None
    is_binding: bool = True

    @property
    def verdict(self) -> Verdict:
        """FAIL with a violation, else PASS; NOT_ASSESSED where nothing was checked or it is not binding."""
        if self.checked_count == 0 or not self.is_binding:
            return Verdict.NOT_ASSESSED
        return Verdict.FAIL if self.violations_count else Verdict.PASS


@dataclass(frozen=True)
class _Case:
    """Replayed jobs in trace order beside their starts in the schedule, null where there is none.

    `ran`: those with a start, also as arrays in `placed`, where jobs end as they should. `surplus`: starts
    that belong to no replayed job.
    """

    policy: Policy | ExternalPolicy
    capacity: Capacity
    expected: pl.DataFrame
    ran: pl.DataFrame
    placed: Placed
    surplus: pl.DataFrame


def check_schedule(
    jobs: pl.DataFrame,
    schedule: pl.DataFrame,
    policy: Policy | ExternalPolicy,
    capacity: Capacity,
    estimates: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """One row of `invariant_report` for every word of `Invariant`; `estimates` as the replay was given them.

    A rule that does not bind the policy, or that nothing in the schedule puts to the test, is NOT_ASSESSED
    and says why. A capacity below 1 raises `InputError`.
    """
    case = _confront(jobs, schedule, policy, capacity, estimates)
    checks: dict[Invariant, Callable[[_Case], Finding]] = {
        Invariant.EVERY_JOB_STARTS_ONCE: _starts_once,
        Invariant.NO_START_BEFORE_RELEASE: _not_before_release,
        Invariant.END_IS_START_PLUS_RUNTIME: _ends_after_runtime,
        Invariant.WITHIN_CAPACITY: _within_capacity,
        Invariant.STRICT_QUEUE_ORDER: _in_queue_order,
        Invariant.HEAD_NEVER_DELAYED: _head_not_delayed,
        Invariant.ESTIMATE_WAS_KNOWN: _estimate_known,
    }
    trace_id = jobs["trace_id"].first() if jobs.height else ""
    rows = []
    for invariant in Invariant:
        finding = checks[invariant](case)
        rows.append(
            {"trace_id": trace_id, "policy": policy.id, "invariant": invariant.value}
            | {"verdict": finding.verdict.value}
            | {name: value for name, value in vars(finding).items() if name in INVARIANT_REPORT.names}
        )
    return INVARIANT_REPORT.shape(pl.DataFrame(rows, schema=INVARIANT_REPORT.polars_schema()))


def _confront(
    jobs: pl.DataFrame,
    schedule: pl.DataFrame,
    policy: Policy | ExternalPolicy,
    capacity: Capacity,
    estimates: pl.DataFrame | None,
) -> _Case:
    workload = select_workload(jobs, capacity.procs, Scenario(capacity_steps=capacity.steps), estimates)
    starts = _numbered(
        schedule.filter(pl.col("start_s").is_not_null()).select(
            "job_id", "start_s", "end_s", told_s="estimate_s"
        )
    )
    replayed = pl.DataFrame(
        {
            "job_id": workload.job_id,
            "release_s": workload.release_s,
            "procs": workload.procs,
            "limit_s": workload.limit_s,
            "runtime_s": workload.replayed_runtime_s(policy.overrun),
            "user": workload.user,
            "estimate_s": workload.estimate_s(policy),
            "hold_s": workload.hold_s(policy),
            "score": _scores(workload, policy),
        }
    )
    replayed = _numbered(replayed)
    expected = replayed.join(starts, on=["job_id", "nth"], how="left", maintain_order="left").with_columns(
        needed_end_s=pl.col("start_s") + pl.col("runtime_s")
    )
    ran = expected.filter(pl.col("start_s").is_not_null()).with_row_index("position")
    believed = {"estimate_s": policy.estimate, "hold_s": policy.hold}
    by_history = [name for name, estimate in believed.items() if estimate is Estimate.USER_HISTORY]
    if by_history:
        known = _history(ran)
        ran = ran.with_columns(known.alias(name) for name in by_history)
    ran = ran.with_columns(
        order_key=pl.col("score").rank("dense").cast(pl.Int64)
        if policy.order is Order.F1
        else {Order.SHORTEST: pl.col("estimate_s"), Order.LONGEST: -pl.col("estimate_s")}.get(
            policy.order, pl.lit(0)
        )
    )
    placed = Placed(
        *(
            np.ascontiguousarray(ran[name].to_numpy(), dtype=np.int64)
            for name in ("release_s", "start_s", "needed_end_s", "procs", "hold_s", "limit_s", "order_key")
        )
    )
    surplus = starts.join(replayed, on=["job_id", "nth"], how="anti", maintain_order="left")
    return _Case(policy, capacity, expected, ran, placed, surplus)


def _numbered(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with `nth`: a job may stand in a trace more than once (attempts), and start as often.

    Its first row is matched with its first start. Counting takes longer than all else, where most logs have
    nothing to count.
    """
    if rows["job_id"].n_unique() == rows.height:
        return rows.with_columns(nth=pl.lit(1, dtype=pl.UInt32))
    return rows.with_columns(nth=pl.col("job_id").cum_count().over("job_id"))


def _scores(workload: Workload, policy: Policy | ExternalPolicy) -> FloatArray:
    """What orders the queue from the beginning; 0 where estimates or what happens meanwhile does."""
    if policy.order is Order.F1:
        return f1(workload.release_s, workload.limit_s, workload.procs)
    return np.zeros(len(workload))


def _history(ran: pl.DataFrame) -> pl.Series:
    """By the schedule: the mean runtime of the user's last two jobs that had ended when a job started.

    At least 1 s, at most the request, which stands where there are not two. A job of no runtime that ends at
    this very instant counts as ended.
    """
    of_user = pl.col("runtime_s").shift(1).over("user")
    ended = (
        ran.filter(pl.col("user") != NO_USER)
        .sort("needed_end_s", "position")
        .select("user", "needed_end_s", mean_s=((pl.col("runtime_s") + of_user) // 2).clip(1))
    )
    known = ran.sort("start_s").join_asof(
        ended,
        left_on="start_s",
        right_on="needed_end_s",
        by="user",
        strategy="backward",
        check_sortedness=False,
    )
    return known.sort("position").select(pl.min_horizontal("limit_s", "mean_s")).to_series()


def _of_jobs(case: _Case, is_broken: pl.Expr, found: str, allowed: str, phrase: str) -> Finding:
    """A finding on each job that ran, by columns; the earliest position comes first."""
    broken = case.ran.filter(is_broken)
    if broken.height == 0:
        return Finding(case.ran.height)
    first = broken.row(0, named=True)
    return Finding(
        case.ran.height,
        broken.height,
        first["job_id"],
        first["start_s"],
        f"{phrase} {first[found]} s",
        f"{phrase} {first[allowed]} s",
    )


def _starts_once(case: _Case) -> Finding:
    missing, surplus = case.expected.filter(pl.col("start_s").is_null() & ~_is_stuck(case)), case.surplus
    checked, violations = case.expected.height + surplus.height, missing.height + surplus.height
    if missing.height:
        row = missing.row(0, named=True)
        return Finding(checked, violations, row["job_id"], row["release_s"], "no start", "one start")
    if surplus.height:
        row = surplus.row(0, named=True)
        return Finding(
            checked,
            violations,
            row["job_id"],
            row["start_s"],
            "one more start",
            "one start of a replayed job",
        )
    return Finding(checked)


def _is_stuck(case: _Case) -> pl.Expr:
    """Whether a job need not start: it is wider than what is left of the machine, or waits behind such a one.

    Only without backfilling does anybody wait for ever behind another.
    """
    last = case.capacity.steps[-1][1] if case.capacity.steps else case.capacity.largest
    is_wide = pl.col("procs") > last
    waits = is_wide & pl.col("start_s").is_null()
    has_queue = isinstance(case.policy, Policy) and case.policy.backfill is Backfill.NONE
    return waits | (waits.any() & pl.lit(has_queue))


def _not_before_release(case: _Case) -> Finding:
    return _of_jobs(case, pl.col("start_s") < pl.col("release_s"), "start_s", "release_s", "start from")


def _ends_after_runtime(case: _Case) -> Finding:
    is_broken = pl.col("end_s").ne_missing(pl.col("needed_end_s"))
    return _of_jobs(case, is_broken, "end_s", "needed_end_s", "end at")


def _within_capacity(case: _Case) -> Finding:
    """Processors in use whenever a job starts; one of zero runtime must fit beside what runs on.

    Only a start can go beyond the machine: when that shrinks, running jobs keep their processors.
    """
    placed = case.placed
    lasts = placed.end_s > placed.start_s
    use = steps(placed.start_s[lasts], placed.end_s[lasts], placed.procs[lasts])
    # What runs through an instant: started before it, ends after it.
    through = steps(placed.start_s[lasts] + 1, placed.end_s[lasts], placed.procs[lasts])
    at_s = np.concatenate([use.at_s, placed.start_s[~lasts]])
    procs = np.concatenate([use.values, through.sample(placed.start_s[~lasts]) + placed.procs[~lasts]])
    is_start = np.isin(at_s, placed.start_s)
    at_s, procs = at_s[is_start], procs[is_start]
    there = case.capacity.at(at_s)
    broken = np.flatnonzero(procs > there)
    if broken.size == 0:
        return Finding(int(at_s.size))
    first = broken[np.argmin(at_s[broken])]
    last_in = int(np.flatnonzero(placed.start_s == at_s[first])[-1])
    return Finding(
        int(at_s.size),
        int(broken.size),
        case.ran["job_id"][last_in],
        int(at_s[first]),
        f"{plural(int(procs[first]), 'processor')} in use",
        plural(int(there[first]), "processor"),
    )


def _in_queue_order(case: _Case) -> Finding:
    policy = case.policy
    if isinstance(policy, ExternalPolicy):
        return Finding(0, found=EXTERNAL, allowed="backfill none, order submit")
    if policy.backfill is not Backfill.NONE or policy.order is not Order.SUBMIT:
        return Finding(
            0,
            found=f"backfill {policy.backfill}, order {policy.order}",
            allowed="backfill none, order submit",
        )
    ordered = replace(case, ran=case.ran.with_columns(latest_s=pl.col("start_s").cum_max()))
    return _of_jobs(ordered, pl.col("start_s") < pl.col("latest_s"), "start_s", "latest_s", "start from")


def _head_not_delayed(case: _Case) -> Finding:
    """EASY: no job behind the head delays it, see `promises.judge_promises`.

    Binding in submit order with hold <= estimate. Elsewhere a newcomer may go ahead of the head, or a job be
    held for longer than it was tried with, and delays are only counted.
    """
    policy, placed = case.policy, case.placed
    if isinstance(policy, ExternalPolicy):
        return Finding(0, found=EXTERNAL, allowed="backfill easy")
    if policy.backfill is not Backfill.EASY:
        return Finding(0, found=f"backfill {policy.backfill}", allowed="backfill easy")
    if case.capacity.steps:
        return Finding(0, found="a machine whose size changes", allowed="a machine of one size")
    if policy.order in CHANGING:
        return Finding(
            0, found=f"order {policy.order}, under which heads change", allowed="an order that stays"
        )
    is_binding = policy.order is Order.SUBMIT and not (case.ran["hold_s"] > case.ran["estimate_s"]).any()
    promises = judge_promises(placed, case.capacity.procs)
    needed = placed.procs[promises.head]
    broken = np.flatnonzero((promises.freed_procs >= needed) & ~promises.is_excused)
    checked = int((~promises.is_excused).sum())
    if checked == 0:
        return Finding(
            0,
            found=f"{plural(promises.at_s.size, 'instant')} with a waiting head, followed by an overrun",
            allowed="a head that waits while running jobs keep their expected ends",
        )
    finding = Finding(checked, int(broken.size), is_binding=is_binding)
    if broken.size:
        first = int(broken[0])
        head = int(promises.head[first])
        finding = replace(
            finding,
            job_id=case.ran["job_id"][head],
            at_s=int(promises.at_s[first]),
            found=f"start at {placed.start_s[head]} s, though it was expected before: "
            f"{plural(int(promises.freed_procs[first]), 'processor')} free",
            allowed=f"start as soon as it is expected: {plural(int(needed[first]), 'processor')} free",
        )
    return finding if is_binding else _counted(finding, policy, promises.head, broken)


def _estimate_known(case: _Case) -> Finding:
    """Estimates in force at the start are what a scheduler could know then, by the schedule itself.

    Left out are jobs at whose start a job of no runtime of the same user ended: it may have been before or
    after. Not for the actual runtime, which nobody knows.
    """
    if case.policy.estimate is Estimate.ACTUAL:
        return Finding(0, found="estimate actual", allowed="an estimate that a scheduler can make")
    if case.policy.estimate in FORECAST:
        finding = _of_jobs(case, pl.col("told_s") != pl.col("estimate_s"), "told_s", "estimate_s", "estimate")
        if finding.violations_count:
            return finding
        # They are those that were given; what had ended in the log may still run in this schedule.
        return replace(
            finding,
            is_binding=False,
            found=f"estimate {case.policy.estimate}, a forecast that rests on ends in the log",
            allowed="estimates that this schedule could tell; estimate_accounting counts the others",
        )
    sudden = case.ran.filter(pl.col("runtime_s") == 0).select("user", "start_s").unique()
    clear = case.ran.join(sudden, on=["user", "start_s"], how="anti", maintain_order="left")
    if case.policy.estimate is not Estimate.USER_HISTORY:
        clear = case.ran
    return _of_jobs(
        replace(case, ran=clear), pl.col("told_s") != pl.col("estimate_s"), "told_s", "estimate_s", "estimate"
    )


def _counted(finding: Finding, policy: Policy, head: IntArray, broken: IntArray) -> Finding:
    """Delays where none is promised: how many heads, and why that is allowed."""
    delayed, waited = (np.unique(heads).size for heads in (head[broken], head))
    return replace(
        finding,
        found=f"{delayed:,} of {plural(waited, 'waiting head')} delayed"
        + (f"; the first: {finding.found}" if delayed else ""),
        allowed=f"any number under order {policy.order}, estimate {policy.estimate}, hold {policy.hold}",
    )
