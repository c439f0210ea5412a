"""Two jobs: a trace through the whole graph, and what is published over all traces.

In:  the assets.   Out: job definitions.
"""

import dagster as dg

TRACE_JOB = "trace_to_dossier"
PUBLISH_JOB = "publish"
PUBLISHED = dg.AssetSelection.groups("publish")

trace_job = dg.define_asset_job(
    TRACE_JOB,
    selection=dg.AssetSelection.all() - PUBLISHED,
    description="One trace from its raw file to its dossier.",
)
publish_job = dg.define_asset_job(
    PUBLISH_JOB,
    selection=PUBLISHED,
    description="The DuckDB catalog over all traces.",
)
