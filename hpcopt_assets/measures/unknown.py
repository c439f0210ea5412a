"""Arithmetic with numbers that may be unknown: nothing follows from what is not known.

In:  numbers or None.   Out: a number or None.
"""

from __future__ import annotations


def less(one: float | None, other: float | None) -> float | None:
    """`one` less `other`."""
    return None if one is None or other is None else one - other


def over(one: float | None, other: float | None) -> float | None:
    """`one` over `other`; None where that is 0, too."""
    return one / other if one is not None and other else None
