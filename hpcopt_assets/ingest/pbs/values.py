"""Durations and sizes as PBS spells them.

In:  a text.   Out: its number, or None where it is none of the kind.
Not here: lists of hosts and chunks (specs.py).
Source: PBS Professional Reference Guide, "Resource Formats"; Torque Administrator Guide, "Requesting
     resources".
"""

from __future__ import annotations

import re
from functools import lru_cache

from hpcopt_assets.contracts.columns import BYTES_MAX

CACHED = 2**14
TIME_MAX_S = 2**38
# As in SWF: sums of a few times stay within the tables' 2^40 s.
DURATION = re.compile(r"(?:(?:(?:(\d+):)?(\d+):)?(\d+):)?(\d+(?:\.\d+)?)", re.ASCII)
WELL_FORMED = r"^(?:\d+|(?:\d{2,}:[0-5]\d|\d{2,}):[0-5]\d)(?:\.\d+)?$"
# PBS writes HH:MM:SS, with as many digits of hours as needed, or seconds.
SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmgtp]?)([bw]?)", re.ASCII | re.IGNORECASE)
SCALES = ("", "k", "m", "g", "t", "p")
WORD_BYTES = 8


@lru_cache(CACHED)
def seconds(text: str) -> float | None:
    """The duration `[[[days:]hours:]minutes:]seconds[.fraction]` in seconds, at most 2^38."""
    found = DURATION.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, rest = map(float, found.groups("0"))
    total = days * 86_400 + hours * 3_600 + minutes * 60 + rest
    return total if total <= TIME_MAX_S else None


@lru_cache(CACHED)
def size_bytes(text: str) -> int | None:
    """A size in bytes: a number, a prefix k, m, g, t or p (powers of 1024), and b (bytes) or w (8 bytes)."""
    found = SIZE.fullmatch(text)
    if found is None:
        return None
    number, scale, unit = found.groups()
    total = float(number) * 1024 ** SCALES.index(scale.lower()) * (WORD_BYTES if unit in "wW" and unit else 1)
    return round(total) if total <= BYTES_MAX else None
