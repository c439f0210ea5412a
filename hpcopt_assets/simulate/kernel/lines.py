"""A sorted line: entries in ascending (key, job) order within an array that has room on both sides."""

from __future__ import annotations

from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.simulate.kernel.records import HI, LO, Records, compiled

SPARE = 1024
# Entries that stay free before a line that is moved back, so that this happens seldom.


@compiled
def line_find(line: Records, span: IntArray, key: int, job: int) -> int:
    """First place whose (key, job) is not below the given one."""
    lo: int = span[LO]
    hi: int = span[HI]
    while lo < hi:
        mid = (lo + hi) // 2
        entry = line[mid]
        if entry.key < key or (entry.key == key and entry.job < job):
            lo = mid + 1
        else:
            hi = mid
    return lo


@compiled
def line_return(line: Records, span: IntArray) -> None:
    """Move all entries to the beginning: a line that only wanders on would touch all of its memory."""
    lo, hi = span[LO], span[HI]
    for k in range(lo, hi):
        line[k - lo] = line[k]
    span[LO] = 0
    span[HI] = hi - lo


@compiled
def line_place(line: Records, span: IntArray, key: int, job: int, procs: int, estimate_s: int) -> None:
    """Insert, shifting the shorter side if it has room."""
    if span[LO] > 2 * (span[HI] - span[LO]) + SPARE:
        line_return(line, span)
    lo, hi = span[LO], span[HI]
    at = line_find(line, span, key, job)
    if lo > 0 and (hi == line.size or at - lo < hi - at):
        for k in range(lo, at):
            line[k - 1] = line[k]
        at -= 1
        span[LO] = lo - 1
    else:
        for k in range(hi, at, -1):
            line[k] = line[k - 1]
        span[HI] = hi + 1
    entry = line[at]
    entry.key = key
    entry.job = job
    entry.procs = procs
    entry.estimate_s = estimate_s


@compiled
def line_drop(line: Records, span: IntArray, at: int) -> None:
    """Remove the entry at a place, shifting the shorter side."""
    lo, hi = span[LO], span[HI]
    if at - lo < hi - at:
        for k in range(at, lo, -1):
            line[k] = line[k - 1]
        span[LO] = lo + 1
    else:
        for k in range(at, hi - 1):
            line[k] = line[k + 1]
        span[HI] = hi - 1


@compiled
def line_sort(line: Records, span: IntArray) -> None:
    """Put a line whose keys have changed in order again. Few entries change places: by insertion."""
    for k in range(span[LO] + 1, span[HI]):
        key, job, procs, estimate_s = line[k].key, line[k].job, line[k].procs, line[k].estimate_s
        at = k
        while at > span[LO] and (
            line[at - 1].key > key or (line[at - 1].key == key and line[at - 1].job > job)
        ):
            line[at] = line[at - 1]
            at -= 1
        if at < k:
            entry = line[at]
            entry.key = key
            entry.job = job
            entry.procs = procs
            entry.estimate_s = estimate_s
