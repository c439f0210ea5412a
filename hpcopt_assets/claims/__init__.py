"""Claims: is the candidate policy better than the baseline?

In:  replay_schedule by policy, fidelity_verdicts.   Out: claim_verdicts (one row per policy and criterion).
Not here: likeness to the observed schedule (fidelity/), any limit (configs/objective.yaml).
"""
