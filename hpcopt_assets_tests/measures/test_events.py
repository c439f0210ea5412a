"""Events in the order in which they happen, by one function for the record and for a replay."""

from hpcopt_assets.measures.events import events
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.usage import queued_jobs, usage
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.simulate.strategies import EASY

JOBS = trace(
    [
        job(1, 0, 2, 10, wait_s=0),
        job(2, 0, 2, 10, wait_s=10),
        job(3, 10, 1, 0, 5, wait_s=10),
        job(4, 12, 4, None),
    ]
)


def told(frame) -> list[tuple[int, str, str]]:
    return events(frame).select("at_s", "event", "job_id").rows()


def test_ends_come_first_then_releases_then_starts_and_an_end_at_once_last():
    assert told(JOBS) == [
        (0, "released", "1"),
        (0, "released", "2"),
        (0, "started", "1"),
        (10, "ended", "1"),
        (10, "released", "3"),
        (10, "started", "2"),
        (20, "ended", "2"),
        (20, "started", "3"),
        (20, "ended", "3"),
    ]


def test_the_same_of_a_replay_and_its_counts_are_those_of_the_series():
    schedule = replay(JOBS, EASY, 2).schedule
    found = events(schedule)
    assert [row for row in told(JOBS) if row[1] == "released"] == [
        row for row in told(schedule) if row[1] == "released"
    ]
    last = found.group_by("at_s", maintain_order=True).last()
    placed = Schedule.of(schedule)
    assert last["queued_count"].to_list() == queued_jobs(placed).sample(last["at_s"].to_numpy()).tolist()
    assert last["used_procs"].to_list() == usage(placed).sample(last["at_s"].to_numpy()).tolist()
    assert found["used_procs"].max() == 2
