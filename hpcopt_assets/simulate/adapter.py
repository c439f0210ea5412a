"""Adapter: a plan for the reference machine that asks an external policy, and takes no answer on trust.

In:  an `ExternalPolicy`, its code, a `Workload`, one `Instant` after the other.   Out: the jobs that start.
Not here: what a policy sees and may answer (contracts/adapter.py); the replay as a whole (external.py).
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from pydantic import ValidationError

from hpcopt_assets.contracts.adapter import (
    ADAPTER_VERSION,
    AdapterDecision,
    AdapterSnapshot,
    ExternalPolicy,
    QueuedJob,
    RunningJob,
)
from hpcopt_assets.contracts.errors import PolicyError
from hpcopt_assets.contracts.protocols import Decide
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.simulate.reference.views import Instant, Queued, Running, expected_end_s
from hpcopt_assets.simulate.workload import Workload

IDLE_WAKES_MAX = 10_000
# Passes in a row that a policy asked for and at which nothing happened. One a minute covers a week; a policy
# that asks for ever would never end.
SHOWN_CHARACTERS = 80

Tell = Callable[[int, int], object]
# Called at every pass with the jobs started so far and the jobs of the replay.


class Adapter:
    """A plan for the reference machine that asks an external policy at every pass.

    `jobs` are all that take part, as the policy sees them once they are released. `promised_s` keeps the
    first instant that it named for each job it spoke of.
    """

    def __init__(self, policy: ExternalPolicy, decide: Decide, workload: Workload, tell: Tell) -> None:
        self.jobs = visible_jobs(workload)
        self.promised_s: dict[int, int] = {}
        self.passes_count = 0
        self._policy, self._decide, self._tell = policy, decide, tell
        self._trace_id = str(workload.names["trace_id"].first())
        self._running: dict[int, RunningJob] = {}
        self._started: set[int] = set()
        self._wake_s: int | None = None
        self._idle_wakes = 0
        self._now_s = 0

    def wakes_s(self) -> list[int]:
        """The instant that the last decision asked for."""
        return [] if self._wake_s is None else [self._wake_s]

    def starts(self, instant: Instant) -> list[Queued]:
        """What the policy starts at this instant, if that can be."""
        self._now_s = instant.now_s
        self.passes_count += 1
        decision = self._ask(self._snapshot(instant))
        waiting = {job.position: job for job in instant.queue}
        starting = self._admit(decision, waiting, instant.free)
        self._heed_reservation(decision, waiting)
        self._heed_wake(decision, waiting)
        was_woken = not (instant.ended or instant.submitted or instant.is_resized)
        self._count_idle_wakes(is_idle=was_woken and not starting)
        self._tell(len(self._started), len(self.jobs))
        return starting

    def _snapshot(self, instant: Instant) -> AdapterSnapshot:
        self._running = {each.job.position: self._seen(each) for each in instant.running}
        self._started |= self._running.keys()
        return AdapterSnapshot(
            schema_version=ADAPTER_VERSION,
            now_s=instant.now_s,
            capacity_procs=instant.capacity_procs,
            free_procs=instant.free,
            queued=tuple(self.jobs[job.position] for job in instant.queue),
            running=tuple(sorted(self._running.values(), key=lambda job: (job.start_s, job.position))),
        )

    def _seen(self, running: Running) -> RunningJob:
        """A running job as it was at the last pass, unless its expected end has come."""
        position = running.job.position
        seen = self._running.get(position)
        if seen is not None and seen.expected_end_s > self._now_s:
            return seen
        end_s = expected_end_s(running, self._now_s)
        return RunningJob(**dict(self.jobs[position]), start_s=running.start_s, expected_end_s=end_s)

    def _ask(self, snapshot: AdapterSnapshot) -> AdapterDecision:
        try:
            answer = self._decide(snapshot.model_dump(mode="json"))
        except (Exception, SystemExit) as error:
            raise self._refusal(
                said(error),
                "a decision",
                "The policy itself failed; `hpcopt --debug replay ...` shows where.",
            ) from error
        try:
            return AdapterDecision.model_validate(
                dict(answer) if isinstance(answer, AdapterDecision) else answer
            )
        except ValidationError as error:
            first, *rest = error.errors()
            key = ".".join(str(part) for part in first["loc"]) or "the whole answer"
            more = f" (and {len(rest)} more)" if rest else ""
            raise self._refusal(
                f"{key}: {_short(first['input'])}{more}",
                first["msg"].removeprefix("Value error, "),
                "What may be answered is in schemas/adapter_decision.json.",
            ) from error

    def _admit(self, decision: AdapterDecision, waiting: dict[int, Queued], free: int) -> list[Queued]:
        """The jobs to start, taken out of `waiting`; each must be there and fit beside those before it."""
        starting: list[Queued] = []
        for position in decision.start:
            job = waiting.pop(position, None)
            if job is None:
                is_twice = position in {each.position for each in starting}
                raise self._refusal(
                    f"start of {self._named(position, is_twice=is_twice)}",
                    "a start of jobs that are in the snapshot's `queued`, each once",
                )
            if job.procs > free:
                beside = " beside the jobs started before it" if starting else ""
                raise self._refusal(
                    f"start of {self._named(position)} on {plural(job.procs, 'processor')}",
                    f"at most {max(free, 0)}, which are free{beside}",
                )
            free -= job.procs
            starting.append(job)
        self._started |= {job.position for job in starting}
        return starting

    def _heed_reservation(self, decision: AdapterDecision, waiting: dict[int, Queued]) -> None:
        """Note the first reservation of a job. It must make sense, and binds nobody."""
        reservation = decision.reservation
        if reservation is None:
            return
        if reservation.position not in waiting:
            raise self._refusal(
                f"reservation for {self._named(reservation.position)}",
                "a reservation for a queued job that the decision does not start",
            )
        if reservation.at_s <= self._now_s:
            raise self._refusal(f"reservation at {reservation.at_s} s", f"an instant beyond {self._now_s} s")
        self.promised_s.setdefault(reservation.position, reservation.at_s)

    def _heed_wake(self, decision: AdapterDecision, waiting: dict[int, Queued]) -> None:
        wake_s = decision.wake_at_s
        if wake_s is not None and wake_s <= self._now_s:
            raise self._refusal(f"wake_at_s {wake_s}", f"an instant beyond {self._now_s} s")
        self._wake_s = wake_s if waiting else None

    def _count_idle_wakes(self, *, is_idle: bool) -> None:
        self._idle_wakes = self._idle_wakes + 1 if is_idle else 0
        if self._idle_wakes > IDLE_WAKES_MAX:
            raise self._refusal(
                f"over {IDLE_WAKES_MAX:,} passes in a row that it asked for and in which it started nothing",
                "a start, or a later `wake_at_s`",
            )

    def _named(self, position: int, *, is_twice: bool = False) -> str:
        """A job by position and id, and what has become of it if it does not wait."""
        if position >= len(self.jobs):
            return f"position {position}, which no job has"
        name = f"position {position} (job {self.jobs[position].job_id})"
        if is_twice:
            return f"{name} a second time in one decision"
        if position in self._started:
            return f"{name}, which has started"
        return name if self.jobs[position].release_s <= self._now_s else f"{name}, which is not released yet"

    def _refusal(
        self, found: str, needed: str, next_step: str = "Correct the policy: see docs/external_policies.md."
    ) -> PolicyError:
        where = f"policy {self._policy.id} at instant {self._now_s} s, replay of {self._trace_id}"
        return PolicyError(found, needed, where, next_step)


def visible_jobs(workload: Workload) -> list[QueuedJob]:
    """Every replayed job as an external policy sees it once it is released."""
    rows = (
        pl.concat([workload.names, workload.jobs.select("submit_s")], how="horizontal")
        .filter(workload.is_replayed)
        .drop("trace_id")
        .with_columns(
            position=pl.int_range(pl.len(), dtype=pl.Int64),
            release_s=workload.release_s,
            procs=workload.procs,
            requested_runtime_s=workload.limit_s,
            is_fallback=workload.is_fallback,
        )
    )
    return [QueuedJob(**row) for row in rows.iter_rows(named=True)]


def said(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":").removesuffix(".")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."
