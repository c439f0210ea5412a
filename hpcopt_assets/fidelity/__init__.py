"""Fidelity: is a replay like what was observed?

In:  trace_jobs, replay_schedule.   Out: fidelity_verdicts.
Not here: whether one policy beats another (claims/), any limit (configs/fidelity.yaml).
"""
