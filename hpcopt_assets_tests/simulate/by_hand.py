"""Replays of hand-made jobs by the reference, for cases worked out by hand."""

from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.simulate.reference import ReplayedJob, replay_jobs
from hpcopt_assets.simulate.scenario import AS_RECORDED, Scenario
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.builders import trace


def replayed(
    rows: list, rules: Policy, capacity_procs: int, scenario: Scenario = AS_RECORDED
) -> list[ReplayedJob]:
    """What became of jobs given as rows of `trace`, in trace order."""
    return replay_jobs(select_workload(trace(rows), capacity_procs, scenario), rules)


def starts(rows: list, rules: Policy, capacity_procs: int, scenario: Scenario = AS_RECORDED) -> list[int]:
    """Their starts."""
    return [job.start_s for job in replayed(rows, rules, capacity_procs, scenario)]
