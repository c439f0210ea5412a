"""Three jobs: a trace through the whole graph, placement, and what is published over all of them.

In:  the assets.   Out: job definitions.
"""

import dagster as dg

TRACE_JOB = "trace_to_dossier"
PUBLISH_JOB = "publish"
PLACEMENT_JOB = "placement"
PLACED = dg.AssetSelection.groups("placement")
PUBLISHED = dg.AssetSelection.groups("publish")

trace_job = dg.define_asset_job(
    TRACE_JOB,
    selection=dg.AssetSelection.all() - PUBLISHED - PLACED,
    description="One trace from its raw file to its dossier.",
)
placement_job = dg.define_asset_job(
    PLACEMENT_JOB,
    selection=PLACED,
    description="Snapshots of a simulated cluster, a model of placement failure, and what it is worth.",
)
publish_job = dg.define_asset_job(
    PUBLISH_JOB,
    selection=PUBLISHED,
    description="Over all traces: the DuckDB catalog, and the dossier on what can be believed.",
)
