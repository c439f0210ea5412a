"""Lists of hosts, vnodes and chunks: how many processors, nodes, GPUs and bytes they make.

In:  the text of a list.   Out: `Counts`.
Source: PBS Professional Reference Guide, attributes exec_host and exec_vnode, resources select and nodes;
     Torque Administrator Guide, "Accounting records" and "Requesting resources".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from hpcopt_assets.contracts.columns import BYTES_MAX, PROCS_MAX
from hpcopt_assets.ingest.pbs.values import size_bytes

CACHED = 2**12
NUMBER = re.compile(r"\d{1,9}", re.ASCII)
SLOTS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
ALL_PROCS = re.compile(r"(?:^|:)(?:ppn|ncpus)=(?!\d)")
TASKS = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)


class Counts(NamedTuple):
    """What a list makes, whole job; None where it does not say."""

    procs: int | None = None
    nodes: int | None = None
    gpus: int | None = None
    memory_bytes: int | None = None


def _within(value: int | None, hi: int) -> int | None:
    return value if value is not None and value <= hi else None


def _counts(procs: int | None, nodes: int, gpus: int | None = None, memory: int | None = None) -> Counts:
    """Counts within what tables may hold; no processors at all are unknown ones."""
    return Counts(
        _within(procs or None, PROCS_MAX),
        _within(nodes, PROCS_MAX),
        _within(gpus, PROCS_MAX),
        _within(memory, BYTES_MAX),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and NUMBER.fullmatch(text) else None


@lru_cache(CACHED)
def _slots(text: str) -> int | None:
    """Processors of `0*8` (8 at slot 0), `8-13`, `0-3,7` (slots), `5` or nothing (one slot)."""
    _, star, count = text.partition("*")
    if star:
        return _number(count)
    if not text:
        return 1
    total = 0
    for part in text.split(","):
        found = SLOTS.fullmatch(part)
        if found is None:
            return None
        first = int(found.group(1))
        total += max(int(found.group(2) or first) - first + 1, 0)
    return total


def exec_host(text: str, *, is_counted: bool = False) -> Counts:
    """`host/slots+host/slots...`: PBS Pro's `n1/0*8`, Torque's `c7/2+c7/3` and `c7/0-3,7`.

    Where `is_counted`, a lone number is how many slots, not which one.
    """
    hosts = set()
    procs: int | None = 0
    for part in text.split("+"):
        host, _, slots = part.partition("/")
        hosts.add(host)
        count = _number(slots) if is_counted and slots.isdecimal() else _slots(slots)
        procs = None if procs is None or count is None else procs + count
    return _counts(procs, len(hosts))


class _Amounts(NamedTuple):
    """What one vnode gives, or one chunk or node is asked for; None where nothing is said."""

    cpus: int | None
    processes: int | None
    gpus: int | None
    torque_gpus: int | None
    memory_bytes: int | None


@lru_cache(CACHED)
def _amounts(text: str) -> _Amounts:
    """Amounts of `ncpus=4:mem=2gb:fast`; words without an amount are properties."""
    found = dict(word.split("=", 1) for word in text.split(":") if "=" in word)
    ncpus, ppn, ngpus, gpus = (_number(found.get(name)) for name in ("ncpus", "ppn", "ngpus", "gpus"))
    return _Amounts(ncpus, ppn, ngpus, gpus, size_bytes(found.get("mem", "")))


def _total(amounts: Iterable[tuple[int | None, int]]) -> int | None:
    """Sum of amounts times how often they are; None where no amount is known."""
    known = [amount * times for amount, times in amounts if amount is not None]
    return sum(known) if known else None


@lru_cache(CACHED)
def exec_vnode(text: str) -> Counts:
    """`(vnode:ncpus=4:mem=2gb+vnode:ncpus=4)+(...)`: chunks, each over one vnode or more."""
    vnodes = set()
    often: dict[str, int] = {}
    for part in text.replace("(", "").replace(")", "").split("+"):
        name, _, rest = part.partition(":")
        vnodes.add(name)
        often[rest] = often.get(rest, 0) + 1
    # The chunks of a job are mostly alike.
    given = [(_amounts(rest), times) for rest, times in often.items()]
    return _counts(
        _total((each.cpus, times) for each, times in given),
        len(vnodes),
        _total((each.gpus, times) for each, times in given),
        _total((each.memory_bytes, times) for each, times in given),
    )


@lru_cache(CACHED)
def select(text: str) -> Counts:
    """`2:ncpus=8:mpiprocs=4+1:ncpus=4:ngpus=2`: chunks; nodes are the chunks.

    Processors are unknown where a chunk leaves them to the server's default.
    """
    asked = []
    for part in text.split("+"):
        head, _, rest = part.partition(":")
        times = _number(head)
        if times is None and "=" not in head:
            return Counts()
        asked.append((_amounts(part), 1) if times is None else (_amounts(rest), times))
    is_explicit = all(each.cpus is not None for each, _ in asked)
    return _counts(
        _total((each.cpus, times) for each, times in asked) if is_explicit else None,
        sum(times for _, times in asked),
        _total((each.gpus, times) for each, times in asked),
        _total((each.memory_bytes, times) for each, times in asked),
    )


@lru_cache(CACHED)
def node_spec(text: str) -> Counts:
    """`4:ppn=8:gpus=1+fast:ppn=2`: a number of nodes or one by name or property, each with processors.

    Processors are unknown where they are told in words (`ppn=all`), for nodes differ.
    """
    asked = []
    is_number = True
    for part in text.partition("#")[0].split("+"):
        # `#shared` and `#excl` say whether others may use the nodes.
        head, _, rest = part.partition(":")
        times = _number(head)
        asked.append((_amounts(rest), 1 if times is None else times))
        is_number &= not ALL_PROCS.search(rest)
    return _counts(
        sum(max(each.processes or 1, each.cpus or 1) * times for each, times in asked) if is_number else None,
        sum(times for _, times in asked),
        _total((each.torque_gpus, times) for each, times in asked),
    )


def exec_gpus(text: str) -> Counts:
    """Torque's `n1-gpu/1+n1-gpu/0`: one entry a GPU."""
    return Counts(gpus=text.count("+") + 1)


def tasks_of(indices: str) -> tuple[int | None, int | None]:
    """Tasks of an array, `0-20:5,30%2`, and how many may run at once; None where it does not say."""
    text, _, throttle = indices.partition("%")
    count = 0
    for part in text.split(","):
        found = TASKS.fullmatch(part)
        if found is None:
            return None, _number(throttle)
        first, last, step = found.groups()
        count += max((int(last or first) - int(first)) // max(int(step or 1), 1) + 1, 0)
    return count, _number(throttle)
