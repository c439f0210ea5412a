"""Simulate: what would this policy have done with these jobs on this machine?

In:  trace_jobs, a Policy, the number of processors.   Out: replay_schedule; invariant_report of any schedule.
     workload.py chooses the jobs and states what a scheduler would know of them; engine.py is the public
     face of the compiled loop in kernel/; reference/ is its slow twin, to be read as the specification;
     external.py replays policies of others on the reference's loop; invariants.py judges finished
     schedules and trusts none of them.
Not here: measures of a schedule (measures/), whether it resembles the observed one (fidelity/), parameters
of policies (configs/policies.yaml).
"""
