"""Fidelity: is a replay like what was observed, over all and by quarter, and which policy's is closest?

In:  trace_jobs, replay_schedule by policy.   Out: fidelity_verdicts (one row per policy, period and
     criterion), policy_closeness (one row per period and policy).
Not here: whether one policy beats another (claims/), any limit (configs/fidelity.yaml).
"""
