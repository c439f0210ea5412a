"""Which columns an sacct dump has, and how to find them in a line whose free text holds separators.

In:  a header line, or a list of field names.   Out: `Layout`.
Not here: which lines make a record (lines.py), what a value says (values.py).
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from hpcopt_assets.contracts.errors import TraceError


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


USED = _words(
    "jobid jobidraw cluster user uid group gid account partition jobname state "
    "submit eligible start end elapsed elapsedraw suspended totalcpu timelimit timelimitraw "
    "reqcpus ncpus alloccpus ntasks nnodes allocnodes nodelist reqmem maxrss reqtres alloctres"
)
NEEDED = {
    "JobID (or JobIDRaw)": ("jobid", "jobidraw"),
    "Submit": ("submit",),
    "Start": ("start",),
    "End (or Elapsed, ElapsedRaw)": ("end", "elapsed", "elapsedraw"),
    "State": ("state",),
}
FREE_TEXT = frozenset(
    _words(
        "jobname comment admincomment systemcomment submitline workdir constraints container extra licenses "
        "wckey stdin stdout stderr"
    )
)
# What users or sites write, or what has `|` in its grammar.

ID = r"\d+(?:_(?:\d+|\[.*\])|\+\d+)?(?:\.[\w-]+)?"
TIME = r"[\dT:.+Z -]*|(?i:Unknown|None|N/A|INVALID)"
DURATION = r"[\d:.-]*|(?i:UNLIMITED|INFINITE|Partition_Limit|INVALID)"
COUNT = r"\d*"
MEMORY = r"(?:[\d.]+[KMGTPE]?[nc]?)?"
TRES = r"(?:[^=,]+=[^=,]*(?:,|$))*"
KINDS = {
    ID: "jobid jobidraw",
    TIME: "submit eligible start end",
    DURATION: "elapsed timelimit timelimitraw totalcpu usercpu systemcpu suspended cputime reserved resvcpu "
    "planned plannedcpu avecpu mincpu",
    COUNT: "reqcpus ncpus alloccpus ntasks nnodes allocnodes uid gid elapsedraw dbindex associd cputimeraw "
    "resvcpuraw reqnodes",
    MEMORY: "reqmem maxrss averss maxvmsize avevmsize",
    TRES: "reqtres alloctres",
    r"[A-Z][A-Z_]+\+?(?: by \S+)?": "state",
    r"(?:\d+:\d+)?": "exitcode derivedexitcode",
}
LOOKS_LIKE = {name: re.compile(kind, re.ASCII) for kind, names in KINDS.items() for name in _words(names)}
# Loose: they tell where a column is, not what it may hold.
EXTRA_MAX = 64
# More separators than this in the free text of one line are not sorted out.


def normal(name: str) -> str:
    """A column's name without case, spaces and underscores: `Job_ID` is `jobid`."""
    return re.sub(r"[\s_]", "", name).casefold()


def fields_of(line: str, separator: str) -> list[str]:
    """A line's fields; between commas, quotes are what they are in CSV. A field too long raises csv.Error."""
    return next(csv.reader([line]), []) if separator == "," else line.split(separator)


def is_header(line: str, separator: str) -> bool:
    """Whether a line names columns: one of them the job's id, none of them beginning with a digit or sign."""
    try:
        names = [normal(name) for name in fields_of(line, separator)]
    except csv.Error:
        return False
    has_id = "jobid" in names or "jobidraw" in names
    return has_id and all(not name or name[0].isalpha() for name in names)


@dataclass(frozen=True)
class Layout:
    """The columns of a dump in order, names normalised; `is_closed` if its lines end in a separator."""

    names: tuple[str, ...]
    separator: str
    is_closed: bool

    @classmethod
    def of(cls, names: list[str], separator: str, where: str) -> Layout:
        """The layout that these names make; `TraceError` if a needed column is not among them."""
        is_closed = len(names) > 1 and not names[-1].strip()
        found = tuple(normal(name) for name in (names[:-1] if is_closed else names))
        stated = ", ".join(name.strip() for name in names if name.strip())
        missing = [label for label, any_of in NEEDED.items() if not set(any_of) & set(found)]
        if missing:
            raise TraceError(
                found=f"no column {', '.join(missing)}; there are {stated}",
                needed=f"the columns {', '.join(NEEDED)}",
                where=where,
                next_step="Write the dump with `sacct --parsable2 --format=...`; name the columns of one "
                "without a header with --fields or in configs/traces.yaml.",
            )
        return cls(found, separator, is_closed)

    @property
    def count(self) -> int:
        """How many columns there are."""
        return len(self.names)

    @cached_property
    def used(self) -> dict[str, int]:
        """Place of each column that is used; of two of one name, the first."""
        return {name: self.names.index(name) for name in USED if name in self.names}

    @property
    def ends_in_text(self) -> bool:
        """Whether the last column is free text, so that lines after a whole record may belong to it."""
        return self.names[-1] in FREE_TEXT

    @cached_property
    def _parts(self) -> list[range]:
        """Places of the columns between free-text columns: one part more than there are such columns."""
        cuts = [place for place, name in enumerate(self.names) if name in FREE_TEXT]
        return [
            range(first, last)
            for first, last in zip([0, *(cut + 1 for cut in cuts)], [*cuts, self.count], strict=True)
        ]

    def _looks_right(self, fields: list[str], part: range, shift: int) -> bool:
        for place in part:
            pattern = LOOKS_LIKE.get(self.names[place])
            if pattern and not pattern.fullmatch(fields[place + shift]):
                return False
        return True

    def align(self, fields: list[str]) -> list[str] | None:
        """The fields of a line, those that free text was cut into joined again; None where in doubt.

        A reading counts if what stands in each column looks like one of its kind. The line is understood
        if all readings agree on where the columns stand that are used. Free text on whose edges they do not
        agree is left empty where it is used: no job is lost for its name.
        """
        extra = len(fields) - self.count
        if extra < 0 or extra > EXTRA_MAX:
            return None
        parts = self._parts
        if extra and len(parts) == 1:
            return None
        shifts: list[set[int]] = [{0}]
        # For each part, by how many places it may be shifted, going forward ...
        if not self._looks_right(fields, parts[0], 0):
            return None
        for part in parts[1:]:
            lowest = min(shifts[-1])
            shifts.append({s for s in range(lowest, extra + 1) if self._looks_right(fields, part, s)})
            if not shifts[-1]:
                return None
        if extra not in shifts[-1]:
            return None
        shifts[-1] = {extra}
        for place in range(len(parts) - 2, -1, -1):
            # ... and back again: a part is shifted no further than those after it.
            shifts[place] = {s for s in shifts[place] if s <= max(shifts[place + 1])}
            if not shifts[place]:
                return None
        used = set(self.used.values())
        if any(len(shifts[k]) > 1 and not used.isdisjoint(part) for k, part in enumerate(parts)):
            return None
        found = self._joined(fields, [min(shift) for shift in shifts])
        for part, (before, after) in zip(parts, pairwise(shifts), strict=False):
            if part.stop in used and (len(before) > 1 or len(after) > 1):
                found[part.stop] = ""
        return found

    def _joined(self, fields: list[str], shifts: list[int]) -> list[str]:
        found: list[str] = []
        for k, part in enumerate(self._parts):
            if k:
                text = fields[len(found) + shifts[k - 1] : part.start + shifts[k]]
                found.append(self.separator.join(text))
            found += [fields[place + shifts[k]] for place in part]
        return found
