"""Fidelity: is a replay like what was observed?

In:  trace_jobs, replay_schedule by policy.   Out: fidelity_verdicts (one row per policy and criterion).
Not here: whether one policy beats another (claims/), any limit (configs/fidelity.yaml).
"""
