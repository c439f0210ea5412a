"""Synthetic: the workload model behind the demo trace.

In:  a config with a seed, a replay function handed in.   Out: a trace as SWF text; workloads as trace_jobs.
Not here: ingest (the demo is read like any other trace).
"""
