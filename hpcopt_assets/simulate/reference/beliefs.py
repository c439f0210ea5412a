"""Beliefs: what a scheduler takes a job to run for, and where it stands in the queue.

In:  a `Workload`, a Policy, and completions as they come.   Out: a `Queued` for any job at any instant.
Not here: what runs and what fits (machine.py, passes.py, conservative.py).
Source: user history: Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007. Scores: see scores.py.
"""

from __future__ import annotations

import math
from collections import defaultdict

from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.vocabulary import Estimate, Order
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
from hpcopt_assets.measures.schedule import NO_USER
from hpcopt_assets.simulate import scores
from hpcopt_assets.simulate.reference.views import Queued
from hpcopt_assets.simulate.workload import Workload

HISTORY_JOBS = 2
# How many of a user's last completed jobs the estimate is drawn from.
LARGEST_EXPONENT = 512
# Of 2 in a usage sum. Far enough below the 1024 of a float64 for any processor-seconds a trace can add up.


class History:
    """Runtimes of completed jobs by user. Nobody's jobs (an unknown user's) are no history."""

    def __init__(self) -> None:
        self._completed: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)

    def add(self, user: int, end_s: int, position: int, runtime_s: int) -> None:
        """A job of a user has completed."""
        if user != NO_USER:
            self._completed[user].append((end_s, position, runtime_s))

    def mean_s(self, user: int) -> int | None:
        """Mean runtime of the last jobs by (end, position), in whole seconds; None while there are too few.

        Not the last in the order of completions: a job of no runtime completes after its pass, and so after
        others of the same instant, wherever it stands in the trace.
        """
        last = sorted(self._completed[user])[-HISTORY_JOBS:]
        if len(last) < HISTORY_JOBS:
            return None
        return sum(runtime_s for _, _, runtime_s in last) // HISTORY_JOBS


class Usage:
    """Processor-seconds that each user's completed jobs have used, the longer ago the less.

    All usages decay alike, so instead of making old work smaller, later work is made larger: by
    2^((end - base) / half-life). The base moves on before that overflows. Jobs without a user share one.
    """

    def __init__(self, base_s: int, half_life_s: int) -> None:
        self._base_s = base_s
        self._half_life_s = half_life_s
        self._sum: defaultdict[int, float] = defaultdict(float)

    def add(self, user: int, end_s: int, procs: int, runtime_s: int) -> None:
        """A job of a user has completed."""
        if self._half_lives(end_s) > LARGEST_EXPONENT:
            self._move_base(math.floor(self._half_lives(end_s)))
        self._sum[user] += float(procs * runtime_s) * math.exp2(self._half_lives(end_s))

    def of(self, user: int) -> float:
        """Usage of a user, comparable with that of others at the same instant."""
        return self._sum[user]

    def _half_lives(self, end_s: int) -> float:
        return (end_s - self._base_s) / self._half_life_s

    def _move_base(self, half_lives: int) -> None:
        for user in self._sum:
            self._sum[user] *= 2.0**-half_lives
        self._base_s += half_lives * self._half_life_s


class Beliefs:
    """What a policy's scheduler knows of the jobs of a workload, and learns as jobs complete."""

    def __init__(self, workload: Workload, policy: Policy) -> None:
        self._order, self._estimate, self._hold = policy.order, policy.estimate, policy.hold
        self._release_s: list[int] = workload.release_s.tolist()
        self._procs: list[int] = workload.procs.tolist()
        self._limit_s: list[int] = workload.limit_s.tolist()
        self._user: list[int] = workload.user.tolist()
        self._actual_s: list[int] = workload.believed_s(Estimate.ACTUAL).tolist()
        self._f1: list[float] = scores.f1(workload.release_s, workload.limit_s, workload.procs).tolist()
        self._unicef_weight: list[float] = scores.unicef_weight(workload.limit_s, workload.procs).tolist()
        self._guard_k = policy.guard_k or 0.0
        self._quantile_s = {} if workload.forecast is None else workload.forecast.quantile_s
        self._history = History()
        self._usage = Usage(min(self._release_s, default=0), policy.half_life_s or 1)

    def learn(self, position: int, end_s: int, runtime_s: int) -> None:
        """A job has completed: its runtime is no secret any more."""
        user = self._user[position]
        self._history.add(user, end_s, position, runtime_s)
        if self._order is Order.FAIRSHARE:
            self._usage.add(user, end_s, self._procs[position], runtime_s)

    def view(self, position: int, now_s: int) -> Queued:
        """A job as it looks now."""
        estimate_s = self._believed_s(position, self._estimate, self._guard_k)
        return Queued(
            self._order_key(position, estimate_s, now_s),
            position,
            self._procs[position],
            estimate_s,
            self._believed_s(position, self._hold, 0.0),
            self._limit_s[position],
            self._estimate is Estimate.USER_HISTORY and self._mean_s(position) is not None,
        )

    def _mean_s(self, position: int) -> int | None:
        return self._history.mean_s(self._user[position])

    def _believed_s(self, position: int, estimate: Estimate, guard_k: float) -> int:
        """What a job is believed to run for, in [1 s, its request]."""
        limit_s = self._limit_s[position]
        match estimate:
            case Estimate.REQUESTED:
                return limit_s
            case Estimate.ACTUAL:
                return self._actual_s[position]
            case Estimate.USER_HISTORY:
                mean_s = self._mean_s(position)
                return limit_s if mean_s is None else min(max(mean_s, SHORTEST_ESTIMATE_S), limit_s)
            case Estimate.P10:
                return self._forecast_s(position, Estimate.P10, Estimate.P50, guard_k)
            case Estimate.P50:
                return self._forecast_s(position, Estimate.P50, Estimate.P90, guard_k)
            case Estimate.P90:
                return self._forecast_s(position, Estimate.P90, Estimate.P90, 0.0)

    def _forecast_s(self, position: int, low: Estimate, high: Estimate, guard_k: float) -> int:
        """The lower quantile, moved towards the higher one; the request where nobody forecast the job."""
        limit_s = self._limit_s[position]
        value = float(self._quantile_s[low][position])
        if math.isnan(value):
            return limit_s
        guarded = value + guard_k * (float(self._quantile_s[high][position]) - value)
        return min(max(math.ceil(guarded), SHORTEST_ESTIMATE_S), limit_s)

    def _order_key(self, position: int, estimate_s: int, now_s: int) -> float:
        """The smallest goes first. Products are taken in the order written: rounding decides ties."""
        release_s, limit_s = self._release_s[position], self._limit_s[position]
        wait_s = now_s - release_s
        match self._order:
            case Order.SUBMIT:
                return release_s
            case Order.SHORTEST:
                return estimate_s
            case Order.LONGEST:
                return -estimate_s
            case Order.FAIRSHARE:
                return self._usage.of(self._user[position])
            case Order.WFP3:
                ratio = wait_s / limit_s
                return -(ratio * ratio * ratio * self._procs[position])
            case Order.UNICEF:
                return -(wait_s / self._unicef_weight[position])
            case Order.F1:
                return self._f1[position]
