"""What the comments of an SWF file say of the machine and the log.

In:  comment lines.   Out: `Header`, and how many of the lines state a header field.
Source: Standard Workload Format 2.2, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hpcopt_assets.contracts.columns import PROCS_MAX

HEADER_LINE = re.compile(r";\s*([A-Za-z][A-Za-z0-9_]*)\s*:(?!//)\s*(.*)")
# `; Key: value`; a bare URL in a comment is no field.
CONTINUED = re.compile(r";\s{3,}(\S.*)")
LEADING_INTEGER = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)|\d+", re.ASCII)
# `1664 (72, 1368, 224)` and `338 (batch partition; 512 total)` occur in the archive.
SPAN_MAX_S = 2**38
# A time field of SWF may be at most this: start of the log + submit + wait + runtime stay within 2^40.


@dataclass(frozen=True)
class Header:
    """Header fields that are kept; None where the file is silent or the value cannot be read."""

    computer: str | None = None
    installation: str | None = None
    max_procs: int | None = None
    max_nodes: int | None = None
    unix_start_s: int | None = None
    timezone: str | None = None
    notes: tuple[str, ...] = ()


def leading_integer(text: str, lo: int, hi: int) -> int | None:
    """The whole number that a value begins with, if it lies in [lo, hi]."""
    found = LEADING_INTEGER.match(text)
    value = int(found.group().replace(",", "")) if found and len(found.group()) < 20 else None
    return value if value is not None and lo <= value <= hi else None


def _timezone(zone: str | None, offset: str | None) -> str | None:
    """TimeZoneString, else the deprecated TimeZone (seconds east of Greenwich) as `UTC+hh:mm`."""
    if zone or offset is None:
        return zone
    found = re.fullmatch(r"[+-]?\d{1,5}", offset)
    if found is None:
        return offset or None
    hours, minutes = divmod(abs(int(offset)) // 60, 60)
    return f"UTC{'-' if offset.startswith('-') else '+'}{hours:02d}:{minutes:02d}"


def _decoded(line: bytes) -> str:
    """Old logs write names in Latin-1, in which every byte is a character."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def read_header(comments: Iterable[tuple[int, bytes]]) -> tuple[Header, int]:
    """The header and the number of lines that state a field; the other comments are just comments.

    Comments may stand anywhere. The first statement of a field counts; of `Note` all do, each with the
    indented comment lines that follow it at once.
    """
    values: dict[str, str] = {}
    notes: list[str] = []
    header_lines = 0
    note_line = -1
    for number, line in comments:
        text = _decoded(line).rstrip()
        if stated := HEADER_LINE.fullmatch(text):
            header_lines += 1
            key, value = stated.group(1).casefold(), stated.group(2)
            if key in ("note", "notes"):
                notes.append(value)
                note_line = number
            else:
                values.setdefault(key, value)
        elif (more := CONTINUED.fullmatch(text)) and number == note_line + 1:
            notes[-1] += f" {more.group(1)}"
            note_line = number
    header = Header(
        computer=values.get("computer") or None,
        installation=values.get("installation") or None,
        max_procs=leading_integer(values.get("maxprocs", ""), 1, PROCS_MAX),
        max_nodes=leading_integer(values.get("maxnodes", ""), 1, PROCS_MAX),
        unix_start_s=leading_integer(values.get("unixstarttime", ""), 0, SPAN_MAX_S),
        timezone=_timezone(values.get("timezonestring") or None, values.get("timezone")),
        notes=tuple(note for note in notes if note),
    )
    return header, header_lines
