"""Ingest: a raw scheduler log becomes trace_jobs, trace_rejects and an ingest_report.

In:  a log file.   Out: one row per job, one row per rejected line, and an account of every line.
Not here: whether a job takes part in a replay (simulate/).
"""
