"""Where two schedules part: against looking at every job at every instant, on judged and on drawn schedules.

Broken on purpose, and who noticed: the capacity before a step; jobs that end at the instant still running;
jobs that start at it not queued; the other schedule's runtimes; releases of jobs that one never starts
told of one alone; ends at one instant not counted together; a job of no runtime that ends before it starts.
"""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcopt_assets.claims.differences import Difference, what_differs
from hpcopt_assets.claims.parting import HANDFUL, INSTANTS_AFTER, Moment, Parting
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets_tests.builders import job, read_swf, trace
from hpcopt_assets_tests.claims import by_counting
from hpcopt_assets_tests.claims.by_counting import NEVER, Placed, Schedule
from hpcopt_assets_tests.schedules import MEASURES, replay_of
from hpcopt_assets_tests.simulate.strategies import CAPACITY, EASY, FCFS, POLICIES, capacity_steps, jobs

GOLDEN = Path(__file__).parents[1] / "golden"
BANDS = (1, 4)


def differ(first: pl.DataFrame, second: pl.DataFrame, capacity: Capacity) -> Difference:
    return what_differs(first, second, capacity=capacity, config=MEASURES, procs_bands=BANDS)


def parted(first: pl.DataFrame, second: pl.DataFrame, capacity: Capacity) -> Parting:
    parting = differ(first, second, capacity).parting
    assert parting is not None
    return parting


def capacity_at(capacity: Capacity, at_s: int) -> int:
    return [procs for since_s, procs in ((-NEVER, capacity.procs), *capacity.steps) if since_s <= at_s][-1]


def check(parting: Parting, first: Schedule, second: Schedule, capacity: Capacity) -> None:
    """Everything a parting says, by counting."""
    at_s, procs = parting.at_s, capacity_at(capacity, parting.at_s)
    assert by_counting.parted_at(first, second) == at_s
    assert parting.same_before_count == sum(each.start_s < at_s for each in first.values())
    assert parting.capacity_procs == procs
    starts = by_counting.started_at(first, at_s) | by_counting.started_at(second, at_s)
    waiting = by_counting.queued(first, at_s)
    assert waiting == by_counting.queued(second, at_s)
    assert (parting.queued_count, parting.queued_procs) == (
        len(waiting),
        sum(first[name].procs for name in waiting),
    )
    in_order = [name for name in first if name in waiting]  # dicts keep trace order
    assert parting.queue["job_id"].to_list() == in_order[:HANDFUL]
    assert parting.started.select("place", "job_id").rows() == [
        (place, name) for place, name in enumerate(in_order, start=1) if name in starts
    ]
    for side, moment, schedule, other in (
        ("first", parting.first, first, second),
        ("second", parting.second, second, first),
    ):
        check_moment(moment, schedule, other, at_s, procs)
        for row in (*parting.queue.rows(named=True), *parting.started.rows(named=True)):
            start_s = row[f"{side}_start_s"]
            assert (NEVER if start_s is None else start_s) == schedule[row["job_id"]].start_s
    check_account(parting, first, second, capacity)


def check_moment(moment: Moment, schedule: Schedule, other: Schedule, at_s: int, procs: int) -> None:
    runs = by_counting.running(schedule, at_s)
    assert moment.free_procs == by_counting.free_procs(schedule, at_s, procs)
    assert (moment.running_count, moment.running_procs) == (
        len(runs),
        sum(schedule[name].procs for name in runs),
    )
    only_here = runs - by_counting.running(other, at_s)
    assert moment.only_here_count == len(only_here)
    shown = moment.running
    assert set(shown["job_id"]) <= runs
    assert shown.height == min(len(runs), HANDFUL)
    assert set(shown.filter("is_only_here")["job_id"]) == set(shown["job_id"]) & only_here
    assert all(end_s > at_s for end_s in shown["expected_end_s"])
    in_both = by_counting.started_at(schedule, at_s) & by_counting.started_at(other, at_s)
    others = [name for name in schedule if name in by_counting.queued(schedule, at_s) - in_both]
    if not others:
        assert moment.head is None
        return
    assert moment.head is not None
    lasting = {name for name in in_both if schedule[name].runtime_s > 0}
    free = procs - sum(schedule[name].procs for name in runs | lasting)
    assert (moment.head.job_id, moment.head.free_procs) == (others[0], free)
    needed = schedule[others[0]].procs
    assert (moment.head.fits_at_s == at_s) == (free >= needed)
    if not (runs | lasting) and free < needed:
        assert moment.head.fits_at_s is None


