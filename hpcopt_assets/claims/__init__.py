"""Claims: is the candidate policy better than the baseline?

In:  replay_schedule of both, fidelity_verdicts.   Out: claim_verdicts.
Not here: likeness to the observed schedule (fidelity/), any limit (configs/objective.yaml).
"""
