"""Verdicts: three values that carry their reason, and how several become one.

In:  a measured value and its limit.   Out: `Judgement`.
Not here: limits (configs/) and the measuring itself (measures/).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hpcopt_assets.contracts.sentences import in_figures, plural
from hpcopt_assets.contracts.vocabulary import Verdict


@dataclass(frozen=True)
class Judgement:
    """One verdict with its evidence. `measured` and `limit` are in `unit`; `count` is what they rest on."""

    verdict: Verdict
    measured: float | None
    limit: float | None
    unit: str
    count: int
    reason: str

    def columns(self) -> dict[str, str | float | int | None]:
        """Its part of a row of a table of verdicts."""
        return {
            "verdict": self.verdict.value,
            "measured": self.measured,
            "limit": self.limit,
            "unit": self.unit,
            "evidence_count": self.count,
            "reason": self.reason,
        }


def judge(
    measured: float | None,
    side: Literal["at most", "at least"],
    limit: float | None,
    *,
    unit: str,
    count: int,
    needed: int,
    what: str,
    beside: str = "",
    counted: tuple[str, str] = ("job", "jobs"),
    unknown: str = "cannot be measured",
) -> Judgement:
    """PASS where `measured` is at most (or at least) `limit`, which itself passes; else FAIL.

    NOT_ASSESSED where either is `unknown`, or where the `count` of what is `counted` (one, many) is below
    `needed`. The reason names `what` was measured, the value, and what stands `beside` it.
    """
    if count < needed or measured is None or limit is None:
        lacking = f"{plural(count, *counted)}, {needed} needed" if count < needed else unknown
        return Judgement(Verdict.NOT_ASSESSED, measured, limit, unit, count, f"{what}{beside}: {lacking}")
    kept = measured <= limit if side == "at most" else measured >= limit
    verdict = Verdict.PASS if kept else Verdict.FAIL
    asked = "allowed" if side == "at most" else "needed"
    reason = f"{what} {in_figures(measured)}{beside}, {side} {in_figures(limit)} {asked}"
    return Judgement(verdict, measured, limit, unit, count, reason)


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """FAIL beats NOT_ASSESSED beats PASS; the empty set is NOT_ASSESSED."""
    found = set(verdicts)
    if Verdict.FAIL in found:
        return Verdict.FAIL
    if not found or Verdict.NOT_ASSESSED in found:
        return Verdict.NOT_ASSESSED
    return Verdict.PASS
