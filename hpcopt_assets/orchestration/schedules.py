"""The nightly schedule: traces whose results are missing or were made by other code or decisions.

In:  the event log and the assets' current code versions.   Out: run requests.
Not here: new files (sensors.py).
"""

import dagster as dg

from hpcopt_assets.orchestration.jobs import TRACE_JOB, trace_job
from hpcopt_assets.orchestration.orphans import unfinished_runs
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.provenance import fingerprint, latest
from hpcopt_assets.orchestration.sensors import PARTITION_TAG


@dg.schedule(
    job=trace_job,
    cron_schedule="30 2 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="At 02:30 UTC: traces with a missing or outdated table are taken through the graph again.",
)
def nightly_repair(
    context: dg.ScheduleEvaluationContext, project: dg.ResourceParam[Project], loaded: dg.ResourceParam[str]
) -> list[dg.RunRequest] | dg.SkipReason:
    """A run for each trace that needs one and has none in progress.

    Skips where code or configs changed after they were loaded here: runs start with what is on disk, and
    what they make would never equal what is expected here.
    """
    if fingerprint(project.configs) != loaded:
        return dg.SkipReason("code or configs changed since they were loaded: reload the definitions")
    busy = {run.tags.get(PARTITION_TAG) for run in unfinished_runs(context.instance, TRACE_JOB)}
    graph = context.repository_def.asset_graph if context.repository_def else None
    if graph is None:
        return dg.SkipReason("the code location could not be read")
    versions = {
        key: graph.get(key).code_version
        for key in sorted(graph.get_all_asset_keys())
        if graph.get(key).partitions_def == traces
    }

    def needs_a_run(trace_id: str) -> bool:
        made = {key: latest(context.instance, key, trace_id) for key in versions}
        return any(item is None or item.code_version != versions[key] for key, item in made.items())

    wanted = [
        trace_id
        for trace_id in sorted(context.instance.get_dynamic_partitions(traces.name or ""))
        if trace_id not in busy and needs_a_run(trace_id)
    ]
    day = context.scheduled_execution_time.date().isoformat()
    return [
        dg.RunRequest(run_key=f"{trace_id}:{day}", partition_key=trace_id) for trace_id in wanted
    ] or dg.SkipReason(
        "every trace is complete and up to date"
        + (f"; in progress: {', '.join(sorted(map(str, busy)))}" if busy else "")
    )
