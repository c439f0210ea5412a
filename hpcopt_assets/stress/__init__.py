"""Stress: a trace with one thing changed: heavier tail, less load, a greedier user, a shock, worse requests.

In:  trace_jobs, the machine, forecasts, configs/stress.yaml.   Out: the same of a trace that never was.
     A scenario moves the one statistic that it names by the factor that is asked, and leaves the others.
Not here: replays of what comes out (simulate/), and what they say of a policy (claims/).
"""
