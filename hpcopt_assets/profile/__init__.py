"""Profile: what kind of workload is this?

In:  trace_jobs, the size of the machine, a time zone.   Out: trace_profile, figures, sparklines.
Not here: waits and slowdowns (measures/), whether a policy suits the workload (claims/), removing any job.
"""
