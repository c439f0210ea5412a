"""Whether a gain is still there on another day: what the intervals of a comparison amount to.

In:  rows of the table robustness.   Out: `Survival`, shares of the baseline's value.
Not here: whether a candidate is accepted (claim_verdicts says that).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from hpcopt_assets.contracts.robustness_tables import BETTER
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.dossier import words
from hpcopt_assets.dossier.evidence import Row, TraceEvidence
from hpcopt_assets.dossier.numbers import UNKNOWN, share


class Survival(StrEnum):
    """What becomes of a gain when the comparison is made again."""

    BOTH = "survives both"
    SHAKING_ONLY = "shaking only"
    WEEKS_ONLY = "weeks only"
    NEITHER = "neither"
    NO_GAIN = "no gain"
    UNKNOWN = "cannot be told"

    @property
    def sentence(self) -> str:
        """What it says of policies, whose names follow."""
        return {
            Survival.BOTH: "Survives shaking and other weeks",
            Survival.SHAKING_ONLY: "Survives shaking, not other weeks",
            Survival.WEEKS_ONLY: "Survives other weeks, not shaking",
            Survival.NEITHER: "Survives neither",
            Survival.NO_GAIN: "No gain in the replay",
            Survival.UNKNOWN: "Cannot be told",
        }[self]


def survival(row: Row) -> Survival:
    """A gain survives where the interval lies wholly on the better side of zero; no interval, no telling."""
    sign = BETTER[row["measure"]]
    if row["difference"] is None:
        return Survival.UNKNOWN
    if sign * row["difference"] <= 0:
        return Survival.NO_GAIN
    shaken = _is_better(sign, row["lower"], row["upper"])
    weeks = _is_better(sign, row["block_lower"], row["block_upper"])
    if shaken is None or weeks is None:
        return Survival.UNKNOWN
    if shaken:
        return Survival.BOTH if weeks else Survival.SHAKING_ONLY
    return Survival.WEEKS_ONLY if weeks else Survival.NEITHER


def by_survival(evidence: TraceEvidence, window: Window = Window.STEADY) -> dict[Survival, list[str]]:
    """The candidates by what becomes of their gain in the primary measure; each word has its list."""
    found: dict[Survival, list[str]] = {word: [] for word in Survival}
    for policy in evidence.candidates:
        found[survival(evidence.change(policy.id, window))].append(policy.id)
    return found


def relative(change: float | None, baseline: float | None) -> float | None:
    """A difference as a share of the baseline's value; None where either is unknown or the latter is 0."""
    return None if change is None or not baseline else change / baseline


def least_met(rows: Iterable[Row]) -> str:
    """The demand that is met in the fewest shaken replicas, and in how many; of one policy and window."""
    known = [row for row in rows if row["met_ratio"] is not None]
    if not known:
        return UNKNOWN
    least = min(known, key=lambda row: row["met_ratio"])
    return f"{share(least['met_ratio'])} ({words.DEMANDED[least['measure']]})"


def _is_better(sign: int, low: float | None, high: float | None) -> bool | None:
    if low is None or high is None:
        return None
    return low > 0 if sign > 0 else high < 0
