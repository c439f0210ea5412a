"""Reference: the replay a second time, slow and in plain Python, to be read as the specification.

In:  a `Workload` and a Policy, or plain sequences.   Out: what became of every job.
     Read views.py (what a policy can see), passes.py (no backfilling, EASY), conservative.py (reservations),
     beliefs.py (estimates, and the order of the queue), machine.py (what happens at an instant, in which
     order). replays.py puts them together.
Not here: anything of the kernel. They share which jobs are replayed and what their requests are
(workload.py), and scores known before a replay (scores.py), nothing of how jobs are scheduled; tests hold
one against the other.
"""

from hpcopt_assets.simulate.reference.machine import ReplayedJob as ReplayedJob
from hpcopt_assets.simulate.reference.passes import decide as decide
from hpcopt_assets.simulate.reference.replays import priority_starts as priority_starts
from hpcopt_assets.simulate.reference.replays import replay_jobs as replay_jobs
from hpcopt_assets.simulate.reference.replays import replay_starts as replay_starts
from hpcopt_assets.simulate.reference.replays import run as run
from hpcopt_assets.simulate.reference.views import Instant as Instant
from hpcopt_assets.simulate.reference.views import Queued as Queued
from hpcopt_assets.simulate.reference.views import Running as Running
from hpcopt_assets.simulate.reference.views import expected_end_s as expected_end_s
