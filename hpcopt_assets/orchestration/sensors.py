"""Sensors: a trace dropped in data/raw is taken through the graph; results are published once runs settle.

In:  data/raw and the event log.   Out: partitions and run requests.
Not here: what a run does.
"""

import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from hpcopt_assets.contracts.traces_config import TracesConfig
from hpcopt_assets.orchestration.jobs import PLACEMENT_JOB, TRACE_JOB, publish_job, trace_job
from hpcopt_assets.orchestration.orphans import unfinished_runs
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.provenance import latest
from hpcopt_assets.orchestration.sources import files_of, known_traces

RAW_TRACE = dg.AssetKey("raw_trace")
PARTITION_TAG = "dagster/partition"
WATCHED = (TRACE_JOB, PLACEMENT_JOB)
# What is published when these have ended.
INTERVAL_S = 30
SETTLED_AFTER_S = 10
# A file that changed within the last seconds may still be being copied.


@dataclass(frozen=True)
class Arrived:
    """A trace's files as they stand: a word that changes with names, sizes and times, and the latest time."""

    signature: str
    changed_at_s: float


def settled(project: Project, registry: TracesConfig, now_s: float) -> dict[str, Arrived]:
    """Trace id -> its files and registry entry, for files that have not changed within the last seconds.

    A trace that is a part of another shares its files.
    """
    found: dict[str, Arrived] = {}
    looked_at: dict[Path, list[tuple[str, os.stat_result]]] = {}
    for trace_id, sources in known_traces(project.raw, registry).items():
        for source in sources:
            if source not in looked_at:
                looked_at[source] = [(str(path), _stat(path)) for path in (source, *files_of(source))]
        facts = [fact for source in sources for fact in looked_at[source]]
        changed_at_s = max(stat.st_mtime for _, stat in facts)
        if now_s - changed_at_s >= SETTLED_AFTER_S:
            files = repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in facts])
            entry = registry.entry(trace_id).model_dump_json()
            found[trace_id] = Arrived(_word(files + entry), changed_at_s)
    return found


def _stat(path: Path) -> os.stat_result:
    """What is known of a file; a broken link is looked at itself: its trace is to fail visibly."""
    return path.stat() if path.exists() else path.lstat()


def _word(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dg.sensor(
    job=trace_job,
    minimum_interval_seconds=INTERVAL_S,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="A new or replaced file in data/raw, or a changed registry entry, becomes a run.",
)
def arrivals(
    context: dg.SensorEvaluationContext,
    project: dg.ResourceParam[Project],
    registry: dg.ResourceParam[TracesConfig],
) -> dg.SensorResult:
    """Request a run for each trace whose files or entry differ from those seen at the last tick.

    A trace that was never seen here but taken in since its files last changed (by the command line, or
    before the sensor's memory was wiped) is only remembered.
    """
    seen: dict[str, str] = json.loads(context.cursor or "{}")
    now = settled(project, registry, time.time())
    changed = [trace_id for trace_id, found in now.items() if _signature(seen, trace_id) != found.signature]
    known = set(context.instance.get_dynamic_partitions(traces.name or ""))

    def is_taken_in(trace_id: str) -> bool:
        if trace_id in seen or trace_id not in known:
            return False
        made = latest(context.instance, RAW_TRACE, trace_id)
        return made is not None and made.at_s >= now[trace_id].changed_at_s

    # Dagster runs a key once for ever. A file may come back to an earlier content, so a key tells the whole
    # history of what was seen.
    history = {
        trace_id: f"{now[trace_id].signature}:{_word(seen.get(trace_id, '') + now[trace_id].signature)}"
        for trace_id in changed
    }
    wanted = [trace_id for trace_id in changed if not is_taken_in(trace_id)]
    new = [trace_id for trace_id in wanted if trace_id not in known]
    return dg.SensorResult(
        dynamic_partitions_requests=[traces.build_add_request(new)] if new else [],
        run_requests=[
            dg.RunRequest(run_key=f"{trace_id}:{history[trace_id]}", partition_key=trace_id)
            for trace_id in wanted
        ],
        cursor=json.dumps(seen | history, sort_keys=True),
    )


def _signature(seen: dict[str, str], trace_id: str) -> str:
    return seen.get(trace_id, "").partition(":")[0]


@dg.sensor(
    job=publish_job,
    minimum_interval_seconds=INTERVAL_S,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Once no trace is being worked on, publish what changed since the last time.",
)
def publish_when_settled(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """One publication after the last of a batch of runs, whether these succeeded or not."""
    busy = [run for job in WATCHED for run in unfinished_runs(context.instance, job)]
    if busy:
        named = sorted({run.tags.get(PARTITION_TAG, run.run_id) for run in busy})
        return dg.SkipReason(f"still being worked on: {', '.join(named)}")
    ended = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
    finished = [
        record
        for job in WATCHED
        for record in context.instance.get_run_records(
            dg.RunsFilter(job_name=job, statuses=ended), limit=1, order_by="update_timestamp"
        )
    ]
    if not finished:
        return dg.SkipReason("no trace has been worked on yet")
    last = max(finished, key=lambda record: record.update_timestamp).dagster_run.run_id
    if context.cursor == last:
        return dg.SkipReason("nothing changed since the last publication")
    context.update_cursor(last)
    return dg.RunRequest(run_key=last)
