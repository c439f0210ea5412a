"""A schedule as arrays: the one form in which observed and replayed schedules are measured.

In:  a `trace_jobs` or `replay_schedule` frame.   Out: `Schedule`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

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

        A row takes part if start, runtime and processors are known.
        """
        ran = frame.filter(
            pl.col("start_s").is_not_null()
            & pl.col("runtime_s").is_not_null()
            & pl.col("procs").is_not_null()
        )
        codes = ran["user"].cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(NO_USER)

        def column(name: str) -> IntArray:
            return np.ascontiguousarray(ran[name].to_numpy(), dtype=np.int64)

        return cls(
            column("release_s"),
            column("start_s"),
            column("runtime_s"),
            column("procs"),
            np.ascontiguousarray(codes.to_numpy(), dtype=np.int64),
            frame.height - ran.height,
        )
