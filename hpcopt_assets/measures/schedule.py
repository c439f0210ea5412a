"""A schedule as arrays: the one form in which observed and replayed schedules are measured.

In:  a `trace_jobs` or `replay_schedule` frame.   Out: `Schedule`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.order import JOB_KEY

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
NO_USER = -1


@dataclass(frozen=True)
class Schedule:
    """Jobs that ran, in trace order (release, submit, job order). All arrays have one entry per job.

    Times in seconds since the epoch; intervals are half-open. `user` holds codes from 0, -1 where unknown.
    `left_out_count` is how many jobs of the trace are not in the arrays.
    """

    release_s: IntArray
    start_s: IntArray
    runtime_s: IntArray
    procs: IntArray
    user: IntArray
    left_out_count: int

    @property
    def end_s(self) -> IntArray:
        """When each job ended."""
        return self.start_s + self.runtime_s

    @property
    def wait_s(self) -> IntArray:
        """Start minus release; negative only where a log's own clock says so."""
        return self.start_s - self.release_s

    @property
    def work(self) -> FloatArray:
        """Processor-seconds of each job; in float64, for the contract's largest job would wrap an int64."""
        return self.procs.astype(np.float64) * self.runtime_s

    def __len__(self) -> int:
        return int(self.start_s.size)

    def where(self, keep: BoolArray) -> Schedule:
        """The jobs for which `keep` is true; the others are not counted as left out."""
        return Schedule(
            self.release_s[keep],
            self.start_s[keep],
            self.runtime_s[keep],
            self.procs[keep],
            self.user[keep],
            self.left_out_count,
        )

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Schedule:
        """From `trace_jobs` (what was observed) or `replay_schedule`: the rows that started and ran.

        The rows that take part are those of `has_run`. What was observed held its allocated processors,
        where the log tells them; a replay gives each job those it asked for.
        """
        ran = frame.filter(has_run())
        if "allocated_procs" in ran.columns:
            ran = ran.with_columns(procs=held_procs())

        def column(name: str) -> IntArray:
            return np.ascontiguousarray(ran[name].to_numpy(), dtype=np.int64)

        return cls(
            column("release_s"),
            column("start_s"),
            column("runtime_s"),
            column("procs"),
            user_codes(ran["user"]),
            frame.height - ran.height,
        )

    @classmethod
    def paired(cls, first: pl.DataFrame, second: pl.DataFrame) -> tuple[Schedule, Schedule]:
        """The jobs that started and ran in both frames, joined by job and attempt, in the order of `first`.

        Both hold the processors that the jobs asked for: what is compared is when the same jobs ran.
        """
        wanted = [*JOB_KEY, "release_s", "start_s", "runtime_s", "procs", "user"]
        both = (
            first.filter(has_run())
            .select(wanted)
            .join(
                second.filter(has_run()).select(wanted),
                on=JOB_KEY,
                how="inner",
                suffix="_second",
                maintain_order="left",
                validate="1:1",
            )
        )
        other = both.select(pl.col(f"{name}_second").alias(name) for name in wanted[len(JOB_KEY) :])
        return (
            replace(cls.of(both), left_out_count=first.height - both.height),
            replace(cls.of(other), left_out_count=second.height - both.height),
        )


def user_codes(users: pl.Series) -> IntArray:
    """Users numbered from 0 as they first appear, -1 where unknown.

    By their place and not by their names: codes are the order in which users are summed, and no measure may
    change, not even in its last digits, because users are called otherwise.
    """
    first = pl.when(pl.col("user").is_not_null()).then(pl.col("place").first().over("user"))
    placed = users.alias("user").to_frame().with_row_index("place")
    codes = placed.select(first.rank("dense").cast(pl.Int64) - 1).to_series().fill_null(NO_USER)
    return np.ascontiguousarray(codes.to_numpy(), dtype=np.int64)


def held_procs() -> pl.Expr:
    """What a job of a log held: its allocated processors, or those it asked for where the log is silent."""
    return pl.coalesce("allocated_procs", "procs")


def has_run() -> pl.Expr:
    """Whether a row takes part in a schedule: its start, runtime and processors are known."""
    return pl.all_horizontal(pl.col("start_s", "runtime_s", "procs").is_not_null())
