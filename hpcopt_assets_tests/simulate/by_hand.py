"""Replays of hand-made jobs by the reference, and by the kernel too, for cases worked out by hand."""

from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.reference import ReplayedJob, replay_jobs
from hpcopt_assets.simulate.scenario import AS_RECORDED, NOT_GIVEN_S, Scenario
from hpcopt_assets.simulate.workload import select_workload
from hpcopt_assets_tests.builders import trace


def replayed(
    rows: list, rules: Policy, capacity_procs: int, scenario: Scenario = AS_RECORDED
) -> list[ReplayedJob]:
    """What became of jobs given as rows of `trace`, in trace order, after showing that both replays agree."""
    workload = select_workload(trace(rows), capacity_procs, scenario)
    slow = replay_jobs(workload, rules)
    fast = replay(trace(rows), rules, capacity_procs, scenario, is_strict=True).schedule["start_s"]
    counts = workload.jobs["left_out"].filter(workload.is_replayed).is_null()
    told = fast.filter(workload.is_replayed).filter(counts).fill_null(NOT_GIVEN_S).to_list()
    assert told == [job.start_s for job, is_counted in zip(slow, counts, strict=True) if is_counted]
    return slow


def starts(rows: list, rules: Policy, capacity_procs: int, scenario: Scenario = AS_RECORDED) -> list[int]:
    """Their starts."""
    return [job.start_s for job in replayed(rows, rules, capacity_procs, scenario)]
