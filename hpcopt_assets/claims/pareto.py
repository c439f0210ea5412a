"""Who is as good as another in everything, and better in something.

In:  the measures of policies.   Out: for each, the policies that dominate it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from hpcopt_assets.contracts.robustness_tables import BETTER

Values = Mapping[str, float | None]


def dominators(measured: Mapping[str, Values], names: tuple[str, ...]) -> dict[str, tuple[str, ...] | None]:
    """Policy -> those that dominate it, in the mapping's order; None where a measure of its own is unknown.

    `names`: the measures, each better as `BETTER` says. Equals do not dominate each other. Who lacks a
    measure dominates nobody. NaN is as unknown as None: it would lose to nobody, and stand on every front.
    """
    known = {
        policy: [
            BETTER[name] * value
            for name in names
            if (value := values[name]) is not None and not math.isnan(value)
        ]
        for policy, values in measured.items()
    }
    whole = {policy: values for policy, values in known.items() if len(values) == len(names)}
    return {
        policy: tuple(other for other, theirs in whole.items() if _dominates(theirs, whole[policy]))
        if policy in whole
        else None
        for policy in measured
    }


def _dominates(one: list[float], other: list[float]) -> bool:
    pairs = list(zip(one, other, strict=True))
    return all(mine >= yours for mine, yours in pairs) and any(mine > yours for mine, yours in pairs)
