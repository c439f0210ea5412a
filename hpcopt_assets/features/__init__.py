"""Features: what a scheduler knew of a job when it was submitted.

In:  trace_jobs, the trace's time zone.   Out: job_features, one row a job, the same whatever came later.
Not here: labels (they are read from trace_jobs where a model is fitted) and models (forecast/).
"""
