"""Runs in progress, and runs whose process died: a killed command must not stop publishing for ever.

In:  the run storage.   Out: the runs that are really in progress; orphans are marked as failed.
Not here: runs that the daemon launched (its run monitoring watches those).
"""

from __future__ import annotations

import os
import socket

import dagster as dg

PROCESS_TAG = "hpcopt/process"
UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def process_tag() -> dict[str, str]:
    """What marks a run as living in this process."""
    return {PROCESS_TAG: f"{socket.gethostname()}:{os.getpid()}"}


def unfinished_runs(instance: dg.DagsterInstance, job: str) -> list[dg.DagsterRun]:
    """Runs of a job in progress; those whose process of this host is gone are marked as failed."""
    found = []
    for run in instance.get_runs(dg.RunsFilter(job_name=job, statuses=UNFINISHED)):
        if _is_orphan(run.tags.get(PROCESS_TAG)):
            instance.report_run_failed(run, "The command that ran it was ended from outside.")
        else:
            found.append(run)
    return found


def _is_orphan(process: str | None) -> bool:
    host, _, pid = (process or "").rpartition(":")
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False  # there, and somebody else's
    return False
