"""Ingest: a trace's raw scheduler logs become trace_jobs, trace_rejects and an ingest_report.

In:  one log, or many that overlap, and what the registry says of their trace.
Out: one row per job and attempt, one per rejected line, and an account of every line (docs/formats.md).
Not here: which file is which trace (orchestration/sources.py); whether a job takes part in a replay
     (simulate/); writing SWF (synthetic/); keeping tables (the io manager, cli.py).

reader.py   the room's face: `ingest`             canonical.py  from records to trace_jobs
source.py   bytes, packed or not, as whole lines  staging.py    in row order, out of core, to parquet
detect.py   which format a file has               report.py     rejects, report and counts
parsed.py   what every format's reader returns    lazily.py    records made while they are read

swf/  slurm/  pbs/  parquet/   one reader a format (PM100 and F-DATA are both parquet): files -> `Parsed`
"""
