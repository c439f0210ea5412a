"""The registry's model: what is known of a trace beside its files (configs/traces.yaml).

In:  a mapping parsed from YAML.   Out: `TracesConfig`, whose `entry` settles what parts inherit.
Not here: reading the files (ingest/) or the hash lock (orchestration/lock.py).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AwareDatetime, Field, HttpUrl, ValidationError, model_validator

from hpcopt_assets.contracts.columns import PROCS_MAX
from hpcopt_assets.contracts.frozen import SAFE_ID, Frozen, Procs, Seconds, Words
from hpcopt_assets.contracts.vocabulary import Dialect, TraceFormat, Unit

TraceId = Annotated[str, Field(pattern=f"^{SAFE_ID.pattern}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Select(Frozen):
    """Which jobs of a log belong to a trace: of these partitions, of these queues; None keeps all."""

    partitions: Annotated[tuple[Words, ...], Field(min_length=1)] | None = None
    queues: Annotated[tuple[Words, ...], Field(min_length=1)] | None = None


class Exclusion(Frozen):
    """Jobs to leave out: those that a user submitted from `since` on and before `until` (a flurry, say)."""

    user: Words
    since: AwareDatetime
    until: AwareDatetime

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.until <= self.since:
            raise ValueError(f"user {self.user}: until {self.until} is not after since {self.since}")
        return self


class Split(Frozen):
    """A log of several machines: a trace `<id>.<name>` a partition or queue, with its capacity.

    An entry of that id may say more of the part, or otherwise.
    """

    by: Literal["partition", "queue"]
    capacity: Annotated[dict[TraceId, Procs], Field(min_length=1)]


class CapacityStep(Frozen):
    """From this instant on the machine has this capacity (a drain, an extension)."""

    since: AwareDatetime
    capacity: Annotated[int, Field(ge=0, le=PROCS_MAX)]


class TraceEntry(Frozen):
    """What is known of a trace beside its file. Every key may be absent: the file then speaks alone."""

    url: HttpUrl | None = None
    sha256: Sha256 | None = None
    format: TraceFormat | None = None
    dialect: Dialect | None = None
    fields: tuple[Words, ...] | None = None
    timezone: Words | None = None
    capacity_procs: Procs | None = None
    capacity_steps: tuple[CapacityStep, ...] = ()
    unit: Unit = Unit.PROCS
    max_runtime_s: dict[Words, Seconds] = Field(default={})
    # Partition (queue, where the log has no partitions) -> its limit: the request of a job that stated none.
    part_of: TraceId | None = None
    select: Select | None = None
    split: Split | None = None
    exclude: tuple[Exclusion, ...] = ()
    is_synthetic: bool = False
    licence: Words | None = None
    note: Words | None = None

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.dialect is not None and self.format not in (None, TraceFormat.PBS):
            raise ValueError(f"dialect {self.dialect} is one of PBS logs, the format is {self.format}")
        if self.timezone is not None:
            try:
                ZoneInfo(self.timezone)
            except (ZoneInfoNotFoundError, ValueError) as error:
                raise ValueError(f"timezone {self.timezone!r}: no IANA name (Europe/Stockholm is)") from error
        steps = [step.since for step in self.capacity_steps]
        if steps != sorted(set(steps)):
            raise ValueError("capacity_steps must stand in ascending order of `since`")
        return self


OF_THE_FILE = (
    *("sha256", "format", "dialect", "fields", "timezone", "max_runtime_s", "exclude"),
    *("is_synthetic", "licence"),
)
# What holds for a file holds for every trace cut out of it; the size of a machine does not.
OF_THE_OWNER = {"part_of", "url", "sha256", "split"}
# No part has a say in these.


class TracesConfig(Frozen):
    """The registry: trace id -> entry. A trace without an entry is read by what its file says."""

    traces: dict[TraceId, TraceEntry]

    @model_validator(mode="after")
    def _parts_are_sound(self) -> Self:
        made = [part_id for part_id, _ in self._splits()]
        twice = sorted({part_id for part_id in made if made.count(part_id) > 1})
        if twice:
            raise ValueError(f"the splits of two traces make {', '.join(twice)}")
        for trace_id in (*self.traces, *made):
            self._check_part(trace_id, self.traces.get(trace_id, TraceEntry()))
        return self

    def _check_part(self, trace_id: str, stated: TraceEntry) -> None:
        owner, splitter = self.entry(trace_id).part_of, self._cut(trace_id).get("part_of")
        if owner is None:
            return
        if any(getattr(stated, key) for key in OF_THE_OWNER - {"part_of"}):
            raise ValueError(f"{trace_id} is a part of {owner}: url, sha256 and split belong to that trace")
        if splitter not in (None, owner):
            raise ValueError(f"{trace_id}: the split of {splitter} makes it, its entry is a part of {owner}")
        if self.entry(owner).part_of is not None:
            raise ValueError(f"{trace_id}: {owner} is itself a part of another trace")
        try:
            TraceEntry.model_validate(dict(self.entry(trace_id)))
        except ValidationError as error:
            said = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise ValueError(f"{trace_id}, a part of {owner}: {said}") from error

    def entry(self, trace_id: str) -> TraceEntry:
        """What is known of a trace; an empty entry where the registry has none.

        A part is read as the trace it is cut out of, whose hash it has: one file is not to be read at two
        UTC offsets. What a `split` says of a part comes next, and the part's own entry beats both.
        """
        stated = self.traces.get(trace_id, TraceEntry())
        cut = self._cut(trace_id)
        owner_id = stated.part_of or cut.get("part_of")
        if owner_id is None:
            return stated
        owner = self.traces.get(owner_id, TraceEntry())
        of_the_file = {key: getattr(owner, key) for key in OF_THE_FILE}
        own = {key: getattr(stated, key) for key in stated.model_fields_set - OF_THE_OWNER}
        return TraceEntry().model_copy(update=of_the_file | cut | own | {"part_of": owner_id})

    def parts_of(self, trace_id: str) -> tuple[str, ...]:
        """Ids of the traces that are cut out of this one's file."""
        stated = [name for name, entry in self.traces.items() if entry.part_of == trace_id]
        made = [name for name, cut in self._splits() if cut["part_of"] == trace_id]
        return tuple(dict.fromkeys([*stated, *made]))

    def _cut(self, trace_id: str) -> dict[str, Any]:
        return dict(self._splits()).get(trace_id, {})

    def _splits(self) -> list[tuple[str, dict[str, Any]]]:
        """The parts that splits make: id and what the split says of it."""
        return [
            (
                f"{trace_id}.{name}",
                {
                    "part_of": trace_id,
                    "select": Select(**{f"{entry.split.by}s": (name,)}),
                    "capacity_procs": capacity,
                    "unit": entry.unit,
                    "note": entry.note,
                },
            )
            for trace_id, entry in self.traces.items()
            if entry.split is not None
            for name, capacity in entry.split.capacity.items()
        ]
