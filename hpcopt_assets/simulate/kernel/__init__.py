"""Kernel: the compiled event loop of the replay, on arrays. The only place that imports numba.

In:  arrays with one entry per job, in trace order, and codes of contracts/vocabulary.
Out: the start of every job and the estimate it started with, or the fault that stopped the loop.
Not here: frames, ids, policies as such (engine.py turns them into keys, estimates and codes).

arrays.py   the face: `replay_arrays`         easy.py          EASY backfilling
loop.py     what happens when                 conservative.py  a reservation for every job
changes.py  submit, start, complete           profile.py       what is expected to be free
orders.py   orders that change with time      faults.py        what must never be, and how it is told
users.py    what is known of users            lines.py, records.py   data structures

The compiled loop is cached on disk. numba looks at the file of the compiled function only, so the cache is
looked up by a hash of all of these files.
"""
