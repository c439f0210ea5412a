"""Lines of an sacct dump that are not plain: records cut by newlines, free text with separators, CSV.

In:  lines that follow each other.   Out: records as lists of fields, and the lines that make none.
Not here: blocks and plain lines (lines.py), where the columns stand (layout.py).
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.vocabulary import RejectCode
from hpcopt_assets.ingest.parsed import LineCounts, Loss
from hpcopt_assets.ingest.slurm.layout import EXTRA_MAX, LOOKS_LIKE, Layout, fields_of

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d|Unknown|None")
# What times look like in a dump, or their absence.
JOINED_MAX = 1000
# Physical lines that one record may span: a script in SubmitLine.
PATIENCE = 100
# After so many lines in a row that begin no record, those that follow are refused one by one, not joined.
CONTINUED_MAX = 100
# Lines after a whole record that may be the rest of its last column; more are something else.


class Line(NamedTuple):
    """A physical line, numbered from 1."""

    number: int
    text: str


class Record(NamedTuple):
    """A record as it was written: where it begins, how many lines it spans, its fields in their columns."""

    source_line: int
    lines_count: int
    is_recovered: bool
    fields: list[str]


class Before(NamedTuple):
    """The record that stands before a line, and how many lines after its last column were given to it."""

    source_line: int
    continued: int = 0


class Continued(NamedTuple):
    """A line that is taken for the rest of free text in the last column of the record that begins there."""

    record_line: int
    source_line: int


@dataclass
class Joined:
    """What became of lines: records and lines that go on with one, losses, counts.

    `kept` are lines that may go on in what follows, `before` the record to which what follows may belong.
    """

    records: list[Record] = field(default_factory=list)
    continued: list[Continued] = field(default_factory=list)
    lost: list[Loss] = field(default_factory=list)
    counts: LineCounts = field(default_factory=LineCounts)
    kept: list[Line] = field(default_factory=list)
    before: Before | None = None


def is_silent(line: str) -> bool:
    """Blank, or a comment of whoever keeps the log."""
    return not line.strip() or line.startswith("#")


def join(run: list[Line], layout: Layout | None, *, is_open: bool, before: Before | None) -> Joined:
    """Records of lines that are not plain, each of as many lines as it needs.

    With `is_open`, lines at the end that later ones could complete are kept. `before` is the record before
    the first line, to which it may belong. Without a layout all lines are silent.
    """
    found = Joined(before=before)
    k = failed = 0
    while k < len(run):
        line = run[k]
        if layout is None or is_silent(line.text):
            found.counts.comment += bool(line.text.strip())
            found.counts.blank += not line.text.strip()
            k += 1
            continue
        most = JOINED_MAX if failed < PATIENCE else 1
        record, could_go_on = _record(run, k, most, layout)
        if record is not None:
            found.records.append(record)
            found.before = Before(line.number)
            k, failed = k + record.lines_count, 0
        elif could_go_on and is_open and len(run) - k < most:
            found.kept = run[k:]
            break
        else:
            _take_alone(line, layout, found)
            k, failed = k + 1, failed + 1
    return found


def _take_alone(line: Line, layout: Layout, found: Joined) -> None:
    """A line that makes no record with those after it: a part of the record before, a record, or lost."""
    before = found.before
    if before is not None and before.continued < CONTINUED_MAX and _continues(line.text, layout):
        found.continued.append(Continued(before.source_line, line.number))
        found.before = before._replace(continued=before.continued + 1)
    elif isinstance(alone := _alone(line, layout), Record):
        found.records.append(alone)
        found.before = Before(line.number)
    else:
        found.lost.append(alone)
        found.before = None


def _record(run: list[Line], first: int, most: int, layout: Layout) -> tuple[Record | None, bool]:
    """The record of at most so many lines from `first` on; else whether further lines could complete it."""
    parts: list[str] = []
    separators = quotes = tries = 0
    for k in range(first, min(first + most, len(run))):
        text = run[k].text
        if k > first and _are_two(separators, text, layout):
            return None, False  # the one must not swallow the other
        parts.append(text)
        separators += text.count(layout.separator)
        quotes += text.count('"')
        if quotes % 2 if layout.separator == "," else separators < layout.count - 1:
            continue
        understood = _understood("\n".join(parts), layout)
        if understood is not None:
            return Record(run[first].number, len(parts), *understood), False
        tries += 1
        if layout.separator == "," or separators > layout.count + EXTRA_MAX or tries > EXTRA_MAX:
            return None, False
    return None, True


def _understood(text: str, layout: Layout) -> tuple[bool, list[str]] | None:
    """Whether free text had to be put together again, and the fields; None where they are not to be had."""
    try:
        fields = fields_of(text, layout.separator)
    except csv.Error:
        return None
    for reading in _readings(fields, layout):
        if len(reading) == layout.count and layout.separator == ",":
            return False, reading
        found = layout.align(reading)
        if found is not None:
            return len(reading) > layout.count, found
    return None


def _readings(fields: list[str], layout: Layout) -> list[list[str]]:
    """The fields without the one that a closing separator makes; both ways where the header does not tell.

    An empty last column looks the same where only some lines are closed: then the closed line comes first.
    """
    if fields and not fields[-1] and layout.is_closed:
        return [fields[:-1]]
    if fields and not fields[-1] and len(fields) > layout.count:
        return [fields[:-1], fields]
    return [fields]


def _continues(line: str, layout: Layout) -> bool:
    """Whether a line may be the rest of free text in the last column of the record before it.

    Half of the columns or more are taken for a record that was cut, which must not pass unnoticed.
    """
    fields = line.split(layout.separator)
    if layout.separator == "," or not layout.ends_in_text or 2 * len(fields) >= layout.count:
        return False
    return not _has_id(fields, layout)


def _are_two(separators: int, line: str, layout: Layout) -> bool:
    """Whether a line begins a record of its own after so many separators of another.

    What comes before has at least half of the columns, both together have more than there are, and the line
    has an id, a submission and an end or start where they are due. In CSV quotes tell.
    """
    fields = line.split(layout.separator)
    is_more = 2 * (separators + 1) >= layout.count and separators + len(fields) > layout.count
    if layout.separator == "," or not is_more or not _has_id(fields, layout):
        return False
    places = [place for name, place in layout.used.items() if name in ("submit", "start", "end")]
    return len(places) > 1 and all(
        place < len(fields) and INSTANT.match(fields[place]) is not None for place in places
    )


def _has_id(fields: list[str], layout: Layout) -> bool:
    return any(
        LOOKS_LIKE[name].fullmatch(fields[place])
        for name, place in layout.used.items()
        if name in ("jobid", "jobidraw") and place < len(fields)
    )


def _alone(line: Line, layout: Layout) -> Record | Loss:
    """A line by itself: a record if it has the right number of fields, whatever stands in them."""
    try:
        fields = _readings(fields_of(line.text, layout.separator), layout)[0]
    except csv.Error as error:
        return Loss(line.number, RejectCode.NOT_A_RECORD, f"no line of CSV ({error})")
    if len(fields) == layout.count:
        return Record(line.number, 1, is_recovered=False, fields=fields)
    code = RejectCode.TOO_FEW_FIELDS if len(fields) < layout.count else RejectCode.TOO_MANY_FIELDS
    return Loss(line.number, code, f"{plural(len(fields), 'field')}, {layout.count} expected")
