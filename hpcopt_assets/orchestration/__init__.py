"""Orchestration: how the graph runs.

In:  Dagster's machinery and the project's folders.
Out: io manager, resources, partitions, sensors, schedules, jobs, provenance, loaded configs.
Not here: what is computed (rooms) and which assets there are (assets/).
"""