def check_account(parting: Parting, first: Schedule, second: Schedule, capacity: Capacity) -> None:
    account = parting.account
    everything = {
        instant
        for schedule in (first, second)
        for each in schedule.values()
        for instant in (each.release_s, each.start_s, each.end_s)
        if parting.at_s <= instant < NEVER
    }
    assert account["at_s"].unique().to_list() == sorted(everything)[: INSTANTS_AFTER + 1]
    for (at_s,), rows in account.group_by("at_s", maintain_order=True):
        for side, schedule in (("first", first), ("second", second)):
            told = rows.filter(f"is_in_{side}").select("event", "job_id").rows()
            assert sorted(told) == sorted(by_counting.happens(schedule, at_s))
            places = {each: place for place, each in enumerate(told)}
            for name in by_counting.started_at(schedule, at_s):
                if ("ended", name) in places:
                    assert places["ended", name] > places["started", name]
            left = by_counting.left_procs(schedule, at_s, capacity_at(capacity, at_s))
            assert set(rows[f"free_{side}_procs"]) == {left}


def placed(first: pl.DataFrame, second: pl.DataFrame) -> tuple[Schedule, Schedule]:
    """Both schedules job by job, in the order of the rows; jobs that run in neither are left aside."""
    ran = {row["job_id"] for frame in (first, second) for row in frame.drop_nulls("start_s").rows(named=True)}
    known = {
        row["job_id"]: row["limit_s"]
        for frame in (first, second)
        for row in frame.rows(named=True)
        if row["limit_s"]
    }

    def one(frame: pl.DataFrame) -> Schedule:
        return {
            row["job_id"]: Placed(
                row["release_s"],
                row["procs"],
                known[row["job_id"]],
                NEVER if row["start_s"] is None else row["start_s"],
                row["runtime_s"] or 0,
            )
            for row in frame.rows(named=True)
            if row["job_id"] in ran
        }

    return one(first), one(second)


def golden(name: str, column: str) -> Schedule:
    """A judged schedule from the files alone: the log's fields and the judges' starts."""
    with (GOLDEN / f"{name}.starts.csv").open() as file:
        starts = {row["job_id"]: int(row[column]) for row in csv.DictReader(file)}
    lines = [line.split() for line in (GOLDEN / f"{name}.swf").read_text().splitlines() if line[0] != ";"]
    lines.sort(key=lambda field: (int(field[1]), int(field[0])))
    return {
        field[0]: Placed(int(field[1]), int(field[7]), int(field[8]), starts[field[0]], int(field[3]))
        for field in lines
    }


@pytest.mark.parametrize("name", ["plain64", "plain200", "ties32", "overrun48", "grid40"])
@pytest.mark.parametrize("columns", [("easy", "easy_sjbf"), ("fcfs", "conservative"), ("sjf", "easy_pp")])
def test_the_judges_schedules_part_where_counting_says(name: str, columns: tuple[str, str]):
    frame, capacity_procs = read_swf(GOLDEN / f"{name}.swf")
    first, second = (golden(name, column) for column in columns)
    frames = [
        replay_of(frame, [each[job_id].start_s for job_id in frame["job_id"]]) for each in (first, second)
    ]
    capacity = Capacity(capacity_procs)
    parting = parted(*frames, capacity)
    check(parting, first, second, capacity)
    assert parting.is_same_machine


@settings(deadline=None)  # the first replay compiles
@given(
    frame=jobs(min_size=4),
    policies=st.lists(st.sampled_from(POLICIES), min_size=2, max_size=2, unique_by=lambda each: each.id),
    steps=st.one_of(st.just(()), capacity_steps()),
)
def test_drawn_schedules_part_where_counting_says(frame, policies, steps):
    capacity = Capacity(CAPACITY, steps)
    frames = [replay(frame, each, CAPACITY, Scenario(capacity_steps=steps)).schedule for each in policies]
    if not frames[0].join(frames[1].drop_nulls("start_s"), on="job_id").drop_nulls("start_s").height:
        return
    found, turned = differ(*frames, capacity), differ(*frames[::-1], capacity)
    first, second = placed(*frames)
    if found.parting is None:
        assert first.keys() == second.keys()
        assert all(first[name].start_s == second[name].start_s for name in first)
    else:
        check(found.parting, first, second, capacity)
        assert turned.parting is not None
        assert found.parting.first.free_procs == turned.parting.second.free_procs
        if policies[0].overrun == policies[1].overrun:
            assert found.parting.is_same_machine
            assert found.parting.first.free_procs == found.parting.second.free_procs
    in_both = [name for name in first if first[name].start_s < NEVER and second[name].start_s < NEVER]
    gains = {name: first[name].start_s - second[name].start_s for name in in_both}
    check_sums(found, gains)
    check_sums(turned, {name: -gain for name, gain in gains.items()})
    assert (found.only_first, found.only_second) == (turned.only_second, turned.only_first)
    assert sorted(found.by_size.drop("helped_count", "hurt_count").rows()) == sorted(
        turned.by_size.select("band", "jobs_count", -pl.col("mean_gain_s"), -pl.col("mean_gain_bsld")).rows()
    )


