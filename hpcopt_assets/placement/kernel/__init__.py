"""Kernel: the exact decision and the event loop of the cluster, compiled. The only numba of this room.

In:  arrays, and codes of contracts/placement_words.   Out: arrays.
Not here: random numbers (workload.py draws them all), frames, configs.

state.py       what the cluster is like       rings.py   can one rail's ring be realised, and how?
allocation.py  which SUs a job is given       attempt.py the decision on one job, and what it changes
events.py      completions, uplink failures   loop.py    one attempt after the other
snapshots.py   what is seen before a decision
"""
