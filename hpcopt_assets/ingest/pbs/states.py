"""How an attempt ended, by its records and its exit status.

In:  attempts (`attempts.attempts_of`).   Out: an expression for their `JobState`.
Source: OpenPBS, src/include/job.h (JOB_EXEC_*); Torque Administrator Guide, "Job exit status". Where both
     give a number a meaning, they differ from -10 on.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.vocabulary import JobState

BOTH = {
    0: JobState.COMPLETED,
    -4: JobState.NODE_FAIL,
    -5: JobState.NODE_FAIL,
    -6: JobState.NODE_FAIL,
    # The daemon of the node began anew and aborted the job.
}
TORQUE = {-10: JobState.OUT_OF_MEMORY, -11: JobState.TIMEOUT}
PBS_PRO = {
    -11: JobState.REQUEUED,
    -12: JobState.REQUEUED,
    # Rerun; checkpointed and killed.
    -14: JobState.NODE_FAIL,
    -20: JobState.NODE_FAIL,
    # A node of the job could not be reached.
    -17: JobState.CANCELLED,
    -19: JobState.CANCELLED,
    # Deleted by a hook.
    -26: JobState.OUT_OF_MEMORY,
    -27: JobState.OUT_OF_MEMORY,
    -31: JobState.OUT_OF_MEMORY,
    -29: JobState.TIMEOUT,
}
SIGNALLED = (128, 256)
# What the shell or the daemon adds to the number of the signal that ended the job.
SIGTERM, SIGKILL = 15, 9
TERMINATED = 256 + SIGTERM
# The exit status that `qdel` leaves.
KILLED = tuple(base + signal for base in SIGNALLED for signal in (SIGTERM, SIGKILL))


def _of_exit() -> pl.Expr:
    status = pl.col("exit_status")

    def by(table: dict[int, JobState]) -> pl.Expr:
        return status.replace_strict(
            {code: state.value for code, state in table.items()}, default=None, return_dtype=pl.String
        )

    own = pl.when("is_pbs_pro").then(by(PBS_PRO)).otherwise(by(TORQUE))
    is_over = pl.max_horizontal("used_walltime", "runtime_s") > pl.col("limit_s")
    return (
        pl.when(status.is_null())
        .then(pl.lit(JobState.UNKNOWN.value))
        .when(status.is_in(KILLED) & is_over)
        .then(pl.lit(JobState.TIMEOUT.value))
        .when((status == TERMINATED) | (pl.col("is_deleted") & (status > 0)))
        .then(pl.lit(JobState.CANCELLED.value))
        .otherwise(pl.coalesce(by(BOTH), own, pl.lit(JobState.FAILED.value)))
    )


def state() -> pl.Expr:
    """The state of an attempt; its `runtime_s` is known where it ended."""
    has_started, has_ended = pl.col("start_s").is_not_null(), pl.col("ended_s").is_not_null()
    word = {member: pl.lit(member.value) for member in JobState}
    return (
        pl.when(has_ended)
        .then(_of_exit())
        .when(pl.col("requeued_s").is_not_null())
        .then(word[JobState.REQUEUED])
        .when("is_deleted")
        .then(word[JobState.CANCELLED])
        .when("is_aborted")
        .then(pl.when(has_started).then(word[JobState.FAILED]).otherwise(word[JobState.CANCELLED]))
        .when("is_moved")
        .then(word[JobState.UNKNOWN])
        .when(has_started)
        .then(word[JobState.RUNNING])
        .otherwise(word[JobState.PENDING])
    )