def check_sums(found: Difference, gains: dict[str, int]) -> None:
    """Groups add up to the whole, and the jobs that are shown have the gains they have."""
    for groups in (found.by_size, found.by_user):
        assert groups["jobs_count"].sum() == found.jobs_count == len(gains)
        assert groups["helped_count"].sum() == sum(gain > 0 for gain in gains.values())
        assert groups["hurt_count"].sum() == sum(gain < 0 for gain in gains.values())
        total_s = (groups["jobs_count"] * groups["mean_gain_s"]).sum()
        assert total_s == pytest.approx(sum(gains.values()), abs=1e-3)
    assert found.same_starts_ratio == pytest.approx(sum(not gain for gain in gains.values()) / len(gains))
    best = sorted((gain for gain in gains.values() if gain > 0), reverse=True)[:10]
    assert found.helped["gain_s"].to_list() == best
    assert found.hurt["gain_s"].to_list() == sorted(gain for gain in gains.values() if gain < 0)[:10]


def test_a_step_of_the_machine_counts_at_its_instant():
    frame = trace([(1, 0, 4, 100), (2, 10, 4, 50), (3, 10, 2, 50)])
    capacity = Capacity(8, ((10, 5),))
    first, second = replay_of(frame, [0, 100, 100]), replay_of(frame, [0, 100, 10])
    parting = parted(first, second, capacity)
    assert (parting.at_s, parting.capacity_procs, parting.first.free_procs) == (10, 5, 1)
    assert parting.account["free_second_procs"][0] == -1


def test_the_head_fits_when_all_that_end_at_once_have_ended():
    # 1 and 2 end at 100 by their requests, 3 at 200; 4 needs four of eight, and 1 alone would leave it room.
    frame = trace([(1, 0, 3, 60, 100), (2, 0, 2, 70, 100), (3, 0, 2, 50, 200), (4, 5, 4, 10), (5, 6, 1, 30)])
    first = replay(frame, FCFS, 8).schedule
    second = replay(frame, EASY, 8).schedule
    parting = parted(first, second, Capacity(8))
    head = parting.second.head
    assert head is not None
    assert (parting.at_s, head.job_id, head.free_procs) == (6, "4", 1)
    assert (head.fits_at_s, head.spare_procs) == (100, 2)
    assert parting.second.running.select("job_id", "expected_end_s").rows() == [
        ("1", 100),
        ("2", 100),
        ("3", 200),
    ]


def test_a_job_that_outlived_its_request_is_expected_at_the_next_extension():
    frame = trace([(1, 0, 4, 500, 100), (2, 150, 4, 10), (3, 150, 1, 10)])
    first, second = replay_of(frame, [0, 500, 500]), replay_of(frame, [0, 500, 150])
    frames = [each.with_columns(limit_s=pl.Series([100, 10, 10])) for each in (first, second)]
    parting = parted(*frames, Capacity(5))
    assert parting.first.running["expected_end_s"].to_list() == [160]
    assert parting.first.head is not None
    assert (parting.first.head.fits_at_s, parting.first.head.spare_procs) == (160, 1)


def test_what_runs_under_one_alone_is_told():
    frame = trace([job(1, 0, 4, 500, 100), job(2, 120, 4, 10)])
    killed = replay_of(frame.with_columns(runtime_s=pl.Series([100, 10])), [0, 120])
    parting = parted(replay_of(frame, [0, 500]), killed, Capacity(4))
    assert (parting.at_s, parting.is_same_machine) == (120, False)
    assert (parting.first.free_procs, parting.second.free_procs) == (0, 4)
    assert parting.first.running.filter("is_only_here")["job_id"].to_list() == ["1"]
    assert parting.second.running.is_empty()
    ends = parting.account.filter(pl.col("event") == "ended").select(
        "at_s", "job_id", "is_in_first", "is_in_second"
    )
    assert ends.rows() == [(130, "2", False, True), (500, "1", True, False), (510, "2", True, False)]
