"""Claims: is the candidate policy better than the baseline?

In:  replay_schedule by policy, fidelity_verdicts, shaken_measures, estimate_accounting.
Out: robustness (one row per policy, window and measure), claim_verdicts (one row per policy and criterion);
     what differs between two schedules.
Not here: likeness to the observed schedule (fidelity/), any limit (configs/objective.yaml).
"""
