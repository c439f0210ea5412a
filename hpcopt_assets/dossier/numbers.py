"""Numbers for people: thousands separators, a few digits, a unit that fits.

In:  numbers or None.   Out: text. Unknown is said in words, never shown as 0.
"""

from __future__ import annotations

import math

from hpcopt_assets.contracts.sentences import in_utc

UNKNOWN = "not known"
_UNITS = ((60.0, 1.0, "s"), (3600.0, 60.0, "min"), (172800.0, 3600.0, "h"), (math.inf, 86400.0, "days"))
# Below the first number of seconds, divide by the second: 90 s are 1.5 min, 47 h stay hours, 48 h are 2 days.


def count(value: int | None) -> str:
    """12,345."""
    return UNKNOWN if value is None else f"{value:,}"


def real(value: float | None, digits: int = 3) -> str:
    """A number to `digits` significant digits, without trailing zeros; whole digits are all shown."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude < -4:
        return f"{value:.{digits - 1}e}"
    text = f"{value:,.{max(0, digits - 1 - magnitude)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: float | None) -> str:
    """A change to three significant digits, with its sign."""
    return f"+{real(value)}" if value is not None and value > 0 else real(value)


def share(ratio: float | None, *, is_change: bool = False) -> str:
    """A ratio as per cent; of a change, with its sign."""
    if ratio is None:
        return UNKNOWN
    return f"{(signed if is_change else real)(100 * ratio)} %"


def span(low: float | None, high: float | None) -> str:
    """An interval of changes."""
    return UNKNOWN if low is None or high is None else f"{signed(low)} to {signed(high)}"


def duration(seconds: float | None) -> str:
    """Seconds in the unit that reads best."""
    if seconds is None:
        return UNKNOWN
    divisor, unit = next((by, unit) for below, by, unit in _UNITS if abs(seconds) < below)
    return f"{real(seconds / divisor)} {unit}"


def instant(seconds: float | None) -> str:
    """Seconds since the epoch as a UTC date and time to the second."""
    return UNKNOWN if seconds is None else in_utc(seconds)


def date(seconds: float | None) -> str:
    """Seconds since the epoch as a UTC date."""
    return UNKNOWN if seconds is None else in_utc(seconds, "%Y-%m-%d")
