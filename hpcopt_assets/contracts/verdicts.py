"""Verdicts: three values that carry their reason, and how several become one.

In:  a measured value and its limit.   Out: `Judgement`.
Not here: limits (configs/) and the measuring itself (measures/).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """FAIL beats NOT_ASSESSED beats PASS; the empty set is NOT_ASSESSED."""
    found = set(verdicts)
    if Verdict.FAIL in found:
        return Verdict.FAIL
    if not found or Verdict.NOT_ASSESSED in found:
        return Verdict.NOT_ASSESSED
    return Verdict.PASS
