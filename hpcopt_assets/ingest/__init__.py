"""Ingest: a raw scheduler log becomes trace_jobs, trace_rejects and an ingest_report.

In:  a log file, and what the registry says of its trace.
Out: one row per job, one row per rejected line, and an account of every line (docs/formats.md).
Not here: which file is which trace (orchestration/sources.py); whether a job takes part in a replay
     (simulate/); writing SWF (synthetic/); writing tables (the io manager, cli.py).

reader.py  the room's face: `ingest`             swf_lines.py   lines as numbers, fast and careful
source.py  bytes, packed or not, as whole lines  swf_header.py  what the comments say
swf.py     a file as header and records          swf_jobs.py    what the fields mean
"""
