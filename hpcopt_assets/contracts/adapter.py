"""Adapter: what an external policy is shown at a scheduling pass, and what it may answer.

In:  nothing.   Out: `AdapterSnapshot`, `AdapterDecision`, and `ExternalPolicy`, which names one.
     As JSON: schemas/adapter_snapshot.json and schemas/adapter_decision.json; in words:
     docs/external_policies.md.
Not here: a runtime or a true end. What is not in these models no external policy can know.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, Strict, StrictBool

from hpcopt_assets.contracts.frozen import Frozen, PolicyId, Words
from hpcopt_assets.contracts.vocabulary import Estimate, Order, Overrun

ADAPTER_VERSION: Literal[1] = 1
# Goes up when a field changes its meaning or goes; a policy may refuse what it does not know.
GROUP = "hpcopt.policies"
# Of the entry points by which packages offer policies.

LAST_INSTANT_S = 2**53 - 1
# A policy may name instants beyond the last one of the tables, where no job can start, but none that some
# reader of JSON does not keep exact.

Whole = Annotated[int, Strict()]
# Neither True nor "1" nor 1.0 is the number 1: a slip of the policy must not start job 1.
Position = Annotated[Whole, Field(ge=0)]
Instant = Annotated[Whole, Field(le=LAST_INSTANT_S)]


def _as_list(value: object) -> object:
    """Refuse what has no order of its own, such as a set."""
    if not isinstance(value, list | tuple):
        raise ValueError("a list is needed, in the order in which jobs start")
    return value


class VisibleJob(Frozen):
    """What is known of any released job."""

    position: Position = Field(
        description="Place among the replayed jobs in trace order, from 0: decisions name jobs by it."
    )
    job_id: str = Field(description="Id in the log; attempts of one job share it.")
    attempt: Whole = Field(ge=1, description="Which attempt of the job this is, from 1.")
    submit_s: Whole = Field(description="Seconds since the epoch: submission.")
    release_s: Whole = Field(description="Seconds since the epoch: from here on the job may start.")
    procs: Whole = Field(ge=1, description="Processors that the job holds while it runs.")
    requested_runtime_s: Whole = Field(
        ge=1, description="Seconds: the requested runtime, or what stands in for a missing one."
    )
    is_fallback: StrictBool = Field(
        description="The request is missing; see docs/replay.md for what stands in."
    )
    user: str | None = Field(description="Null where the log does not say.")
    group: str | None = Field(description="Null where the log does not say.")
    queue: str | None = Field(description="Null where the log does not say.")
    partition: str | None = Field(description="Null where the log does not say.")


class QueuedJob(VisibleJob):
    """A job that waits."""


class RunningJob(VisibleJob):
    """A job that runs."""

    start_s: Whole = Field(description="Seconds since the epoch: start in this replay.")
    expected_end_s: Whole = Field(
        description="Seconds since the epoch, always beyond now: start plus requested runtime; of a job that "
        "has outlived that, the first of the overrun rule's steps that lies ahead."
    )


class AdapterSnapshot(Frozen):
    """What an external policy is shown at a scheduling pass: all it can know, and no actual runtime."""

    schema_version: Literal[1] = Field(description="Version of this contract.")
    now_s: Whole = Field(description="Seconds since the epoch: the clock.")
    capacity_procs: Whole = Field(ge=0, description="Processors of the machine as it is now.")
    free_procs: Whole = Field(
        description="Processors that nobody holds; below 0 where the machine has shrunk below what runs."
    )
    queued: tuple[QueuedJob, ...] = Field(description="Jobs that wait, by (release_s, position).")
    running: tuple[RunningJob, ...] = Field(description="Jobs that run, by (start_s, position).")


class Reservation(Frozen):
    """When the policy means to start a job that it does not start now."""

    position: Position = Field(description="A job of the snapshot's queue that this decision does not start.")
    at_s: Instant = Field(description="Seconds since the epoch, beyond the snapshot's now_s.")


class AdapterDecision(Frozen):
    """What an external policy answers."""

    start: Annotated[tuple[Position, ...], BeforeValidator(_as_list)] = Field(
        json_schema_extra={"uniqueItems": True},
        description="Positions of queued jobs that start now, in this order. Together they must fit into "
        "free_procs.",
    )
    reservation: Reservation | None = Field(
        default=None,
        description="Information for reports. It binds nobody: neither the policy nor the machine keeps it.",
    )
    wake_at_s: Instant | None = Field(
        default=None,
        description="Seconds since the epoch, beyond the snapshot's now_s: asks for a pass at that instant. "
        "Each decision replaces what the one before asked for; nothing is asked for an empty queue.",
    )


class ExternalPolicy(Frozen):
    """An external policy by name: as much as the schedule's table and its judges need of it.

    The code is elsewhere. Nothing is known of how it decides, so only rules for every schedule bind it.
    """

    id: PolicyId
    means: Words
    overrun: Overrun = Overrun.EXTEND

    order: ClassVar[Order] = Order.SUBMIT
    # In which it is shown the queue; it may start jobs in any.
    estimate: ClassVar[Estimate] = Estimate.REQUESTED
    hold: ClassVar[Estimate] = Estimate.REQUESTED
    guard_k: ClassVar[None] = None
    # What it is told of queued and of running jobs, whatever it makes of that.
