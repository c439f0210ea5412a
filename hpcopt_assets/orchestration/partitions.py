"""The one partition dimension: a trace.

In:  nothing.   Out: `traces`.
Not here: how files in data/raw become keys (sources.py) and when (sensors.py).
"""

import dagster as dg

traces = dg.DynamicPartitionsDefinition(name="traces")
