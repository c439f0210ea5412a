"""What becomes of each policy, and of the claims for it, on stressed traces: the table `stress_replays`.

In:  a trace as it is and stressed, and the function that replays either.   Out: stress_replays.
Not here: how a trace is stressed (stress/) and replayed (simulate/), which are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import polars as pl

from hpcopt_assets.claims.demands import Demands, Pair, Row, not_assessed
from hpcopt_assets.contracts.config import ObjectiveConfig, Policy
from hpcopt_assets.contracts.stress_tables import CHANGES, SHOWN, STRESS_REPLAYS, TIMES
from hpcopt_assets.contracts.verdicts import combine
from hpcopt_assets.contracts.vocabulary import Verdict
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.summary import Measures
from hpcopt_assets.measures.unknown import less, over

THE_BASELINE = "it is the baseline"
BROKEN = "its schedule or the baseline's breaks rules that it must keep"
Replays = Callable[[Policy], tuple[pl.DataFrame, pl.DataFrame]]
# A policy -> its replay_schedule in a world, and the invariant_report of that.


class Stressed(Protocol):
    """A trace on its machine."""

    @property
    def capacity(self) -> Capacity: ...


T = TypeVar("T", bound=Stressed)
T_co = TypeVar("T_co", bound=Stressed, covariant=True)


class Case(Protocol[T_co]):
    """One scenario at one severity: what the table says of the trace; no `stressed` where it cannot be."""

    @property
    def columns(self) -> Mapping[str, str | int | float | None]: ...

    @property
    def stressed(self) -> T_co | None: ...

    @property
    def obstacle(self) -> str | None: ...


@dataclass(frozen=True)
class _Rules:
    """Which of the rules that bind a policy its schedule kept, and which it broke how often altogether.

    A rule that nothing in the schedule puts to the test is neither.
    """

    kept: tuple[str, ...]
    broken: tuple[str, ...]
    violations_count: int

    @classmethod
    def of(cls, report: pl.DataFrame) -> _Rules:
        """From an `invariant_report` of one policy."""
        kept, broken = (
            tuple(report.filter(verdict=verdict.value)["invariant"])
            for verdict in (Verdict.PASS, Verdict.FAIL)
        )
        violations = report.filter(verdict=Verdict.FAIL.value)["violations_count"].sum()
        return cls(kept, broken, int(violations))

    @property
    def verdict(self) -> Verdict:
        """Whether all were kept."""
        return combine([Verdict.FAIL] * len(self.broken) + [Verdict.PASS] * len(self.kept))


@dataclass(frozen=True)
class _Found:
    """A policy in one world: the demands on it, and what became of the rules of its schedule."""

    demands: Demands
    rules: _Rules


@dataclass(frozen=True)
class StressJudge(Generic[T]):
    """Replays and judges policies world by world. `replays` makes the replays of a stressed trace."""

    policies: Sequence[Policy]
    objective: ObjectiveConfig
    replays: Callable[[T], Replays]
    executor: Executor

    def table(
        self,
        trace_id: str,
        as_it_is: T,
        cases: Iterable[Case[T]],
        say: Callable[[str], None] = lambda _: None,
    ) -> pl.DataFrame:
        """One row a policy, scenario and severity, in the order of the cases within that of the policies.

        A case that the trace cannot carry has its rows, with the reason and no verdict. The table does not
        depend on how many workers the executor has.
        """
        before = self._world(as_it_is)
        rows: list[Row] = []
        for case in cases:
            after = None if case.stressed is None else self._world(case.stressed)
            rows += [self._row(trace_id, policy, case, before, after) for policy in self.policies]
            say(f"{case.columns['scenario']} {case.columns['severity']}: {case.obstacle or 'replayed'}")
        order = {policy.id: place for place, policy in enumerate(self.policies)}
        rows.sort(key=lambda row: order[str(row["policy"])])
        return STRESS_REPLAYS.shape(pl.DataFrame(rows, schema=STRESS_REPLAYS.polars_schema()))

    @property
    def _baseline(self) -> Policy:
        return next(policy for policy in self.policies if policy.id == self.objective.claims.baseline)

    def _world(self, stressed: T) -> dict[str, _Found]:
        """Every policy in one world."""
        replays = self.replays(stressed)
        baseline = replays(self._baseline)

        def found(policy: Policy) -> _Found:
            schedule, report = baseline if policy is self._baseline else replays(policy)
            pair = Pair.of((schedule, baseline[0]), (policy, self._baseline), self.objective)
            demands = pair.demands(stressed.capacity, self.objective)
            rules = _Rules.of(report)
            broken = sorted({*rules.broken, *_Rules.of(baseline[1]).broken})
            if broken:
                demands = replace(demands, blind=f"{BROKEN}: {', '.join(broken)}")
            return _Found(demands, rules)

        found_by = self.executor.map(found, self.policies)
        return {policy.id: each for policy, each in zip(self.policies, found_by, strict=True)}

    def _row(
        self,
        trace_id: str,
        policy: Policy,
        case: Case[T],
        before: Mapping[str, _Found],
        after: Mapping[str, _Found] | None,
    ) -> Row:
        is_baseline = policy is self._baseline
        old = before[policy.id].demands
        row: Row = {
            "trace_id": trace_id,
            "policy": policy.id,
            "baseline": self._baseline.id,
            **case.columns,
            **{f"unstressed_{name}": old.candidate[name] for name in SHOWN},
            "unstressed_gain_ratio": None if is_baseline else old.gain_ratio,
            "unstressed_verdict": (Verdict.NOT_ASSESSED if is_baseline else old.verdict).value,
        }
        if after is None:
            return {
                **dict.fromkeys(STRESS_REPLAYS.names),
                **row,
                **not_assessed(case.obstacle or ""),
                "jobs_count": 0,
                "invariants": Verdict.NOT_ASSESSED.value,
            }
        found = after[policy.id]
        new = found.demands
        return {
            **row,
            "jobs_count": new.candidate["jobs_count"],
            **{f"stressed_{name}": new.candidate[name] for name in SHOWN},
            **_degradation(old.candidate, new.candidate),
            "stressed_gain_ratio": None if is_baseline else new.gain_ratio,
            **(not_assessed(THE_BASELINE) if is_baseline else new.columns()),
            "violations_count": found.rules.violations_count,
            "invariants": found.rules.verdict.value,
            "rules_kept": ", ".join(found.rules.kept) or None,
            "rules_broken": ", ".join(found.rules.broken) or None,
        }


def _degradation(before: Measures, after: Measures) -> Row:
    """How many times as large the unbounded measures are, and how far the shares have moved."""
    times = {column: over(after[name], before[name]) for name, column in TIMES.items()}
    changes = {column: less(after[name], before[name]) for name, column in CHANGES.items()}
    return {**times, **changes}
