"""Ingest: a raw scheduler log becomes trace_jobs, trace_rejects and an ingest_report.

In:  a log file, and what the registry says of its trace.
Out: one row per job, one row per rejected line, and an account of every line (docs/formats.md).
Not here: whether a job takes part in a replay (simulate/); writing SWF (synthetic/); writing tables.

naming.py  which file is which trace        swf.py         a file as header and records
source.py  bytes, packed or not, as lines   swf_lines.py   lines as numbers, fast and careful
reader.py  the room's face: `ingest`        swf_header.py  comments     swf_jobs.py  meaning of fields
"""
