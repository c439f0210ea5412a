"""What one value of an sacct column says: memory, TRES, node lists, array ranges, job states.

In:  the text of one value.   Out: numbers and words; None where the text says nothing of the kind.
Not here: times and durations (times.py, durations.py), whole rows (rows.py).
Source: sacct(1) of Slurm 17 to 24, and troubles that tools around it have met.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hpcopt_assets.contracts.columns import BYTES_MAX, PROCS_MAX
from hpcopt_assets.contracts.vocabulary import JobState

MEMORY = re.compile(r"(\d{1,20}(?:\.\d{1,9})?)([KMGTPE]?)([nc]?)", re.ASCII)
UNITS = {unit: 1024**power for power, unit in enumerate(("", "K", "M", "G", "T", "P", "E"))}
PER_CPU_FLAGS_BYTES = (2**63 * 2**20, 2**31 * 2**20)
# Slurm marks memory per CPU by the top bit of the number of MB; a log written across versions shows the bit
# as part of the number, mostly with the suffix of memory per node. No node has 2^31 MB.
LEAKED = "leaked"

GPU = re.compile(r"gres[/:]gpu(:.+)?", re.IGNORECASE)
WHOLE = re.compile(r"\d{1,12}", re.ASCII)
RANGE = re.compile(r"(\d{1,12})(?:-(\d{1,12})(?::(\d{1,9}))?)?", re.ASCII)
NO_NODES = frozenset({"", "none assigned", "none", "unknown", "n/a", "(null)"})

STATES = {
    "COMPLETED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "LAUNCH_FAILED": JobState.FAILED,
    "CANCELLED": JobState.CANCELLED,
    "DEADLINE": JobState.CANCELLED,
    "REVOKED": JobState.CANCELLED,
    "TIMEOUT": JobState.TIMEOUT,
    "NODE_FAIL": JobState.NODE_FAIL,
    "BOOT_FAIL": JobState.NODE_FAIL,
    "RECONFIG_FAIL": JobState.NODE_FAIL,
    "OUT_OF_MEMORY": JobState.OUT_OF_MEMORY,
    "PREEMPTED": JobState.PREEMPTED,
    "REQUEUED": JobState.REQUEUED,
    "RESIZING": JobState.REQUEUED,
    "RUNNING": JobState.RUNNING,
    "CONFIGURING": JobState.RUNNING,
    "COMPLETING": JobState.RUNNING,
    "STAGE_OUT": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STOPPED": JobState.RUNNING,
    "SUSPENDED": JobState.RUNNING,
    "PENDING": JobState.PENDING,
    "REQUEUE_HOLD": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "RESV_DEL_HOLD": JobState.PENDING,
    "SPECIAL_EXIT": JobState.PENDING,
}
# A deadline ends jobs that wait as well as jobs that run, so it is no timeout. A resized job's record ends
# as a requeued one's does: the job goes on in another record.
STATE = re.compile(r"([A-Za-z_]+)\+?(?: by (\S+))?", re.ASCII)


class Memory(NamedTuple):
    """An amount of memory: of each node (`n`), of each CPU (`c`), or of the whole.

    `LEAKED`: of the whole, or, unless there are nodes enough, of each CPU and 2^31 MB too much.
    """

    size_bytes: float
    per: str


def _amount(text: str, default_unit: str) -> tuple[int | float, str] | None:
    """Bytes and suffix; as a whole number where possible: near 2^63 MB a float would lose the megabytes."""
    found = MEMORY.fullmatch(text)
    if found is None:
        return None
    number, unit, per = found.groups()
    return (int(number) if number.isdigit() else float(number)) * UNITS[unit or default_unit], per


def memory(text: str, default_unit: str) -> Memory | None:
    """What MaxRSS or `mem=` says; `default_unit` (a key of `UNITS`) where it names no unit."""
    found = _amount(text, default_unit)
    return None if found is None or found[0] > BYTES_MAX else Memory(float(found[0]), found[1])


def requested_memory(text: str) -> Memory | None:
    """What ReqMem says, in MB where it names no unit."""
    found = _amount(text, "M")
    if found is None:
        return None
    size, per = found
    if per == "" and PER_CPU_FLAGS_BYTES[-1] <= size <= BYTES_MAX:
        return Memory(float(size), LEAKED)
    for flag in PER_CPU_FLAGS_BYTES:
        if size >= flag:
            left = size - flag
            return Memory(float(left), "c") if left < PER_CPU_FLAGS_BYTES[-1] else None
    return Memory(float(size), per)


class Tres(NamedTuple):
    """A TRES string. `gpus` is None where it names none; `is_sum_off` if typed GPUs do not add up."""

    cpus: int | None
    nodes: int | None
    memory_bytes: int | None
    gpus: int | None
    is_sum_off: bool
    is_malformed: bool


def tres(text: str) -> Tres:
    """What `cpu=48,mem=180000M,node=3,billing=96,gres/gpu=6,gres/gpu:h100=6` says.

    Of GPUs the untyped total counts where it is given, else the sum of the types.
    """
    counts: dict[str, int] = {}
    typed: list[int] = []
    size = None
    is_malformed = False
    for item in text.split(","):
        name, equals, value = item.partition("=")
        gpu = GPU.fullmatch(name)
        if not equals:
            is_malformed = True
        elif name == "mem":
            amount = memory(value, "M")
            size = None if amount is None else int(amount.size_bytes)
            is_malformed |= amount is None
        elif gpu or name in ("cpu", "node"):
            count = int(value) if WHOLE.fullmatch(value) else PROCS_MAX + 1
            if count > PROCS_MAX:
                is_malformed = True
            elif gpu and gpu.group(1):
                typed.append(count)
            else:
                counts["gpu" if gpu else name] = count
    gpus = counts.get("gpu", sum(typed) if typed else None)
    return Tres(
        cpus=counts.get("cpu"),
        nodes=counts.get("node"),
        memory_bytes=size,
        gpus=gpus if gpus is None or gpus <= PROCS_MAX else None,
        is_sum_off=bool(typed) and gpus != sum(typed),
        is_malformed=is_malformed,
    )


def _numbers(ranges: str) -> tuple[range, ...] | None:
    """The numbers that `1,3,5-7` or `0-20:5` names; None where it is no list of ranges."""
    pieces: list[range] = []
    for part in ranges.split(","):
        found = RANGE.fullmatch(part)
        if found is None:
            return None
        first, last = int(found.group(1)), int(found.group(2) or found.group(1))
        step = int(found.group(3) or 1)
        if last < first or step == 0:
            return None
        pieces.append(range(first, last + 1, step))
    return tuple(pieces)


class ArrayRange(NamedTuple):
    """Tasks of an array that stand in one line (None where the list is cut), and how many run at once."""

    pieces: tuple[range, ...] | None
    throttle: int | None

    @property
    def tasks(self) -> int | None:
        """How many they are."""
        return None if self.pieces is None else sum(map(len, self.pieces))


def array_range(text: str) -> ArrayRange:
    """What stands between the brackets of `900_[4-10%2]`."""
    ranges, _, throttle = text.partition("%")
    return ArrayRange(_numbers(ranges), int(throttle) if WHOLE.fullmatch(throttle) else None)


def nodes_count(text: str) -> int | None:
    """How many nodes a list such as `n[1-3,7],m[01-02]-ib` names; None where it is no list of nodes."""
    pieces = re.split(r"\[([^\[\]]*)\]", text)
    # Even places stand outside of brackets, odd ones inside.
    if any("[" in piece or "]" in piece for piece in pieces):
        return None
    total, product, is_named = 0, 1, False
    for place, piece in enumerate(pieces):
        if place % 2:
            numbers = _numbers(piece)
            if numbers is None:
                return None
            product *= sum(map(len, numbers))
            is_named = True
            continue
        names = piece.split(",")
        is_named |= bool(names[0])
        for name in names[1:]:
            if not is_named:
                return None
            total, product, is_named = total + product, 1, bool(name)
        if total > PROCS_MAX or product > PROCS_MAX:
            return None
    total += product
    return total if is_named and total <= PROCS_MAX else None


class State(NamedTuple):
    """A job's state (None where it is none of Slurm's), and the uid that cancelled it where that is told."""

    state: JobState | None
    canceller: int | None
    is_suspended: bool


def state(text: str) -> State:
    """What State says, without riders such as `by 1234`."""
    found = STATE.fullmatch(text.strip())
    if found is None:
        return State(None, None, is_suspended=False)
    word, canceller = found.groups()
    known = STATES.get(word.upper())
    uid = int(canceller) if canceller and WHOLE.fullmatch(canceller) else None
    return State(known, uid, is_suspended=word.upper() == "SUSPENDED")
