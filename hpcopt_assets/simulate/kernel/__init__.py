"""Kernel: the compiled event loop of the replay, on arrays. The only place that imports numba.

In:  int64 arrays with one entry per job, in trace order, and codes of contracts/vocabulary.
Out: the start of every job, or the fault that stopped the loop.
Not here: frames, ids, policies as such (engine.py turns them into keys, estimates and codes).

The loop is one module on purpose: numba's cache looks at the file of the compiled function only, and would
go on using what it once took from another. From other files the loop takes nothing but types of arrays, and
those the cache does look at.
"""
